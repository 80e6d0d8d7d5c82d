"""The schema of a config file: valid, right about whole files, and never milder than the parser."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from scheduler_reader.config_schema import config_schema
from scheduler_reader.knowledge.flags import flag_table
from scheduler_reader.knowledge.versions import Release, releases
from scheduler_reader.parse.arguments import read_arguments
from scheduler_reader.parse.reading import FlagIssue
from scheduler_reader.parse.source import ConfigEntry, ParsedEngine, Word
from scheduler_reader.value import Origin

FILES = Path(__file__).parent / "files"
WRONG = {  # places that are wrong in each bad file; $ is the file: a key that does not exist
    "0.33.0-bad-key": {"$"},
    "0.33.0-bad-old-key": {"$"},
    "0.33.0-bad-values": {
        "$['max-model-len']",
        "$['max-num-seqs']",
        "$['enable-prefix-caching']",
        "$['scheduling-policy']",
        "$['max-num-batched-tokens']",
        "$.seed",
        "$['speculative-config']",
        "$['kv-transfer-config']",
        "$['tensor-parallel-size']",
    },
    "0.10.2-bad-values": {"$", "$['speculative-config']", "$['max-model-len']"},
}


@pytest.mark.parametrize("release", ["0.33.0", "0.18.0", "0.10.2"])
def test_files_as_check_jsonschema_sees_them(release: str, tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(config_schema(Release(release))))
    files = sorted(FILES.glob(f"{release}-*.yaml"))
    command = [sys.executable, "-m", "check_jsonschema", "-o", "json", "--schemafile", str(schema)]
    run = subprocess.run([*command, *map(str, files)], check=False, capture_output=True, text=True)
    found: dict[str, set[str]] = {file.stem: set() for file in files}
    for error in json.loads(run.stdout)["errors"]:
        found[Path(error["filename"]).stem].add(error["path"])
    assert found == {file.stem: WRONG.get(file.stem, set()) for file in files}


@pytest.mark.parametrize("release", ["0.6.0", "0.8.5", "0.16.0", releases()[-1]])
def test_the_schema_is_valid_and_has_every_option_in_both_spellings(release: str) -> None:
    schema = config_schema(Release(release))
    Draft7Validator.check_schema(schema)
    for name in {*flag_table(release).flags} - {"--config"}:
        assert {name[2:], name[2:].replace("-", "_")} <= set(schema["properties"])


def test_descriptions_say_what_the_option_does_and_its_default() -> None:
    options = config_schema(Release("0.33.0"))["definitions"]
    assert options["max_num_seqs"]["description"] == (
        "Most requests that may be running at once; the rest wait although blocks are free. "
        "Without it vLLM decides."
    )
    assert options["gpu_memory_utilization"]["default"] == 0.92
    assert options["enable_prefix_caching"]["description"].endswith(
        "vLLM drops false here; write no-enable-prefix-caching: true."
    )
    assert options["mamba_cache_mode"]["deprecated"] is True


def refusals(release: str, key: str, value: Any) -> list[FlagIssue]:
    """What stops the release's parser in a config file of one entry."""
    origin = Origin("c.yaml")
    words = tuple(Word(text, origin) for text in ("m", "--config", "c.yaml"))
    entry = ConfigEntry(key, value, origin)
    engine = ParsedEngine("config-yaml", origin, words=words, config=(entry,))
    issues = read_arguments(engine, flag_table(release)).issues
    return [issue for issue in issues if issue.fatal]


WORDS = ["8k", "8K", "auto", "word", "7", "0.5", "1e3", "None", '{"a": 1}']
VALUES = st.sampled_from([*WORDS, True, False, 7, 0, -1, 1.5, None, ["x", "y"], [1, 2], {"a": 1}])
SCHEMAS: dict[str, Any] = {}


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_what_the_schema_accepts_the_parser_takes(data: st.DataObject) -> None:
    release = data.draw(st.sampled_from(["0.10.2", "0.18.0", "0.33.0"]))
    if release not in SCHEMAS:
        SCHEMAS[release] = Draft7Validator(config_schema(Release(release)))
    names = sorted({*flag_table(release).flags} - {"--config", "--model", "--mm-processor-device"})
    key, value = data.draw(st.sampled_from(names))[2:], data.draw(VALUES)
    if SCHEMAS[release].is_valid({key: value}):
        refused = refusals(release, key, value)
        # a number in quotes is a text to the schema, which has no limits for it
        assert not refused or (isinstance(value, str) and refused[0].kind == "out_of_range")
