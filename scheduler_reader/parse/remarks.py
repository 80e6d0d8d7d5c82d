"""Comments and annotations that speak to sched-reader: `# sched-reader: ignore[MEM101] reason`.

Only what the file's own syntax takes for a comment counts, so text in quotes never does.  In the
block scalars of a YAML file, those of scripts and configurations that an engine runs with.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

import yaml

from scheduler_reader.errors import InputError
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import MARK, ParsedFile, Remark
from scheduler_reader.parse.yaml_nodes import compose, entries, place
from scheduler_reader.record import Record

MAX_REMARKS = 1_000  # of one file
ANNOTATION = f"{MARK}/ignore"
COMMENT = re.compile(rf"[#;/*\s]*{MARK}:(?P<text>.*)")
BETWEEN = re.compile(r"\s*(?:(?:[#;*]|//|/\*).*|---.*)?")  # lines between a comment and its object

Comment = tuple[int, int, str]  # line and column from 1, and the text with its marker

SHELL = ("shell", "docker-run")  # forms by the syntax of their comments; all others are YAML
LINES = {"dockerfile": "#", "systemd": "#;"}
HCL, HASH = "terraform", "triton"
NO_YAML = (*SHELL, *LINES, HCL, HASH)


def find_remarks(parsed: ParsedFile, file: InputFile) -> tuple[Remark, ...]:
    """The remarks of a file, in the order of their lines."""
    if parsed.form in NO_YAML:
        return _of_comments(_comments(parsed.form, file.text), file)
    documents, problems = compose(file)
    nodes = [node for document in documents for node in _walk(document)]
    comments = _yaml_comments(nodes, _lines_read(parsed), file)
    if problems:  # beyond what is read, nobody knows what is in quotes
        end = max((node.end_mark.line for node in documents), default=0)
        comments = [comment for comment in comments if comment[0] <= end]
    found = _of_comments(comments, file)
    return tuple(sorted((*found, *_annotations(nodes, file)), key=lambda remark: remark.first))


def _comments(form: str, text: str) -> list[Comment]:
    """The comments of a form that is no YAML; what reads its syntax is loaded for it alone."""
    if form in SHELL:
        return _shell_comments(text)
    from scheduler_reader.parse.comment_syntax import hash_comments, hcl_comments, line_comments

    if form in LINES:
        return line_comments(text, LINES[form])
    return hcl_comments(text) if form == HCL else hash_comments(text)


def _shell_comments(text: str, line: int = 1) -> list[Comment]:
    from scheduler_reader.parse.shell_lexer import comments

    return comments(text, line)


def _of_comments(found: list[Comment], file: InputFile) -> tuple[Remark, ...]:
    """The comments that begin with our name, each with the lines that it is about."""
    lines = file.text.split("\n")
    blocks: list[_Block] = []
    remarks = []
    for line, column, text in found:
        match = COMMENT.fullmatch(text)
        if match is None:
            continue
        block = _Block(line, line, line)
        if not lines[line - 1][: column - 1].strip():  # alone in its line: about what follows
            blocks = blocks or _blocks(lines)
            block = blocks[line - 1]
        said = match["text"].strip().removesuffix("*/").rstrip()
        remarks.append(Remark("comment", said, file.origin(line, column), *block))
    if len(remarks) > MAX_REMARKS:
        message = f"has {len(remarks):,} remarks to {MARK}; more than {MAX_REMARKS:,} are not read"
        raise InputError(message, file.origin())
    return tuple(remarks)


class _Block(Record):
    """The lines that a comment of its own line is about: what follows, and from the first of its
    comments to the last of the lines that are continued."""

    target: int
    first: int
    last: int


def _blocks(lines: list[str]) -> list[_Block]:
    """The block of every line, as if it were a comment."""
    firsts: list[int] = []
    for number, line in enumerate(lines, 1):
        is_between = bool(line.strip()) and BETWEEN.fullmatch(line) is not None
        firsts.append(firsts[-1] if is_between and firsts and firsts[-1] else number)
        if not is_between:
            firsts[-1] = 0
    targets = lasts = len(lines)
    blocks: list[_Block] = []
    for number in range(len(lines), 0, -1):
        line = lines[number - 1]
        if not BETWEEN.fullmatch(line):
            lasts = lasts if line.endswith("\\") else number
            targets = number
        blocks.append(_Block(targets, firsts[number - 1] or number, lasts))
    return blocks[::-1]


class _Scalar(Record):
    """Where a scalar stands; lines and columns count from 0."""

    start: tuple[int, int]
    end: tuple[int, int]
    is_block: bool


def _yaml_comments(nodes: list[yaml.Node], read: set[int], file: InputFile) -> list[Comment]:
    lines = file.text.split("\n")
    scalars = sorted(_scalar(node) for node in nodes if isinstance(node, yaml.ScalarNode))
    starts = [scalar.start for scalar in scalars]
    found = []
    for number, line in enumerate(lines):
        if MARK not in line:
            continue
        for match in re.finditer(r"(?:^|(?<=\s))#", line):
            place = (number, match.start())
            before = bisect_right(starts, place) - 1
            if before < 0 or place >= scalars[before].end:
                found.append((number + 1, match.start() + 1, line[match.start() :]))
                break
    for scalar in scalars:
        first, last = scalar.start[0] + 1, scalar.end[0]
        if scalar.is_block and any(line in read for line in range(first + 1, last + 1)):
            found += _shell_comments("\n".join(lines[first:last]), first + 1)
    return found


def _scalar(node: yaml.ScalarNode) -> _Scalar:
    start, end = node.start_mark, node.end_mark
    return _Scalar((start.line, start.column), (end.line, end.column), node.style in ("|", ">"))


def _lines_read(parsed: ParsedFile) -> set[int]:
    """The lines in which something stands that an engine runs with."""
    origins = [engine.origin for engine in parsed.engines]
    for engine in parsed.engines:
        origins += [word.origin for word in engine.words]
        origins += [entry.origin for entry in (*engine.config, *engine.keywords)]
    return {origin.line for origin in origins if origin.path == parsed.path and origin.line}


def _annotations(nodes: list[yaml.Node], file: InputFile) -> Iterator[Remark]:
    """The annotations of objects and pod templates; each is about the engines in its object."""
    metadata = {
        id(entry.node) for node in nodes for entry in entries(node) if entry.key == "metadata"
    }
    for node in nodes:
        if not isinstance(node, yaml.MappingNode) or id(node) in metadata:
            continue
        for entry in entries(node):
            for holder in entries(entry.node) if entry.key == "metadata" else (entry,):
                if holder.key.lower().endswith("annotations"):
                    yield from _annotated(holder.node, _extent(node), file)


def _annotated(
    annotations: yaml.Node, extent: tuple[int, int], file: InputFile
) -> Iterator[Remark]:
    for entry in entries(annotations):
        if entry.key == ANNOTATION:
            origin = place(entry.key_node, file)
            yield Remark("annotation", str(entry.node.value), origin, origin.line or 1, *extent)


def _extent(node: yaml.MappingNode) -> tuple[int, int]:
    """First and last line; a block mapping ends where the next thing begins."""
    return node.start_mark.line + 1, node.end_mark.line + (1 if node.flow_style else 0)


def _walk(node: yaml.Node) -> Iterator[yaml.Node]:
    """A node and all below it, each once."""
    pending, seen = [node], set()
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if not isinstance(current, yaml.ScalarNode):
            for part in current.value:
                pending += reversed(part) if isinstance(part, tuple) else [part]
