"""Mutate our own inputs and put each through parse, resolve and rules: no traceback, no hang.

    python tools/fuzz.py [--count 10000] [--seed 1] [--keep FOLDER]

Input number N of a seed is always the same.  Prints what became of the inputs; one that ends in
anything but engines, problems or a clear error is kept in FOLDER, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import random
import shlex
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from scheduler_reader.errors import SchedReaderError
from scheduler_reader.parse import parse_text, to_json
from scheduler_reader.pipeline import Request, check
from scheduler_reader.report.formats import text as text_report
from scheduler_reader.report.report import Report
from scheduler_reader.rule_engine import all_rules

ROOT = Path(__file__).resolve().parent.parent
CPU_SECONDS_OF_ONE = 10.0
SPLICES = (
    *("{{ .Values.x }}", "${X:-8}", "$(nproc)", "$$X", "`date`", "'", '"', "\\", "\\\n", "&a", "*a"),
    *("<<: *a", "!!binary x", "---\n", "- ", "{", "}", "[", "]", ": ", "#", "|\n", ">-\n", "\t"),
    *("\x1b[2J", "\x07", "\u202e", "\u00e9", "\U0001f600", "\r", "%", "=", "--", "--no-", "-tp=0"),
    *("0", "\u00b2", "-1", "1e400", "nan", "null", "true", "999999999999999999999", "0x10", "4K", "auto"),
    *("{}", "[]", '{"a": [1, {"b": null}]}', "vllm serve x", "--config c.yaml", "<<EOF\n", "$(("),
)  # fmt: skip


class Input(NamedTuple):
    """A text and the path it is read under, which decides some forms."""

    path: str
    text: str


class TooSlow(BaseException):
    """One input took longer than any may; not an Exception, so that nothing catches it."""


def seeds() -> list[Input]:
    """Our inputs: those of the tests, the examples, and what the rules show."""
    files = [
        *sorted((ROOT / "tests" / "inputs").rglob("*")),
        *sorted((ROOT / "examples").glob("*")),
    ]
    found = [Input(file.name, file.read_text()) for file in files if file.is_file()]
    for rule in all_rules():
        for example in (one for several in rule.examples.values() for one in several):
            if "command" in example:
                found.append(Input(f"{rule.code}.sh", example["command"] + "\n"))
            if "file" in example:
                found.append(Input(f"{rule.code}.yaml", example["file"]))
    return found


def _is_expectation(file: Path) -> bool:
    """Whether a JSON file says how the input beside it is read."""
    return file.suffix == ".json" and len(list(file.parent.glob(f"{file.stem}.*"))) > 1


def mutated(sources: list[Input], chance: random.Random) -> Input:
    """One input, changed in one to four places."""
    source = chance.choice(sources)
    text = source.text
    for _ in range(chance.randint(1, 4)):
        text = chance.choice(MUTATIONS)(text, sources, chance)
    return Input(source.path, text)


def _insert(text: str, sources: list[Input], chance: random.Random) -> str:
    at = chance.randint(0, len(text))
    return text[:at] + chance.choice(SPLICES) * chance.choice((1, 1, 1, 2, 50)) + text[at:]


def _cut(text: str, sources: list[Input], chance: random.Random) -> str:
    at = chance.randint(0, len(text))
    return text[:at] + text[at + chance.choice((1, 3, 20, 400)) :]


def _move_lines(text: str, sources: list[Input], chance: random.Random) -> str:
    lines = text.splitlines(keepends=True) or [""]
    taken = lines.pop(chance.randrange(len(lines)))
    for _ in range(chance.choice((0, 1, 1, 2, 30))):
        lines.insert(chance.randint(0, len(lines)), taken)
    return "".join(lines)


def _indent(text: str, sources: list[Input], chance: random.Random) -> str:
    lines = text.splitlines(keepends=True) or [""]
    at = chance.randrange(len(lines))
    lines[at] = " " * chance.randint(0, 8) + lines[at].lstrip(" ")
    return "".join(lines)


def _replace_word(text: str, sources: list[Input], chance: random.Random) -> str:
    words = text.split()
    if not words:
        return text
    other = chance.choice(sources).text.split() or ["x"]
    new = chance.choice((chance.choice(SPLICES), chance.choice(other)))
    return text.replace(chance.choice(words), new, chance.choice((1, -1)))


def _splice(text: str, sources: list[Input], chance: random.Random) -> str:
    other = chance.choice(sources).text
    start = chance.randint(0, len(other))
    at = chance.randint(0, len(text))
    return text[:at] + other[start : start + chance.choice((10, 200, 2000))] + text[at:]


MUTATIONS = (_insert, _cut, _move_lines, _indent, _replace_word, _replace_word, _splice)


def outcome(source: Input) -> str:
    """What became of one input, in words; raises what must never be raised."""
    try:
        file = parse_text(source.text, source.path)
    except SchedReaderError:
        return "refused with a clear error"
    to_json([file])
    engines = [engine for engine in file.engines if not engine.is_unreadable]
    text_report.render(Report([check(engine, Request()) for engine in engines]))
    return "read and checked" if engines else "no engine found, and said so"


def generated(seed: int, count: int) -> Iterator[tuple[int, Input]]:
    """The inputs of a seed with their numbers."""
    sources = seeds()
    for number in range(count):
        yield number, mutated(sources, random.Random(f"{seed}:{number}"))


def _alarm(signum: int, frame: FrameType | None) -> None:
    raise TooSlow


def main(arguments: list[str]) -> int:
    """Run the inputs; returns the exit code."""
    parser = argparse.ArgumentParser(usage=shlex.join(["python", "tools/fuzz.py"]) + " [options]")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=ROOT / ".cache" / "fuzz")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGVTALRM, _alarm)
    outcomes: Counter[str] = Counter()
    for number, source in generated(options.seed, options.count):
        signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS_OF_ONE)
        try:
            outcomes[outcome(source)] += 1
        except TooSlow:
            outcomes[_kept(options.keep, number, source, "took too long\n")] += 1
        except Exception:
            outcomes[_kept(options.keep, number, source, traceback.format_exc())] += 1
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    for name, times in outcomes.most_common():
        print(f"{times:7,}  {name}")
    print(f"{outcomes.total():7,}  generated inputs, seed {options.seed}")
    return 1 if outcomes["FAILED"] else 0


def _kept(folder: Path, number: int, source: Input, trace: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{number}-{source.path}"
    file.write_text(source.text)
    print(f"{file}:\n{trace}", file=sys.stderr)
    return "FAILED"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
