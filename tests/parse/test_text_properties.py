"""Properties of the tokenizer and the expander over arbitrary text."""

from __future__ import annotations

import shlex

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_reader.errors import InputError
from scheduler_reader.parse import parse_text, to_json
from scheduler_reader.parse.expand import Piece, expand, joined
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.shell_lexer import tokenize
from scheduler_reader.parse.shell_tokens import ShellWord
from scheduler_reader.parse.shell_variables import Variables

SHELL_TEXT = st.text(alphabet=" \n\t'\"\\$(){}[]<>|&;=#`+-:ab1*@!?,", max_size=60)
PLAIN_WORDS = st.lists(
    st.text(alphabet="abcXYZ019-_./:=,@{}\"' \\", min_size=1, max_size=12), min_size=1, max_size=6
)


@given(SHELL_TEXT)
@settings(max_examples=120, deadline=None)
def test_any_text_is_tokenized_in_order(text: str) -> None:
    places = [
        (token.line, token.column) for token in tokenize(text) if isinstance(token, ShellWord)
    ]
    assert places == sorted(places)
    lines = text.split("\n")
    for line, column in places:
        assert 1 <= line <= len(lines)
        assert 1 <= column <= len(lines[line - 1]) + 1


@given(SHELL_TEXT)
@settings(max_examples=120, deadline=None)
def test_any_script_parses_or_is_an_input_error(text: str) -> None:
    for script in (text, f"vllm serve m {text}", f"{text}\nvllm serve m --seed 1"):
        try:
            to_json([parse_text(script, "x.sh")])
        except InputError:
            continue


@given(st.text(max_size=80))
@settings(max_examples=120, deadline=None)
def test_any_yaml_parses_or_is_an_input_error(text: str) -> None:
    try:
        to_json([parse_text(f"model: m\n{text}", "x.yaml")])
    except InputError:
        return


@given(PLAIN_WORDS)
@settings(max_examples=100, deadline=None)
def test_quoted_words_come_back_as_they_were(words: list[str]) -> None:
    file = InputFile("x.sh", " ".join(shlex.quote(word) for word in words))
    variables = Variables(file)
    tokens = [token for token in tokenize(file.text) if isinstance(token, ShellWord)]
    expanded = [part.text for token in tokens for part in variables.expand(token)]
    assert expanded == words


@given(st.text(max_size=60), st.sampled_from(["shell", "compose", "kubernetes"]))
@settings(max_examples=120, deadline=None)
def test_unknown_references_keep_the_text_of_the_file(text: str, dialect: str) -> None:
    pieces = expand(text, lambda name: None, dialect)  # type: ignore[arg-type]
    for piece in pieces:
        if piece.unknown and not piece.text.startswith("${"):
            assert piece.text in text


def test_references() -> None:
    known = {"X": (Piece("7"),), "EMPTY": (Piece(""),)}
    for text, want in [
        ("$X", "7"),
        ("${X}0", "70"),
        ("${Y:-8}", "8"),
        ("${Y-8}", "8"),
        ("${EMPTY:-8}", "8"),
        ("${EMPTY-8}", ""),
        ("${Y:-${X}}", "7"),
        ("${Y:-'a b'}", "a b"),
        ("${X:+on}", "on"),
        ("${Y:+on}", ""),
        ("${X:?must be set}", "7"),
    ]:
        assert joined(expand(text, known.get, "shell")) == (want, None), text
    assert joined(expand("$$X ${Y:-1}", known.get, "compose")) == ("$X 1", None)
    assert joined(expand("--port=$(X) $X", known.get, "kubernetes")) == ("--port=7 $X", None)


def test_references_without_a_value_say_why() -> None:
    for text, dialect, reason in [
        ("$Y", "shell", "$Y is not set in the file"),
        ("${Y}", "compose", "$Y comes from the environment or .env, not from the file"),
        ("$(Y)", "kubernetes", "$Y is not set in the file"),
        ("$(nproc)", "shell", "$(nproc) is the output of a command"),
        ("$((2*4))", "shell", "$((2*4)) is arithmetic"),
        ("{{ .Values.x }}", "shell", "template {{ .Values.x }}"),
        ("${Y%.*}", "shell", "${Y%.*} is computed by the shell"),
    ]:
        assert joined(expand(text, lambda name: None, dialect)) == (text, reason)  # type: ignore[arg-type]
