"""Container forms with values of the wrong shape: problems or unknowns, never a traceback."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_reader.errors import InputError
from scheduler_reader.parse import parse_text, to_json

ODD = {
    "compose.yaml": "services:\n  a: null\n  b: [x]\n  vllm:\n    image: [2]\n    environment: 5\n"
    "    extends: vllm\n    deploy: {resources: {reservations: {devices: [1]}}}\n",
    "pod.yaml": "kind: Pod\napiVersion: v1\nspec:\n  containers:\n    - 5\n    - {name: vllm, args: {a: b},"
    " env: [1], command: 5, image: [2], resources: [], startupProbe: {periodSeconds: x}}\n",
    "kserve.yaml": "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\n"
    "spec: {predictor: {model: 5}}\n---\nkind: LLMInferenceService\nspec: [1]\n---\n"
    "kind: LLMInferenceService\nspec: {model: 3, template: {containers: [3]}, prefill: 4}\n",
    "Dockerfile": "FROM\nENTRYPOINT [\nCMD [1]\nENV\nARG\nRUN <<EOF\n# vllm\n",
    "vllm.service": "[Service]\nExecStart=\\\n# vllm\nEnvironment=\\\n",
    "run.sh": "docker run\ndocker run -e\ndocker run --gpus\ndocker run --entrypoint '' vllm\n",
}
TEXT = st.text(alphabet="abc:-[]{}&*!|>'\"$%\\#\n \t,=1", max_size=60)


@pytest.mark.parametrize("path", ODD)
def test_wrong_shapes(path: str) -> None:
    to_json([parse_text(ODD[path], path)])


@pytest.mark.parametrize("path", ODD)
@given(text=TEXT)
@settings(max_examples=25, deadline=None)
def test_any_text_after_a_good_start(path: str, text: str) -> None:
    try:
        to_json([parse_text(ODD[path] + text, path)])
    except InputError:
        return


def test_a_quote_that_never_closes_is_told() -> None:
    text = 'services:\n  s:\n    image: vllm/vllm-openai\n    command: "--model \'m"\n'
    (file,) = to_json([parse_text(text, "compose.yaml")])["files"]
    assert [problem["line"] for problem in file["problems"]] == [4]
    assert "never closes" in file["engines"][0]["unresolved"]["model"]
