"""Read a vLLM serving configuration before it is deployed.

    import scheduler_reader

    (reading,) = scheduler_reader.diagnose("serve.yaml", vllm_version="0.18.0", gpu="h100")

`scheduler_reader.api` has the types that come with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scheduler_reader.api import check, diagnose, to_json

__version__ = "0.1.0"
__all__ = ["__version__", "check", "diagnose", "to_json"]


def __getattr__(name: str) -> Any:
    """The functions of `api`, loaded when they are asked for: the command line needs none of them."""
    if name in __all__:
        from scheduler_reader import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
