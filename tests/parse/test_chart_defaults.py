"""What a chart, an operator or a library adds to the arguments, read as one release reads them."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_reader.knowledge.flags import flag_table
from scheduler_reader.parse import parse_text
from scheduler_reader.parse.arguments import read_arguments
from scheduler_reader.parse.reading import FlagReading
from scheduler_reader.value import Known

STACK = """
servingEngineSpec:
  modelSpec:
    - name: m
      repository: vllm/vllm-openai
      tag: v0.11.0
      modelURL: a/b
"""
MODELSERVICE = """
modelArtifacts: {name: chat, uri: "hf://a/b"}
decode:
  containers: [{image: x, modelCommand: vllmServe}]
"""
RAY = """
llm_configs:
  - model_loading_config: {model_id: a/b}
    engine_kwargs:
"""
DYNAMO = """
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
spec:
  services:
    worker:
      extraPodSpec:
        mainContainer:
          command: [python3, -m, dynamo.vllm]
          args: [--model, a/b, --is-prefill-worker, --num-scheduler-steps, "8"]
"""
KAITO = """
vllm:
  enable-prefix-caching: true
  max-model-len: 4096
max_probe_steps: 6
"""


def reading(text: str, release: str = "0.11.0", path: str = "x.yaml") -> FlagReading:
    (engine,) = parse_text(text, path).engines
    return read_arguments(engine, flag_table(release))


def settings(found: FlagReading) -> dict[str, Any]:
    return {name: value.value for name, value in found.settings.items() if isinstance(value, Known)}


def test_the_stack_switches_prefix_caching_off_unless_told() -> None:
    bare = settings(reading(STACK))
    assert bare == {"host": "0.0.0.0", "port": 8000}
    config = f"{STACK}      vllmConfig: {{maxNumSeqs: 8}}\n"
    assert settings(reading(config))["enable_prefix_caching"] is False
    told = f"{STACK}      vllmConfig: {{extraArgs: [--enable-prefix-caching]}}\n"
    assert settings(reading(told))["enable_prefix_caching"] is True


@pytest.mark.parametrize(
    ("cache", "connector"),
    [
        ("{enabled: true}", {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}),
        ("{enabled: false, kvRole: kv_producer}", None),
        (
            "{enabled: true, kvRole: kv_producer, enablePD: true, nixlRole: sender}",
            {
                "kv_connector": "LMCacheConnectorV1",
                "kv_role": "kv_producer",
                "kv_connector_extra_config": {
                    "discard_partial_chunks": False,
                    "lmcache_rpc_port": "sender",
                },
            },
        ),
    ],
)
def test_lmcache_of_the_stack_adds_its_connector(cache: str, connector: Any) -> None:
    found = settings(reading(f"{STACK}      lmcacheConfig: {cache}\n"))
    assert found.get("kv_transfer_config") == connector


def test_models_on_ray_have_a_template_of_their_own() -> None:
    text = f"{STACK}      raySpec: {{headNode: {{}}}}\n      lmcacheConfig: {{enabled: true}}\n"
    found = settings(reading(f"{text}      vllmConfig: {{pipelineParallelSize: 2}}\n", "0.10.2"))
    assert found == {
        "host": "0.0.0.0",
        "port": 8000,
        "distributed_executor_backend": "ray",
        "pipeline_parallel_size": 2,
        "kv_transfer_config": {"kv_connector": "LMCacheConnector", "kv_role": "kv_both"},
    }


def test_the_operator_switches_off_what_a_runtime_does_not_say() -> None:
    text = "kind: VLLMRuntime\nspec:\n  model: {modelURL: a/b}\n  vllmConfig: {maxLoras: 2}\n"
    found = settings(reading(text, "0.9.1"))
    assert found["enable_chunked_prefill"] is False
    assert found["enable_prefix_caching"] is False
    (engine,) = parse_text(text, "x.yaml").engines
    use_v1 = engine.env["VLLM_USE_V1"]
    assert isinstance(use_v1, Known)
    assert use_v1.value == "0"


def test_modelservice_names_the_model_and_listens_behind_its_proxy() -> None:
    assert settings(reading(MODELSERVICE)) == {"port": 8200, "served_model_name": ["chat"]}
    without_proxy = f"{MODELSERVICE}routing: {{servicePort: 9000, proxy: {{enabled: false}}}}\n"
    assert settings(reading(without_proxy))["port"] == 9000


def test_keyword_arguments_need_no_option_for_false() -> None:
    text = f"{RAY}      enforce_eager: false\n      enable_prefix_caching: false\n"
    for release in ("0.6.6", "0.8.5", "0.11.0"):
        found = reading(text, release)
        assert not found.issues, release
        assert settings(found).get("enforce_eager") is not True
    assert settings(reading(text))["enable_prefix_caching"] is False


def test_a_keyword_that_the_release_does_not_know_is_an_issue() -> None:
    found = reading(f"{RAY}      num_scheduler_steps: 8\n")
    assert [(issue.kind, issue.fatal) for issue in found.issues] == [("removed", True)]


def test_dynamo_takes_its_own_options_and_vllm_refuses_what_it_no_longer_has() -> None:
    found = reading(DYNAMO)
    assert [(issue.kind, issue.flag) for issue in found.issues] == [
        ("removed", "--num-scheduler-steps")
    ]


def test_kaito_passes_a_boolean_as_a_value_that_a_switch_refuses() -> None:
    found = reading(KAITO, "0.11.0")
    assert [issue.kind for issue in found.issues] == ["unexpected_value"]
    assert settings(found) == {"max_model_len": 4096}
