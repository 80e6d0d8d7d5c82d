"""SARIF: the whole log, its schema, and what Microsoft's and another reader make of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import built_assessments as build
import pytest
from small_report import TOO_LONG, hostile_report, small_report

from scheduler_reader.report.formats import sarif
from scheduler_reader.report.report import Report
from scheduler_reader.report.rule_help import linked_source
from scheduler_reader.rule_engine import all_rules
from scheduler_reader.value import Origin

SCHEMA = Path(__file__).parent / "schemas" / "sarif-schema-2.1.0.json"
LOG = """\
{
  "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
  "version": "2.1.0",
  "runs": [
    {
      "tool": {
        "driver": {
          "name": "sched-reader",
          "fullName": "sched-reader: vLLM scheduler settings, read before deployment",
          "version": "0.1.0",
          "semanticVersion": "0.1.0",
          "rules": [
            {
              "id": "MEM901",
              "name": "made-up-error",
              "shortDescription": {
                "text": "Made up error"
              },
              "fullDescription": {
                "text": "max_model_len is 16,384 and 8,192 fit."
              },
              "help": {
                "text": "max_model_len is 16,384 and 8,192 fit.\\nWhy: vLLM exits.\\nSource: vllm/config/model.py",
                "markdown": "max_model_len is 16,384 and 8,192 fit.\\n\\n**Why**: vLLM exits.\\n\\n**Source**: `vllm/config/model.py`"
              },
              "defaultConfiguration": {
                "level": "error"
              },
              "properties": {
                "precision": "high",
                "problem.severity": "error",
                "tags": [
                  "vllm",
                  "MEM",
                  "none"
                ]
              }
            }
          ]
        }
      },
      "invocations": [
        {
          "executionSuccessful": true,
          "toolConfigurationNotifications": [
            {
              "level": "note",
              "message": {
                "text": "Assumed: one H100 SXM, because no GPU is stated"
              },
              "locations": [
                {
                  "physicalLocation": {
                    "artifactLocation": {
                      "uri": "serve.yaml",
                      "uriBaseId": "SRCROOT"
                    },
                    "region": {
                      "startLine": 1,
                      "startColumn": 1
                    }
                  }
                }
              ]
            }
          ]
        }
      ],
      "originalUriBaseIds": {
        "SRCROOT": {
          "description": {
            "text": "The root of the repository."
          }
        }
      },
      "results": [
        {
          "ruleId": "MEM901",
          "ruleIndex": 0,
          "level": "error",
          "message": {
            "text": "max_model_len is 16,384 and 8,192 fit. Fix: --max-model-len 8192; or a larger card"
          },
          "locations": [
            {
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "serve.yaml",
                  "uriBaseId": "SRCROOT"
                },
                "region": {
                  "startLine": 3,
                  "startColumn": 1
                }
              },
              "logicalLocations": [
                {
                  "name": "config-yaml",
                  "kind": "resource"
                }
              ]
            }
          ],
          "partialFingerprints": {
            "schedReaderIdentity/v1": "6b6decc9f77cb7780f3db1365bc658d3"
          },
          "properties": {
            "effect": "refused",
            "confidence": "high",
            "vllmVersion": "0.18.0",
            "gpu": "h100-sxm"
          },
          "fixes": [
            {
              "description": {
                "text": "--max-model-len 8192"
              },
              "artifactChanges": [
                {
                  "artifactLocation": {
                    "uri": "serve.yaml",
                    "uriBaseId": "SRCROOT"
                  },
                  "replacements": [
                    {
                      "deletedRegion": {
                        "startLine": 3,
                        "startColumn": 16,
                        "endLine": 3,
                        "endColumn": 21
                      },
                      "insertedContent": {
                        "text": "8192"
                      }
                    }
                  ]
                }
              ]
            }
          ]
        }
      ],
      "columnKind": "unicodeCodePoints"
    }
  ]
}
"""


def one_finding(**changes: Any) -> Report:
    engine = build.healthy(findings=(TOO_LONG._replace(**changes),), not_evaluated=())
    return small_report(judged=[engine], unreadable=(), assess=lambda: [engine])


def run_of(report: Report) -> dict[str, Any]:
    run: dict[str, Any] = json.loads(sarif.render(report))["runs"][0]
    return run


def test_the_whole_log() -> None:
    engine = build.healthy(findings=(TOO_LONG,), not_evaluated=())
    report = small_report(judged=[engine], unreadable=(), assess=lambda: [engine])
    assert sarif.render(report) == LOG


@pytest.mark.parametrize("report", [small_report(), hostile_report(), Report([])])
def test_the_schema_holds(report: Report) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    validator = jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())
    errors = list(validator.iter_errors(json.loads(sarif.render(report))))
    assert [f"{list(error.path)}: {error.message}" for error in errors] == []


@pytest.mark.parametrize("kind", ["Sarif", "Ghas"])  # one at a time: npm's wrapper calls a shell
@pytest.mark.parametrize("report", [small_report(), hostile_report()])
def test_microsofts_multitool_finds_no_error(report: Report, kind: str, tmp_path: Path) -> None:
    tool = shutil.which("Sarif.Multitool") or shutil.which("sarif-multitool")
    if tool is None:
        pytest.skip("the SARIF multitool is not installed (npm install @microsoft/sarif-multitool)")
    file = tmp_path / "log.sarif"
    file.write_text(sarif.render(replace(report, docs=lambda: "https://docs.example")))
    done = subprocess.run(
        [tool, "validate", str(file), "--rule-kind", kind],
        check=False,
        capture_output=True,
        text=True,
    )
    said = done.stdout + done.stderr
    assert "Analysis completed successfully." in said
    assert not [line for line in said.splitlines() if " error " in line or " warning " in line]
    assert done.returncode == 0


def test_sarif_tools_reads_the_same(tmp_path: Path) -> None:
    loader = pytest.importorskip("sarif.loader", reason="sarif-tools is not installed")
    file = tmp_path / "log.sarif"
    file.write_text(sarif.render(small_report()), encoding="utf-8")
    records = loader.load_sarif_file(str(file)).get_records()
    assert [(one["Severity"], one["Location"], one["Line"]) for one in records] == [
        ("error", "serve.yaml", 3),
        ("note", "serve.yaml", 3),
        ("warning", "serve.yaml", 3),
    ]


def test_a_fingerprint_outlives_lines_and_words() -> None:
    def fingerprint(**changes: Any) -> Any:
        return run_of(one_finding(**changes))["results"][0]["partialFingerprints"]

    moved = fingerprint(origin=build.at(40, 9), message="max_model_len is 1 and 2 fit.")
    assert fingerprint() == moved != fingerprint(argument="max_num_seqs")


def test_accepted_findings_are_suppressed_with_their_reason() -> None:
    results = run_of(small_report())["results"]
    assert [result["suppressions"] for result in results] == [
        [],
        [],
        [
            {
                "kind": "inSource",
                "status": "accepted",
                "justification": "measured, fast enough",
                "location": {
                    "physicalLocation": {
                        "artifactLocation": {"uri": "serve.yaml", "uriBaseId": "SRCROOT"},
                        "region": {"startLine": 2, "startColumn": 20},
                    }
                },
            }
        ],
    ]
    (_, external) = run_of(hostile_report())["results"]
    assert external["suppressions"][0]["kind"] == "external"


def test_what_could_not_be_read_is_a_notification() -> None:
    (invocation,) = run_of(small_report())["invocations"]
    assert not invocation["executionSuccessful"]
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["message"]["text"] == "broken.yaml:3:1: not YAML: found a tab"
    notes = [note["message"]["text"] for note in invocation["toolConfigurationNotifications"]]
    assert notes == [
        "Assumed: one H100 SXM, because no GPU is stated",
        "Not evaluated: OBS101: observed metrics (--metrics)",
    ]


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("deploy/serve.yaml", "deploy/serve.yaml"),
        ("/repository/deploy/a b.yaml", "deploy/a%20b.yaml"),
        ("/elsewhere/serve.yaml", "../elsewhere/serve.yaml"),
    ],
)
def test_uris_are_relative(path: str, uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    report = one_finding(origin=Origin("file", path=path, line=1))
    if not path.startswith("/"):
        report = replace(report, root=Path.cwd())
    else:
        report = replace(report, root=Path("/repository"))
    (result,) = run_of(report)["results"]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": uri, "uriBaseId": "SRCROOT"}


def test_a_command_line_has_no_file() -> None:
    engine = build.engine()
    origin = Origin("command line", "command line")
    parsed = engine.parsed._replace(origin=origin)
    judged = build.healthy(
        engine=engine._replace(parsed=parsed), findings=(TOO_LONG._replace(origin=None),)
    )
    (result,) = run_of(Report.of([judged]))["results"]
    assert result["locations"] == [
        {
            "logicalLocations": [{"name": "config-yaml", "kind": "resource"}],
            "message": {"text": "command line"},
        }
    ]


def test_rules_of_ours_have_help_and_a_page() -> None:
    finding = build.finding(code="MEM103", name="max-model-len-does-not-fit")
    report = replace(
        Report.of([build.healthy(findings=(finding,))]), docs=lambda: "https://docs.example/"
    )
    (rule,) = run_of(report)["tool"]["driver"]["rules"]
    assert rule["helpUri"] == "https://docs.example/rules/MEM103.html"
    assert rule["fullDescription"]["text"] == (
        "One request of max_model_len [max_model_len] does not fit into the [kv_cache_gib] "
        "left for the KV cache: vLLM refuses to start."
    )
    assert "sched-reader explain MEM103" in rule["help"]["markdown"]


def test_help_links_to_the_source_that_a_rule_cites() -> None:
    assert linked_source("vllm/config.py, 0.6.0-0.6.1.post2; issue 18182; a `paper`, 2023") == (
        "[`vllm/config.py`](https://github.com/vllm-project/vllm/blob/v0.6.1.post2/vllm/config.py)"
        "`, 0.6.0-0.6.1.post2`; "
        "`issue` [`18182`](https://github.com/vllm-project/vllm/issues/18182); a `paper`, 2023"
    )


def test_a_file_is_not_linked_where_no_release_says_that_it_lies_there() -> None:
    assert linked_source("vllm/envs.py, VLLM_PORT") == "`vllm/envs.py, VLLM_PORT`"
    assert linked_source("Probe v1; kserve/kserve#5062") == (
        "`Probe v1`; [`kserve/kserve#5062`](https://github.com/kserve/kserve/issues/5062)"
    )


def test_a_rule_that_names_a_file_of_vllm_links_to_vllm() -> None:
    named = [rule for rule in all_rules() if re.search(r"\bvllm/[\w/]+\.py", rule.source)]
    assert [rule.code for rule in named if "https://" not in linked_source(rule.source)] == []
