"""Facts about how long single steps of the engine are predicted to take."""

from __future__ import annotations

from scheduler_reader.rule_engine.sources import Sources
from scheduler_reader.value import Known, Unknown

# The decode step that Agrawal et al., Sarathi-Serve, OSDI 2024, section 5.1, measure gaps by.
YARDSTICK_REQUESTS = 32
YARDSTICK_TOKENS = 4096


def full_step_ms(sources: Sources) -> float | Unknown:
    """A step of max_num_batched_tokens prompt tokens, from its start to its end."""
    budget = sources.engine.value("max_num_batched_tokens")
    if isinstance(budget, Unknown):
        return budget
    return _step_ms(sources, 0, float(budget.value))


def decode_step_ms(sources: Sources) -> float | Unknown:
    """A step that decodes 32 requests of 4,096 tokens and no prompt."""
    return _step_ms(sources, YARDSTICK_REQUESTS, 0.0)


def _step_ms(sources: Sources, requests: int, prompt_tokens: float) -> float | Unknown:
    """The stages of a pipeline work on one step after the other; a model's step is split over them."""
    if isinstance(sources.performance, Unknown):
        return sources.performance
    if not isinstance(sources.step, Known):
        return sources.step
    model = sources.step.value
    stages = model.batches_in_flight
    chunks = [(prompt_tokens * stages, 0.0)] if prompt_tokens else []
    seqs = float(requests * stages)
    return 1e3 * model.step_seconds(seqs, seqs * YARDSTICK_TOKENS, chunks)
