"""Mutate our own inputs and put each through what reads it: no traceback, no hang.

A configuration goes through parse, resolve, rules, the gate and the text report, some through
SARIF too; a metrics page, a load generator's result or a start-up log through its reader.

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
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from scheduler_reader.errors import InputError, SchedReaderError
from scheduler_reader.gate.controls import Controls
from scheduler_reader.gate.judgement import judge
from scheduler_reader.observe.observation import observe, observed_workload
from scheduler_reader.parse import parse_text, to_json
from scheduler_reader.pipeline import Request, check
from scheduler_reader.report.formats import sarif
from scheduler_reader.report.formats import text as text_report
from scheduler_reader.report.report import Report
from scheduler_reader.rule_engine import all_rules

ROOT = Path(__file__).resolve().parent.parent
CPU_SECONDS_OF_ONE = 10.0
OBSERVED_EVERY = 5  # inputs, of which one is a recording instead of a configuration
SARIF_EVERY = 7
REMARKS = (
    *("  # sched-reader: ignore[PRF101] until May", "# sched-reader: ignore[CHK, MEM]", "// sched-reader:"),
    *("# sched-reader: ignore-file[DEP, BAT1] one GPU", "# sched-reader: ignore[", "sched-reader: x"),
    *("sched-reader/ignore: 'MEM101, CHK: a; b; PRF: c'", "annotations: {sched-reader/ignore: [1]}"),
    *("  annotations:\n    sched-reader/ignore: |\n      CHK103: x", "<!-- sched-reader: ignore[FLG] -->"),
)  # fmt: skip
SPLICES = (
    *("{{ .Values.x }}", "${X:-8}", "$(nproc)", "$$X", "`date`", "'", '"', "\\", "\\\n", "&a", "*a"),
    *("<<: *a", "!!binary x", "---\n", "- ", "{", "}", "[", "]", ": ", "#", "|\n", ">-\n", "\t"),
    *("\x1b[2J", "\x07", "\u202e", "\u00e9", "\U0001f600", "\r", "%", "=", "--", "--no-", "-tp=0"),
    *("0", "\u00b2", "-1", "1e400", "nan", "null", "true", "999999999999999999999", "0x10", "4K", "auto"),
    *("{}", "[]", '{"a": [1, {"b": null}]}', "vllm serve x", "--config c.yaml", "<<EOF\n", "$(("),
)  # fmt: skip


class Input(NamedTuple):
    """A text and the path it is read under, which decides some forms.

    `recording` is the parameter of `observe` that takes it; empty: it is a configuration.
    """

    path: str
    text: str
    recording: str = ""


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


def recordings() -> list[Input]:
    """What was observed of running engines, of the tests."""
    kinds = {".log": "startup_log", ".json": "bench", ".txt": "metrics"}
    files = sorted(
        file for name in ("inputs", "logs") for file in (ROOT / "tests/observe" / name).rglob("*")
    )
    return [Input(f.name, f.read_text(), kinds[f.suffix]) for f in files if f.suffix in kinds]


def mutated(sources: list[Input], chance: random.Random) -> Input:
    """One input, changed in one to four places."""
    source = chance.choice(sources)
    text = source.text
    for _ in range(chance.randint(1, 4)):
        text = chance.choice(MUTATIONS)(text, sources, chance)
    return source._replace(text=text)


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


def _remark(text: str, sources: list[Input], chance: random.Random) -> str:
    """A remark of the gate behind a line or on its own, among the lines where it may stand."""
    lines = text.splitlines()
    at = chance.randint(0, len(lines))
    remark = chance.choice(REMARKS)
    if lines and chance.random() < 0.5:
        lines[at - 1] += " " + remark
    else:
        lines.insert(at, " " * chance.choice((0, 2, 4, 8)) + remark)
    return "\n".join(lines) + "\n"


MUTATIONS = (
    *(_insert, _cut, _move_lines, _indent, _replace_word, _replace_word, _splice, _remark),
)  # fmt: skip


def outcome_of_recording(source: Input, folder: Path) -> str:
    """The same of a recording, which is read from a file in `folder`."""
    file = folder / source.path
    file.write_text(source.text)
    one = str(file) if source.recording == "startup_log" else [str(file)]
    try:
        observation = observe(**{source.recording: one})  # type: ignore[arg-type]
    except InputError:
        return "recording refused with a clear error"
    assert observation is not None
    observed_workload(observation)
    return "recording read" if observation.measures else "recording without a measure"


def outcome(source: Input, is_for_sarif: bool) -> str:
    """What became of one configuration, in words; raises what must never be raised."""
    try:
        file = parse_text(source.text, source.path)
    except SchedReaderError:
        return "refused with a clear error"
    to_json([file])
    engines = [engine for engine in file.engines if not engine.is_unreadable]
    checked = [check(engine, Request()) for engine in engines]
    report = Report(judge([file], checked, Request(), Controls()).engines)
    text_report.render(report)
    if is_for_sarif:
        sarif.render(report)
    return "read and checked" if engines else "no engine found, and said so"


def generated(seed: int, count: int) -> Iterator[tuple[int, Input]]:
    """The inputs of a seed with their numbers."""
    configurations, observed = seeds(), recordings()
    for number in range(count):
        sources = configurations if number % OBSERVED_EVERY else observed
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
            outcomes[_became(number, source)] += 1
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


def _became(number: int, source: Input) -> str:
    if not source.recording:
        return outcome(source, number % SARIF_EVERY == 0)
    with tempfile.TemporaryDirectory() as folder:
        return outcome_of_recording(source, Path(folder))


def _kept(folder: Path, number: int, source: Input, trace: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{number}-{source.path}"
    file.write_text(source.text)
    print(f"{file}:\n{trace}", file=sys.stderr)
    return "FAILED"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
