"""The resolve stage: one parsed engine and what the user states → the engine as it will run."""

from __future__ import annotations

from typing import Literal

from scheduler_reader.knowledge.flags import flag_table
from scheduler_reader.parse.arguments import read_arguments
from scheduler_reader.parse.source import ParsedEngine
from scheduler_reader.resolve.case import Case
from scheduler_reader.resolve.engine import ResolvedEngine, UsageContext
from scheduler_reader.resolve.engine_choice import unsupported_by_forced
from scheduler_reader.resolve.hardware import choose_hardware, choose_release
from scheduler_reader.resolve.model_choice import choose_facts, choose_model_id
from scheduler_reader.resolve.options import ResolveOptions
from scheduler_reader.resolve.settings import settings_of, settle
from scheduler_reader.value import Origin, Unknown, Value


def resolve(parsed: ParsedEngine, options: ResolveOptions | None = None) -> ResolvedEngine:
    """Every setting with the value that vLLM release runs with on that GPU, and why.

    Raises `UsageError` for options that name no version or GPU, and `InputError` for a model
    config that cannot be read.  What the engine's own arguments leave open is `Unknown`.
    """
    options = options or ResolveOptions()
    assumptions: list[str] = []
    release, release_origin = choose_release(parsed, options, assumptions)
    table = flag_table(release.name)
    reading = read_arguments(parsed, table)
    hardware = choose_hardware(parsed, reading, options, assumptions)
    model_id = choose_model_id(reading, table, assumptions)
    context: UsageContext = "offline" if options.offline or parsed.entrypoint == "llm" else "serve"
    case = Case(
        release=release,
        context=context,
        gpu=hardware.gpu,
        model=choose_facts(model_id, reading, options, assumptions),
        given=reading.settings,
        variable_of=parsed.variable,
        flags=table,
        settled={},
    )
    if isinstance(case.model, Unknown):
        assumptions.append(
            f"the model is taken for a decoder that generates text: {case.model.reason}"
        )
    if options.calibration is not None:
        assumptions.append(options.calibration.sentence)
    settle(case)
    engine, engine_origin = _engine(case.settled["engine"], assumptions)
    return ResolvedEngine(
        parsed=parsed,
        release=release,
        release_origin=release_origin,
        context=context,
        engine=engine,
        hardware=hardware,
        model_id=model_id,
        model=case.model,
        flags=reading,
        settings=settings_of(case),
        assumptions=tuple(assumptions),
        engine_origin=engine_origin,
        model_runner=case.settled["model_runner"],
        calibration=options.calibration,
        unsupported=unsupported_by_forced(case),
    )


def _engine(settled: Value[str], assumptions: list[str]) -> tuple[Literal["V0", "V1"], Origin]:
    if isinstance(settled, Unknown):
        assumptions.append(
            f"the V1 engine: whether it falls back to V0 is unknown, {settled.reason}"
        )
        return "V1", Origin("assumed", settled.reason)
    return ("V0" if settled.value == "V0" else "V1"), settled.origin
