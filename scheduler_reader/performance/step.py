"""The time of one engine step, from constants that are computed once an engine.

A step runs every scheduled token through every layer: the dense products depend only on the
number of tokens, attention on how many tokens each sequence looks back on, the output projection
on how many sequences are sampled.  The first kind is remembered by token count, the rest is
linear, so one call costs a few dictionary look-ups.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Literal

from scheduler_reader.performance import kernels
from scheduler_reader.performance.drafts import Speculation, drafted
from scheduler_reader.performance.host import HostOverhead
from scheduler_reader.performance.kernels import Collectives, Experts, Gemm
from scheduler_reader.record import Record

# Of the prompts in a step: tokens to compute, tokens before them.
Chunks = Sequence[tuple[float, float]]
# Seconds of a step by what binds them: memory, compute, communication, host.
Times = tuple[float, float, float, float]


class StepParts(Record):
    """Seconds of one step by what binds them; their sum is the step's time."""

    memory: float
    compute: float
    communication: float
    host: float


class AttentionCost(Record):
    """Attention of `layers` equal layers, all layers together.  Seconds by unit.

    A decode token costs `decode_sequence_s` and `decode_token_s` for each token of its context
    (`kv_token_s` at the full bandwidth), or `decode_pair_s` for each pair of query and key, whichever
    is more;
    prefill costs `prefill_pair_s` for each (query, key) pair, `prefill_token_s` for each computed
    and `prefill_cached_s` for each token it looks back on.
    """

    window: float | None
    decode_fixed_s: float
    decode_sequence_s: float
    decode_token_s: float
    decode_pair_s: float
    kv_token_s: float
    prefill_fixed_s: float
    prefill_pair_s: float
    prefill_token_s: float
    prefill_cached_s: float

    def seconds(
        self, seqs: float, context: float, queries: float, chunks: Chunks, copies: float
    ) -> tuple[float, float]:
        """Of decode, and of causal prefill: a token attends to its depth and half of its chunk."""
        window, fixed_s, sequence_s, token_s, query_s, _, started_s, pair_s, own_s, back_s = self
        decode_s = prefill_s = 0.0
        if seqs > 0:
            if window is not None and context > seqs * window:
                context = seqs * window
            checked_s = queries * query_s
            each_s = checked_s if checked_s > token_s else token_s
            decode_s = fixed_s + seqs * sequence_s + context * each_s
        if chunks:
            for tokens, depth in chunks:
                back, cached = depth + tokens / 2, depth
                if window is not None:
                    back, cached = min(back, window), min(depth, window)
                prefill_s += tokens * (back * pair_s + own_s)
                prefill_s += cached * back_s
            prefill_s = started_s + copies * prefill_s
        return decode_s, prefill_s


@dataclass(frozen=True, slots=True)
class StepModel:
    """What `step_parts` needs, built once by `build.build_step_model`.

    `scale` multiplies every time: the low and high end of the uncertainty are copies with another
    scale (`ends`).  `batches_in_flight` is the pipeline depth: a batch is split over it.
    """

    gemms: tuple[Gemm, ...]
    output: Gemm
    experts: Experts | None
    attention: tuple[AttentionCost, ...]
    collectives: Collectives | None
    host: HostOverhead
    layers: int
    is_eager: bool
    capture_sizes: tuple[int, ...]
    batches_in_flight: int
    spread: float
    not_modeled: tuple[str, ...]
    activation_token_s: float = 0.0  # of a layer's small kernels
    frontend_s: float = 0.0  # of a request before its first token, outside the engine
    tokenizer_token_s: float = 0.0  # the same, of each token of its prompt, cached or not
    kernel_scale: float = 1.0  # of all kernels, as calibrated
    streamed_s: float = 0.0  # weights that a step reads from host memory
    speculation: Speculation | None = None
    token_unit: float = 1.0  # tokens that one token of a caller stands for
    scale: float = 1.0
    _by_tokens: dict[float | tuple[float, float], tuple[float, float, float]] = field(
        default_factory=dict, repr=False, compare=False
    )
    _by_samples: dict[float, tuple[float, float]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def outside_seconds(self, prompt_tokens: float) -> float:
        """Seconds of a request outside the engine, before its first token: HTTP and the tokenizer."""
        return self.frontend_s + prompt_tokens * self.tokenizer_token_s

    def scaled(self, scale: float) -> StepModel:
        """The same engine with every step `scale` times as long."""
        return replace(self, scale=scale)

    def ends(self) -> tuple[StepModel, StepModel]:
        """The slow and the fast end of the uncertainty: of step times, and of what drafts yield."""
        slow, fast = self.scaled(1 + self.spread), self.scaled(1 - self.spread)
        return slow.drafting_end("slow"), fast.drafting_end("fast")

    def drafting_end(self, end: Literal["slow", "fast"]) -> StepModel:
        """The engine with the least, or the most, that drafts are known to gain; the rest as it is."""
        spec = self.speculation
        return self if spec is None else replace(self, speculation=spec.at(end))

    def accepting(self, tokens: float | None) -> StepModel:
        """The engine under traffic of which a step yields so many tokens; None: nobody states it."""
        if tokens is None or self.speculation is None:
            return self
        return replace(self, speculation=self.speculation.accepting(tokens))

    @property
    def queries(self) -> float:
        """Tokens that a step runs of a decoding sequence: one, and its drafts."""
        return 1 + self.speculation.proposed if self.speculation else 1.0

    @property
    def acceptance(self) -> float:
        """Tokens that a step yields of a decoding sequence, on average."""
        return self.speculation.acceptance.best if self.speculation else 1.0

    def step_seconds(
        self,
        decode_seqs: float,
        decode_context_tokens: float,
        prefill_chunks: Chunks = (),
        copies: float = 1.0,
    ) -> float:
        """Seconds of a step: see `times`."""
        memory, compute, communication, host = self.times(
            decode_seqs, decode_context_tokens, prefill_chunks, copies
        )
        return memory + compute + communication + host

    def step_parts(
        self,
        decode_seqs: float,
        decode_context_tokens: float,
        prefill_chunks: Chunks = (),
        copies: float = 1.0,
    ) -> StepParts:
        """The same as `times`, with names."""
        return StepParts(*self.times(decode_seqs, decode_context_tokens, prefill_chunks, copies))

    def times(
        self,
        decode_seqs: float,
        decode_context_tokens: float,
        prefill_chunks: Chunks = (),
        copies: float = 1.0,
    ) -> Times:
        """Seconds of a step that decodes each of `decode_seqs` sequences, whose contexts sum to
        `decode_context_tokens`, and computes `prefill_chunks` (tokens, depth), each `copies` times.

        A sequence is decoded by one token, and by its drafts.  Every sequence of the step is sampled,
        a partial prompt included (vLLM V1, v1/worker/gpu_model_runner.py, logits_indices).  An empty
        step takes no time.
        """
        # Thousands of calls a diagnosis: a division, a list or a call that changes nothing is left out.
        spec, host, unit, queries = self.speculation, self.host, self.token_unit, 1.0
        given = prefill_chunks
        if unit != 1.0:
            decode_context_tokens *= unit
            given = [(tokens * unit, depth * unit) for tokens, depth in given]
        seqs, context, chunks = decode_seqs, decode_context_tokens, given
        if self.batches_in_flight != 1:
            share = 1.0 / self.batches_in_flight
            seqs, context = seqs * share, context * share
            chunks = [(tokens * share, depth) for tokens, depth in given]
        if spec is not None:
            queries += spec.proposed
        tokens, samples, prompts = seqs * queries, seqs * queries, copies * len(chunks)
        if chunks:
            prefilled = 0.0
            for chunk in chunks:
                prefilled += chunk[0]
            tokens += copies * prefilled
            samples += prompts
        if tokens <= 0:
            return 0.0, 0.0, 0.0, 0.0
        rows = tokens if chunks else self._padded(tokens)
        if spec is None:
            layers = self._by_tokens.get(rows) or self._layers(rows)
        else:
            # Drafts route like the token they follow: fewer experts than as many other tokens.
            alike = seqs * spec.alike * rows / tokens
            layers = self._by_tokens.get((rows, alike)) or self._layers(rows, alike)
        memory, compute, communication = layers
        output_s, reading_s = self._by_samples.get(samples) or self._samples(samples)
        layer_s, small_s = host.layer_s, tokens * self.activation_token_s
        memory += self.streamed_s + self.layers * (small_s if small_s > layer_s else layer_s)
        memory += reading_s
        compute += output_s - reading_s
        for cost in self.attention:
            decode_s, prefill_s = cost.seconds(seqs, context, queries, chunks, copies)
            memory += decode_s
            compute += prefill_s
        host_s = host.step_s + (seqs + prompts) * host.sequence_s
        # The host launches each kernel: without CUDA graphs, or beyond the largest one.
        if self.is_eager or (self.capture_sizes and tokens > self.capture_sizes[-1]):
            launches = self.layers * host.launch_layer_s - memory - compute - communication
            if launches > 0:
                host_s += launches
        scale = self.kernel_scale
        if scale != 1.0:
            memory, compute, communication = memory * scale, compute * scale, communication * scale
        if spec is not None:
            host_s += spec.step_s.best
            passes = drafted(spec, decode_seqs, decode_context_tokens, given, copies)
            memory, compute, communication, host_s = (
                own + more
                for own, more in zip((memory, compute, communication, host_s), passes, strict=True)
            )
        scale = self.scale
        if scale != 1.0:
            return memory * scale, compute * scale, communication * scale, host_s * scale
        return memory, compute, communication, host_s

    def bandwidth_floor_s(self, context_tokens: float) -> float:
        """Seconds to read the weights of one decode step and `context_tokens` of KV cache once, at
        the full memory bandwidth, by what it yields: no token of a single stream can come faster.
        """
        read_s = self.streamed_s + fsum(gemm.floor_s for gemm in (*self.gemms, self.output))
        if self.experts is not None:
            read_s += kernels.expert_weight_seconds(self.experts, 1.0)
        read_s += fsum(
            min(context_tokens, cost.window or context_tokens) * cost.kv_token_s
            for cost in self.attention
        )
        spec = self.speculation
        if spec is not None and spec.draft is not None:
            read_s += spec.drafts * spec.draft.bandwidth_floor_s(context_tokens)
        return read_s / self.acceptance

    def _padded(self, tokens: float) -> float:
        """A decode batch runs as the next larger captured CUDA graph, where there is one."""
        at = bisect_left(self.capture_sizes, tokens)
        return self.capture_sizes[at] if at < len(self.capture_sizes) else tokens

    def _samples(self, samples: float) -> tuple[float, float]:
        """Seconds of the output projection, and of its memory traffic where that binds, remembered."""
        known = self._by_samples[samples] = kernels.gemm_seconds((self.output,), samples)
        return known

    def _layers(self, tokens: float, alike: float = 0.0) -> tuple[float, float, float]:
        """(memory, compute, communication) seconds of all that depends on tokens alone, remembered;
        `alike` of them touch no expert that another one does not.
        """
        seconds, memory = kernels.gemm_seconds(self.gemms, tokens)
        if self.experts is not None:
            mixture = kernels.mixture(self.experts, tokens, tokens - alike)
            seconds += mixture.seconds
            memory += mixture.seconds if mixture.is_memory_bound else 0.0
        communication = kernels.all_reduce(self.collectives, tokens) if self.collectives else 0.0
        key = tokens if self.speculation is None else (tokens, alike)
        known = self._by_tokens[key] = memory, seconds - memory, communication
        return known
