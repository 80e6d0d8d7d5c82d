"""Makefiles: the recipe of each target as a shell script, with the file's own variables.

A variable that a conditional sets is unknown; functions (`$(shell …)`) are never run.
Source: GNU make manual, Recipe Syntax and Flavors of Variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from scheduler_reader.parse.excerpt import excerpt
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.shell_engines import engines_in_shell
from scheduler_reader.parse.shell_variables import variables_of
from scheduler_reader.parse.source import ParsedEngine, ParsedFile, Problem
from scheduler_reader.value import Known, Origin, Unknown, Value

FORM = "makefile"
NAMES = re.compile(r"(?:.*[\\/])?(?:(?:GNU)?makefile(?:\.\w+)?|[^\\/]*\.mk)", re.IGNORECASE)
ASSIGNMENT = re.compile(r"(?:export\s+|override\s+)*([A-Za-z_]\w*)\s*(\?|:{1,3}|\+|!)?=\s*(.*)")
TARGET = re.compile(r"([^\s:#=][^:#=]*?)\s*::?(?!=)")
CONDITION = re.compile(r"\s*(ifn?eq|ifn?def|else|endif)\b")
REFERENCE = re.compile(r"\$\(([A-Za-z_]\w*)\)")
CONTINUED = re.compile(r"\\\n")
PREFIX = re.compile(r"^\t[@+-]*\s*", re.MULTILINE)


def is_makefile(file: InputFile) -> bool:
    """Whether a file is a Makefile by its name."""
    return NAMES.fullmatch(file.path) is not None


def matches(file: InputFile) -> bool:
    """Whether the file is a Makefile that names vLLM."""
    return is_makefile(file) and "vllm" in file.text.lower()


def read(file: InputFile) -> ParsedFile:
    """The servers that the recipes start, each with the name of its target."""
    variables = _variables(file)
    engines = [
        engine
        for name, line, recipe in _recipes(file.text)
        for engine in _engines(name, line, recipe, variables, file)
    ]
    problems = (Problem("no recipe in it starts a vLLM server", file.origin(1)),)
    return ParsedFile(file.path, FORM, tuple(engines), () if engines else problems)


def _engines(
    name: str, line: int, recipe: str, variables: dict[str, Value[str]], file: InputFile
) -> list[ParsedEngine]:
    text = _as_shell(PREFIX.sub("", recipe), variables)
    inner = excerpt(file, text, line, 1)
    found = engines_in_shell(text, inner, FORM, variables=variables_of(variables))
    return [engine._replace(name=engine.name or name) for engine in found]


def _as_shell(text: str, known: dict[str, Value[str]]) -> str:
    """The text that the shell gets: make has put the values in, and `$$` is a dollar."""
    said = _said(text, known)
    return REFERENCE.sub(r"${\1}", said).replace("$$", "$")


def _variables(file: InputFile) -> dict[str, Value[str]]:
    found: dict[str, Value[str]] = {}
    depth = 0
    for number, line in enumerate(CONTINUED.sub("  ", file.text).split("\n"), start=1):
        condition = CONDITION.match(line)
        if condition is not None:
            depth += {"else": 0, "endif": -1}.get(condition[1], 1)
        assigned = None if line.startswith("\t") else ASSIGNMENT.fullmatch(line.strip())
        if assigned is None:
            continue
        name, operator, text = assigned[1], assigned[2], assigned[3].partition(" #")[0].strip()
        if operator == "+" and name in found:
            text = f"$({name}) {text}"
        value = _value(text, found, file.origin(number))
        if depth > 0 or operator == "!":
            value = Unknown(
                "is set by a conditional or a command of the Makefile", file.origin(number)
            )
        found[name] = value
    return found


def _value(text: str, known: dict[str, Value[str]], place: Origin) -> Value[str]:
    """A value with what the file has said before; anything else is make's to find out."""

    expanded = _said(text, known)
    if "$" in expanded.replace("$$", ""):
        return Unknown(f"is {expanded}, which make finds out", place)
    return Known(expanded, place)


def _said(text: str, known: dict[str, Value[str]]) -> str:
    def said(match: re.Match[str]) -> str:
        value = known.get(match[1])
        return value.value if isinstance(value, Known) else match[0]

    return REFERENCE.sub(said, text)


def _recipes(text: str) -> Iterator[tuple[str, int, str]]:
    """Name, first line and text of every target's recipe; a line may continue without a tab."""
    name, start = "", 0
    lines: list[str] = []
    continues = False
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        if line.startswith("\t") or (continues and lines):
            start = start if lines else number
            lines.append(line)
        elif line.strip() or number > text.count("\n"):
            if lines and name:
                yield name, start, "\n".join(lines)
            lines = []
            target = TARGET.match(line)
            name = target[1] if target is not None else ""
        elif lines:
            lines.append("")
        continues = line.endswith("\\")
