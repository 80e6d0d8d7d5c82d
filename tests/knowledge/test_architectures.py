"""Which releases register an architecture."""

from __future__ import annotations

from scheduler_reader.knowledge.architectures import Support, is_pooling, knows_architecture
from scheduler_reader.knowledge.versions import find_release


def test_llama_is_always_registered() -> None:
    support = knows_architecture(find_release("0.11.0"), "LlamaForCausalLM")
    assert support.is_registered
    assert support.kind == "text_generation"


def test_an_architecture_that_came_later_says_when() -> None:
    support = knows_architecture(find_release("0.10.0"), "Qwen3NextForCausalLM")
    assert not support.is_registered
    assert support.since is not None
    assert find_release(support.since).position > find_release("0.10.0").position
    assert knows_architecture(find_release(support.since), "Qwen3NextForCausalLM").is_registered


def test_an_architecture_that_is_gone_says_until_when() -> None:
    support = knows_architecture(find_release("0.18.0"), "BartForConditionalGeneration")
    assert not support.is_registered
    assert support.until == "0.10.2"


def test_an_architecture_of_no_release() -> None:
    support = knows_architecture(find_release("0.18.0"), "ImaginaryForCausalLM")
    assert support == Support(is_registered=False)


def test_pooling_is_told_from_generation() -> None:
    assert is_pooling("BertModel")
    assert is_pooling("Qwen2ForRewardModel")
    assert not is_pooling("Qwen2ForCausalLM")  # also registered for embedding
    assert not is_pooling("ImaginaryForCausalLM")
