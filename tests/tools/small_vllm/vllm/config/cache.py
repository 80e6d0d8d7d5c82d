from typing import TYPE_CHECKING, ClassVar, Literal

from absent_package import Field
from vllm.config.decorator import config

if TYPE_CHECKING:
    Hash = int
else:
    Hash = Literal["sha256", "xxhash"]

Width = Literal["auto", "fp8"]


@config
class CacheConfig:
    LOWEST: ClassVar[int] = 2 * 4

    block_size: int = Field(default=LOWEST, gt=0)
    """Tokens in a block."""
    width: Width | str = "auto"
    hash: Hash = "sha256"
    reserve: float | None = None
    """Deprecated: will be removed in v9.3.0."""
    share: bool = False
    layers: list[str] = Field(default_factory=list)
