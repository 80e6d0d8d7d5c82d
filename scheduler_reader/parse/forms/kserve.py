"""KServe: InferenceService, ServingRuntime, LLMInferenceService."""

from __future__ import annotations

from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.source import ParsedFile

FORM = "kserve"
KINDS = frozenset(
    {
        *("InferenceService", "ServingRuntime", "ClusterServingRuntime"),
        *("LLMInferenceService", "LLMInferenceServiceConfig"),
    }
)


def matches(file: InputFile) -> bool:
    """Whether a text has an object of KServe."""
    if "serving.kserve.io" not in file.text:
        return False
    from scheduler_reader.parse.kubernetes_objects import kinds_in

    return bool(KINDS & kinds_in(file))


def read(file: InputFile) -> ParsedFile:
    """The engines of services and runtimes; a runtime that a service names counts once."""
    from scheduler_reader.parse.kserve_services import read_kserve

    return read_kserve(file, FORM)
