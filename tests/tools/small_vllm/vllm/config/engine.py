import enum
import os
from dataclasses import dataclass, field
from typing import Any, Literal

import absent.environment as envs
from absent.platforms import platform

from .cache import CacheConfig
from .decorator import config

__all__ = ["EngineConfig", "Level"]


class Level(enum.IntEnum):
    LOW = 0
    HIGH = 2


def first_path():
    return os.environ.get("A_PATH", "/models")


@config
class Base:
    budget: int | None = None
    level: Level = Level.HIGH


@config
class EngineConfig(Base):
    mode: Literal["b", "a"] | None = None
    cache: CacheConfig = field(default_factory=CacheConfig)
    extra: dict[str, Any] = field(default_factory=dict)
    mixed: dict | str = field(default_factory=lambda: {"k": [1]})
    path: str = field(default_factory=first_path)
    verbose: bool = envs.VERBOSE
    start: str = "fast" if platform.is_cuda() else "safe"
