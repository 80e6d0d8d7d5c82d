"""What the signs draw from: the engine, what was predicted and observed of it, and what follows."""

from __future__ import annotations

from typing import Any

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.observe.observation import Observation
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.performance.step import StepModel, StepParts
from scheduler_reader.record import Record
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known, Unknown, Value
from scheduler_reader.workload import DEFAULT_WORKLOAD, Slo

# Of the bandwidth: the least efficient of the kernels measured in `compat_matrix/efficiency/` (gemm, fp8_block).
SLOWEST_READ = 0.741


class Seen(Record):
    """Rates are of all data-parallel engines together, in tokens or requests a second."""

    engine: ResolvedEngine
    plan: CapacityPlan
    estimate: PerformanceEstimate | None
    observation: Observation
    slo: Slo
    step: Value[StepModel]

    def get(self, name: str) -> float | None:
        return self.observation.get(name)

    def setting(self, name: str) -> Any:
        """The resolved value, or None where the release has no such setting or it is not known."""
        found = self.engine.settings.get(name)
        return found.value.value if found and isinstance(found.value, Known) else None

    @property
    def engines(self) -> float:
        return self.get("engines") or 1.0

    @property
    def seats(self) -> float | None:
        """Requests that may run at once, of all data-parallel engines."""
        value = self.setting("max_num_seqs")
        return value * self.engines if isinstance(value, int) else None

    @property
    def token_budget(self) -> int | None:
        value = self.setting("max_num_batched_tokens")
        return value if isinstance(value, int) else None

    @property
    def waiting_for_room(self) -> float | None:
        """Requests that wait for a seat or for blocks: not those that vLLM defers for other reasons."""
        waiting, deferred = self.get("waiting"), self.get("waiting_deferred")
        return waiting if waiting is None or deferred is None else max(0.0, waiting - deferred)

    @property
    def in_flight(self) -> float | None:
        """Requests that are in the engine, running or waiting."""
        running, waiting = self.get("running"), self.get("waiting")
        if running is not None and waiting is not None:
            return running + waiting
        return self.get("running_mean")

    @property
    def kv_tokens(self) -> float | None:
        """Tokens that the blocks of an engine hold: as its log says, else as planned."""
        printed = self.get("kv_cache_tokens")
        if printed is not None:
            return printed
        blocks = self.get("num_blocks") or self.plan.num_blocks
        return blocks * self.plan.block_size if blocks and self.plan.block_size else None

    @property
    def request_tokens(self) -> float | None:
        """Prompt and output of a request, mean."""
        prompt, output = self.get("input_tokens_mean"), self.get("output_tokens_mean")
        return None if prompt is None or output is None else prompt + output

    @property
    def output_rate(self) -> float | None:
        return self.get("output_tokens_per_s")

    @property
    def request_rate(self) -> float | None:
        """Requests that finish."""
        rate, outputs = self.get("requests_per_s"), self.get("output_tokens_mean")
        if rate is None and self.output_rate is not None and outputs:
            return self.output_rate / outputs
        return rate

    @property
    def decoding(self) -> float | None:
        """Requests that are given tokens: by Little's law as many as end while one is given its own."""
        rate, outputs = self.request_rate, self.get("output_tokens_mean")
        gap_ms = self.get("tpot_ms") or self.get("itl_mean_ms")
        if rate is None or outputs is None or gap_ms is None:
            return None
        return rate * outputs * gap_ms / 1e3

    @property
    def queued(self) -> float | None:
        """Requests that wait for their first token and not for the steps of their own prompt."""
        rate, prompt, budget = self.request_rate, self.get("input_tokens_mean"), self.token_budget
        ttft_ms = self.get("ttft_mean_ms") or self.get("ttft_p50_ms")
        if rate is None or ttft_ms is None or prompt is None or budget is None:
            return None
        own_ms = self.step_ms_of_prompts(min(prompt, budget))
        if own_ms is None:
            return None
        return rate * max(0.0, ttft_ms - own_ms * max(1.0, prompt / budget)) / 1e3

    @property
    def prompt_rate(self) -> float | None:
        """Prompt tokens that are computed; those found in the prefix cache are not."""
        rate, length = self.get("prompt_tokens_per_s"), self.get("input_tokens_mean")
        if rate is None and self.request_rate is not None and length is not None:
            rate = self.request_rate * length
        return None if rate is None else rate * (1 - (self.get("prefix_cache_hit_rate") or 0.0))

    @property
    def longest_read_ms(self) -> float | None:
        """How long a GPU reads all the memory that vLLM may use, which no step of decodes exceeds.

        None for a card that is only assumed, and where weights lie in host memory.
        """
        hardware, share = self.engine.hardware, self.setting("gpu_memory_utilization")
        if hardware.origin.kind == "assumed" or self.setting("cpu_offload_gb"):
            return None
        stages = self.setting("pipeline_parallel_size") or 1
        read = (share or 1.0) * stages * hardware.gpu.memory_bytes
        return 1e3 * read / (SLOWEST_READ * hardware.gpu.memory_bandwidth_bytes_per_s)

    def step_ms_of_prompts(self, tokens: float) -> float | None:
        """How long a step of so many prompt tokens takes from its start to its end, predicted."""
        if isinstance(self.step, Unknown):
            return None
        model = self.step.value  # the stages of a pipeline work on one such step after the other
        return 1e3 * model.step_seconds(0, 0, [(tokens * model.batches_in_flight, 0)])

    @property
    def full_step(self) -> StepParts | None:
        """What a step full of prompt tokens goes into, predicted."""
        return self._step_of(self.token_budget)

    @property
    def gain_of_twice_the_budget(self) -> float | None:
        """How many more prompt tokens/s full steps of twice the budget compute, predicted."""
        full, budget = self.full_step, self.token_budget
        if full is None or budget is None:
            return None
        double = self._step_of(2 * budget)
        return None if double is None else 2 * sum(full) / sum(double) - 1

    def _step_of(self, tokens: int | None) -> StepParts | None:
        if tokens is None or isinstance(self.step, Unknown):
            return None
        return self.step.value.step_parts(0, 0, [(float(tokens), 0)])

    @property
    def prefill_share(self) -> float | None:
        """Of the engine's time, what full steps of the observed prompt tokens take, predicted."""
        rate, budget = self.prompt_rate, self.token_budget
        if rate == 0:
            return 0.0
        full = self.full_step
        if rate is None or budget is None or full is None:
            return None
        return rate / self.engines * sum(full) / budget

    @property
    def busy_at_most(self) -> float | None:
        """Of the engine's time, what the observed tokens can take at most, predicted.

        At the slow end of the prediction, each prompt in steps of its own; of the decodes no more
        share a step than are known to run together.
        """
        prompts, outputs, budget = self.prompt_rate, self.output_rate, self.token_budget
        if prompts is None or outputs is None or budget is None or isinstance(self.step, Unknown):
            return None
        slow, _ = self.step.value.ends()
        load = DEFAULT_WORKLOAD
        length = self.get("input_tokens_mean") or load.input_tokens.mean
        context = length + (self.get("output_tokens_mean") or load.output_tokens.mean) / 2
        together = max(1.0, (self.get("running") or 0.0) / self.engines)
        chunk = min(length, float(budget))
        prompt_s = slow.step_seconds(0, 0, [(chunk, (length - chunk) / 2)]) / chunk
        decode_s = slow.step_seconds(together, together * context) / (together * slow.acceptance)
        return (prompts * prompt_s + outputs * decode_s) / self.engines
