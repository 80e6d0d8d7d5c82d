"""Groups of options that several commands take: a command names a group once, as one argument.

A group is a record of options with the step from them to what the stages take.  `takes_groups`
spreads the groups of a function's signature into single options, which is what typer reads.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from scheduler_reader.cli import observed_options, options
from scheduler_reader.cli.settings_file import origins, table
from scheduler_reader.errors import UsageError
from scheduler_reader.record import Record
from scheduler_reader.workload import Slo, Workload

if TYPE_CHECKING:
    from scheduler_reader.cli.output import Outputs
    from scheduler_reader.gate.controls import Controls
    from scheduler_reader.knowledge.calibration import Calibration
    from scheduler_reader.observe.observation import Observation
    from scheduler_reader.parse.source import ParsedEngine
    from scheduler_reader.pipeline import Request
    from scheduler_reader.policy import Policy
    from scheduler_reader.resolve import ResolveOptions


class Target(Record):
    """What the configuration runs on, where it does not say so itself."""

    gpu: options.GpuName = None
    gpu_count: options.GpuCount = None
    gpu_memory_used_gib: options.GpuMemoryUsed = None
    offline: options.Offline = False
    model_config: options.ModelConfig = None
    hub: options.Hub = False
    calibration: options.CalibrationFile = None
    profile: options.Profile = None  # read with the settings file, before all options

    def read(self, context: Any, vllm_version: str | None = None) -> ResolveOptions:
        """What the options, or the settings file that stands in for them, state."""
        from scheduler_reader.resolve import ResolveOptions

        stated = origins(context)
        place = stated["model_config"].place if "model_config" in stated else "--model-config"
        return ResolveOptions(
            vllm_version=vllm_version,
            gpu=self.gpu,
            gpu_count=self.gpu_count,
            gpu_memory_used_gib=self.gpu_memory_used_gib or 0.0,
            offline=self.offline,
            model_config=existing(self.model_config, place),
            calibration=self._constants(),
            origins=stated,
        )

    def _constants(self) -> Calibration | None:
        if self.calibration is None:
            return None
        from scheduler_reader.knowledge.calibration import read_calibration

        return read_calibration(self.calibration)

    def fetched(self, target: ResolveOptions, engines: Iterable[ParsedEngine]) -> ResolveOptions:
        """With `--hub`, the target and the facts of the engines' models; as it is otherwise."""
        if not self.hub:
            return target
        from scheduler_reader.cli.hub import with_hub

        return with_hub(target, engines)


class Load(Record):
    """The workload, and the latency objectives it is held to."""

    workload: options.WorkloadName = None
    isl: options.InputTokens = None
    osl: options.OutputTokens = None
    concurrency: options.Concurrency = None
    rate: options.Rate = None
    acceptance_length: options.AcceptanceLength = None
    slo_ttft_ms: options.SloTtft = None
    slo_itl_ms: options.SloItl = None
    slo_tpot_ms: options.SloTpot = None

    def read(self) -> Workload | None:
        """The workload the options state, or None when they state nothing."""
        from scheduler_reader.workload import DEFAULT_WORKLOAD, load_workload

        shape: dict[str, Any] = {}
        if self.isl is not None:
            shape["input_tokens"] = self.isl
        if self.osl is not None:
            shape["output_tokens"] = self.osl
        if self.concurrency is not None and self.rate is not None:
            raise UsageError(
                "--concurrency is a closed loop, --rate an open loop: give one of them"
            )
        if self.concurrency is not None:
            shape |= {"protocol": "closed-loop", "concurrency": self.concurrency, "rate": None}
            shape["num_requests"] = 10 * self.concurrency
        if self.rate is not None:
            shape |= {"protocol": "open-loop", "rate": self.rate, "concurrency": None}
        if self.acceptance_length is not None:
            shape["acceptance_length"] = self.acceptance_length
        if self.workload is None and not shape:
            return None
        base = load_workload(self.workload) if self.workload is not None else DEFAULT_WORKLOAD
        return base.replaced(shape)

    def slo(self) -> Slo:
        """The latency objectives; a value that is not positive is a `UsageError`."""
        stated = {"ttft": self.slo_ttft_ms, "itl": self.slo_itl_ms, "tpot": self.slo_tpot_ms}
        for option, value in stated.items():
            if value is not None and not value > 0:
                raise UsageError(f"--slo-{option}-ms must be positive, not {value:g}")
        return Slo(ttft_ms=self.slo_ttft_ms, itl_ms=self.slo_itl_ms, tpot_ms=self.slo_tpot_ms)


class Observed(Record):
    """What was measured on the running engine."""

    metrics: observed_options.Metrics = None
    metrics_interval_s: observed_options.MetricsInterval = None
    bench: observed_options.BenchFiles = None
    startup_log: observed_options.StartupLogFile = None
    observed: observed_options.ObservedFigures = None

    def read(self) -> Observation | None:
        """The observation; None where nothing is given.  A URL is fetched because it is named."""
        if not (self.metrics or self.bench or self.startup_log or self.observed):
            return None
        from scheduler_reader.observe.observation import observe
        from scheduler_reader.observe.stated import read_stated

        log = None if self.startup_log is None else str(self.startup_log)
        bench = [str(path) for path in self.bench or ()]
        stated = read_stated(self.observed or ())
        return observe(self.metrics or (), bench, log, self.metrics_interval_s, stated)


class RuleChoice(Record):
    """Which rules are evaluated."""

    select: options.Select = None
    ignore: options.Ignore = None
    rules: options.Rules = None


class Output(Record):
    """Which format goes where."""

    format: options.Format = None
    output: options.OutputFiles = None

    def read(self, default: str) -> Outputs:
        """What is wanted, stdout in the `default` format if unsaid; `UsageError` for no format."""
        from scheduler_reader.cli.output import Outputs, read_targets

        return Outputs(self.format or default, read_targets(self.output or []))


class Gate(Record):
    """From what on a run fails, and what is asked of every engine."""

    fail_on: options.FailOnOption = options.FailOn.error
    require_facts: options.RequireFacts = False
    severity: options.Severity = None
    policy: options.PolicyThreshold = None
    baseline: options.BaselineFile = None
    write_baseline: options.WriteBaseline = None

    def thresholds(self, context: Any) -> Policy:
        """The policy that the options and the settings file state."""
        from scheduler_reader.policy import read_policy

        return read_policy(table(context, "policy"), self.policy or ())

    def controls(self, context: Any, folders: Sequence[Path]) -> Controls:
        """Severities and baseline; `UsageError` for what is wrong about them."""
        from scheduler_reader.gate.controls import Controls

        severities = {}
        stated = table(context, "severity")
        if stated or self.severity:
            from scheduler_reader.gate.severity import read_severities

            severities = read_severities(stated, self.severity or (), folders)
        if self.baseline is None and self.write_baseline is None:
            return Controls(severities)
        from scheduler_reader.gate.baseline import Baseline
        from scheduler_reader.gate.baseline_file import read_baseline

        written = self.write_baseline
        if written is not None:
            baseline = read_baseline(written) if written.exists() else Baseline(written)
            return Controls(severities, baseline, writes_baseline=True)
        known = None if self.baseline is None else read_baseline(self.baseline)
        return Controls(severities, known)


def read_request(
    target: ResolveOptions,
    load: Load,
    choice: RuleChoice | None = None,
    policy: Policy | None = None,
) -> Request:
    """What a whole reading is asked for with."""
    from scheduler_reader.pipeline import Request
    from scheduler_reader.rule_engine.selection import read_selection

    choice = choice or RuleChoice()
    folders = [folder for folder in choice.rules or [] if existing(folder, "--rules")]
    return Request(
        target=target,
        workload=load.read(),
        slo=load.slo(),
        rule_folders=folders,
        rules=read_selection(choice.select or [], choice.ignore or [], folders),
        policy=policy or {},
    )


def existing(path: Path | None, option: str) -> Path | None:
    """The path, checked to exist; a missing one is a `UsageError` that names the option."""
    if path is not None and not path.exists():
        raise UsageError(f"{option} {path}: no such file or folder")
    return path


def takes_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command with each option of its groups as an option of its own."""
    groups: dict[str, Any] = {}
    spread: list[inspect.Parameter] = []
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if not hasattr(kind, "_fields"):
            spread.append(parameter.replace(annotation=kind))
            continue
        groups[name] = kind
        fields = get_type_hints(kind, include_extras=True)
        spread += [
            inspect.Parameter(
                field,
                inspect.Parameter.KEYWORD_ONLY,
                default=kind._field_defaults[field],
                annotation=fields[field],
            )
            for field in kind._fields
        ]

    def run(*arguments: Any, **given: Any) -> None:
        built = {
            name: kind(**{field: given.pop(field) for field in kind._fields})
            for name, kind in groups.items()
        }
        command(*arguments, **given, **built)

    run.__name__, run.__doc__, run.__module__ = (
        command.__name__,
        command.__doc__,
        command.__module__,
    )
    run.__signature__ = inspect.Signature(spread)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in spread}
    return run
