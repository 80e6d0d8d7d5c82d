from .cache import CacheConfig
from .engine import *
