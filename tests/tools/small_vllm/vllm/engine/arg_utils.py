import argparse
import json
import sys
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Literal, get_args, get_origin

from absent.pydantic import TypeAdapter
from absent.platforms import platform
from vllm.config import CacheConfig, EngineConfig
from vllm.utils.argparse_utils import human_readable_int

WARNING = "--old is deprecated. It will be removed in v9.2."


def optional_type(convert):
    def _optional_type(text: str):
        return None if text == "None" else convert(text)

    return _optional_type


def union_dict_and_str(text: str):
    return json.loads(text) if text.startswith("{") else text


class OldAction(argparse.Action):
    pass


def members(hint):
    return list(get_args(hint)) if get_origin(hint) not in {None, Literal, list, dict} else [hint]


def get_kwargs(cls):
    made = {}
    for field in fields(cls):
        hints = members(field.type)
        nested = next((hint for hint in hints if is_dataclass(hint)), None)
        if field.default is not MISSING:
            default = field.default
        elif field.default_factory is not MISSING:
            default = field.default_factory()
        made[field.name] = keywords = {"default": default, "help": cls.__doc__ or ""}
        literal = next((hint for hint in hints if get_origin(hint) is Literal), None)
        if nested is not None:

            def parse(text: str, cls=nested):
                return TypeAdapter(cls).validate_json(text)

            keywords["type"] = parse
        elif bool in hints:
            keywords["action"] = argparse.BooleanOptionalAction
        elif literal is not None:
            shown = "metavar" if str in hints else "choices"
            keywords.update({"type": str, shown: sorted(get_args(literal))})
        elif any(get_origin(hint) is list for hint in hints):
            keywords["type"] = get_args(hints[0])[0]
            keywords["nargs"] = "+"
        elif int in hints:
            keywords["type"] = human_readable_int if field.name in {"budget"} else int
        elif float in hints:
            keywords["type"] = float
        elif str in hints and dict in hints:
            keywords["type"] = union_dict_and_str
        elif any(get_origin(hint) is dict for hint in hints):
            keywords["type"] = json.loads
        else:
            keywords["type"] = str
        if type(None) in hints and bool not in hints:
            keywords["type"] = optional_type(keywords["type"])
            if keywords.get("choices"):
                keywords["choices"].append(None)
    return made


@dataclass
class EngineArgs:
    old: int | None = None
    log_path: str | None = None

    @staticmethod
    def add_cli_args(parser):
        engine = get_kwargs(EngineConfig)
        group = parser.add_argument_group(title="Engine")
        if not ("serve" in sys.argv[1:]):
            group.add_argument("--budget", "-b", **engine["budget"])
        group.add_argument("--level", **engine["level"])
        engine["mode"]["choices"].remove("a")
        group.add_argument("--mode", **{**engine["mode"], "default": "b"})
        for name in ("cache", "extra", "mixed", "path", "start"):
            group.add_argument(f"--{name}", **engine[name])
        group.add_argument("--enable-verbose", "-v", **engine["verbose"])
        cache = get_kwargs(CacheConfig)
        for name, keywords in cache.items():
            parser.add_argument(f"--{name.replace('_', '-')}", **keywords)
        parser.add_argument(
            "--device",
            choices=["auto"] + ([platform.name] if platform.name != "cpu" else []),
            default="auto",
        )
        parser.add_argument("--old", type=int, action=OldAction, help=WARNING)
        parser.add_argument("--log-path", default=argparse.SUPPRESS)
        parser.add_argument("--ids", type=lambda text: text.split(","), default=None)
        parser.add_argument("--quiet", action="store_true")
        return parser


class AsyncEngineArgs(EngineArgs):
    pass
