"""Speculative decoding: how drafts are made, what checking them costs, what a step yields.

A decode step runs the tokens of a sequence and its drafts through the target at once and yields
`acceptance` tokens of it on average.  Acceptance depends on the traffic: the workload states it,
or the spread of published values is taken (`compat_matrix/speculation.yaml`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import fsum
from typing import Any

from scheduler_reader.capacity.constants import Spread, spread
from scheduler_reader.data import documents
from scheduler_reader.knowledge.models import ModelFacts, find_model
from scheduler_reader.performance.estimate import SpeculationEffect
from scheduler_reader.performance.settings import optional
from scheduler_reader.performance.shapes import Product
from scheduler_reader.record import Record
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known, Unknown

MLP_WIDTH = 4.0  # of the hidden size, for the dense draft layer of a model that has only experts

DRAFT_LAYER = "LlamaForCausalLM"  # what the layer of an EAGLE draft is, whatever its target


class Drafting(Record):
    """How an engine drafts.  `acceptance` is the tokens a step yields, from 1 to `drafts` + 1;
    `proposed` are the drafts a step checks on average.

    `facts` describe the draft as a model, None where no forward pass makes drafts; `joins` is the
    product that joins hidden states into its input.
    """

    method: str
    drafts: int
    proposed: float
    acceptance: Spread
    facts: ModelFacts | None
    joins: Product | None
    step_s: Spread
    draft_s: Spread
    routing: Spread
    stops_async: bool  # without drafts the engine would schedule asynchronously


def drafting(engine: ResolvedEngine, model: ModelFacts) -> Drafting | Unknown | None:
    """How `engine` drafts; None without speculation, Unknown where it is not modelled."""
    method, drafts = (
        optional(engine, name, absent)
        for name, absent in (("speculative_method", None), ("num_speculative_tokens", 0))
    )
    for value in (method, drafts):
        if isinstance(value, Unknown):
            return value
    if method is None or not drafts:
        return None
    table = _table()
    entry = table["methods"].get(method)
    if entry is None:
        return Unknown(f"what the drafts of method {method} cost and yield is not known")
    facts = _draft_facts(engine, entry["draft"], method, model)
    if isinstance(facts, Unknown):
        return facts
    host, proposes = table["host"], entry.get("proposes", 1.0)
    rates = spread(_of_target(entry, model)["acceptance_rate"])
    return Drafting(
        method=method,
        drafts=int(drafts),
        proposed=proposes * drafts,
        acceptance=_acceptance(engine, rates, int(drafts), proposes),
        facts=facts,
        joins=_joins(entry["inputs"], model.hidden_size) if entry["inputs"] else None,
        step_s=spread(host["step_us"]).scaled(1e-6),
        draft_s=spread(host["draft_us"]).scaled(1e-6),
        routing=spread(table["routing"]["tokens"]),
        stops_async=_stops_async(engine, entry.get("stops_async_scheduling")),
    )


def draft_sentences(effect: SpeculationEffect | None) -> tuple[str, ...]:
    """What is taken for the acceptance of drafts, and where they stop paying."""
    if effect is None:
        return ()
    low, best, high = effect.acceptance_length
    if effect.is_stated:
        yields = f"{best:.2f} tokens a step, as stated"
    else:
        yields = (
            f"{best:.2f} tokens a step taken for {effect.method} with {effect.drafts} drafts "
            f"(published: {low:.2f} to {high:.2f}; --acceptance-length states it)"
        )
    least, most = effect.speedup_range
    gain = f"{effect.speedup:.2f} times as fast here ({least:.2f} to {most:.2f})"
    count = effect.break_even_concurrency
    slower = "" if count is None else f"; slower than without from {count:,} running requests on"
    return (f"speculative decoding: {yields}; {gain}{slower}",)


def tokens_of_a_step(rate: float, drafts: int) -> float:
    """Tokens that a step of so many drafts yields on average, the target's own included."""
    return fsum(rate**place for place in range(drafts + 1))


def _of_target(entry: Mapping[str, Any], model: ModelFacts) -> Mapping[str, Any]:
    """What was published for drafts of this architecture, else for the method."""
    found: Mapping[str, Any] = entry.get("targets", {}).get(model.architecture, entry)
    return found


def _acceptance(engine: ResolvedEngine, rates: Spread, drafts: int, proposes: float) -> Spread:
    """What a synthetic rejection sampler is told to accept, else the published spread."""
    told = _written(engine, "synthetic_acceptance_length")
    if isinstance(told, int | float) and 1 <= told <= drafts + 1:
        return Spread.exact(float(told))
    ends = (tokens_of_a_step(rate, drafts) for rate in (rates.low, rates.best, rates.high))
    return Spread(*(1 + proposes * (tokens - 1) for tokens in ends))


def _stops_async(engine: ResolvedEngine, releases: list[str] | None) -> bool:
    is_chosen = engine.is_set("async_scheduling")
    return releases is not None and not is_chosen and engine.release.within(*releases)


def _draft_facts(
    engine: ResolvedEngine, draft: str, method: str, model: ModelFacts
) -> ModelFacts | Unknown | None:
    if draft == "lookup":
        return None
    if draft == "model":
        return _own_model(engine)
    layer = replace(model, layers=1, layer_kinds=(), dense_layers=0, moe_layers=())
    if method == "mtp":
        return layer
    has_dense = not model.is_moe or model.dense_layers > 0
    width = (has_dense and model.intermediate_size) or round(MLP_WIDTH * model.hidden_size)
    dense: dict[str, Any] = {"experts": 0, "experts_per_token": 0, "intermediate_size": width}
    dense |= {"architecture": DRAFT_LAYER}
    dense |= {"shared_expert_intermediate_size": None, "quantization": None}
    if method == "eagle3":
        dense["vocab_size"] = min(model.vocab_size, _table()["eagle3_vocabulary"])
    return replace(layer, **dense)


def _own_model(engine: ResolvedEngine) -> ModelFacts | Unknown:
    found = find_model(str(_written(engine, "model") or ""))
    return found if isinstance(found, Unknown) else found.facts


def _written(engine: ResolvedEngine, key: str) -> Any:
    """A key of the speculative configuration or the flag of that name; None: not written."""
    settings = engine.flags.settings
    config = settings.get("speculative_config")
    if isinstance(config, Known) and isinstance(config.value, Mapping) and key in config.value:
        return config.value[key]
    for flag in (f"spec_{key}", f"speculative_{key}"):
        given = settings.get(flag)
        if isinstance(given, Known):
            return given.value
    return None


def _joins(inputs: int, hidden: int) -> Product:
    return Product(float(hidden), float(inputs * hidden), 1, "mlp")


def _table() -> dict[str, Any]:
    return dict(documents("compat_matrix", "speculation.yaml")["speculation.yaml"])
