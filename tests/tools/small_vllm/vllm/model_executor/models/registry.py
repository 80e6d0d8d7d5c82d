_TEXT_GENERATION_MODELS = {
    "SmallForCausalLM": ("small", "SmallForCausalLM"),
    "TwofoldForCausalLM": ("small", "SmallForCausalLM"),
}

_EMBEDDING_MODELS = {
    "SmallModel": ("small", "SmallForCausalLM"),
    **{name: place for name, place in _TEXT_GENERATION_MODELS.items() if place[0] == "small"},
    "TwofoldForCausalLM": ("small", "SmallForCausalLM"),
}

_VLLM_MODELS = {**_TEXT_GENERATION_MODELS, **_EMBEDDING_MODELS}

_PREVIOUSLY_SUPPORTED_MODELS = {"OldForCausalLM": "0.9.0"}
