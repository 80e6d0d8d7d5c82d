import json
from dataclasses import field

from vllm.config.decorator import config
from vllm.engine.arg_utils import AsyncEngineArgs, get_kwargs


@config
class BaseFrontendArgs:
    origins: list[str] = field(default_factory=lambda: ["*"])

    @classmethod
    def _customize_cli_kwargs(cls, keywords):
        keywords["origins"]["type"] = json.loads
        del keywords["origins"]["nargs"]
        return keywords


@config
class FrontendArgs(BaseFrontendArgs):
    port: int = 8000
    api_key: list[str] | None = None

    @classmethod
    def _customize_cli_kwargs(cls, keywords):
        keywords = super()._customize_cli_kwargs(keywords)
        if "nargs" in keywords["api_key"]:
            del keywords["api_key"]["nargs"]
        keywords["api_key"]["action"] = "append"
        return keywords

    @classmethod
    def add_cli_args(cls, parser):
        keywords = cls._customize_cli_kwargs(get_kwargs(cls))
        group = parser.add_argument_group(title=cls.__name__.replace("Args", ""))
        for key, value in keywords.items():
            group.add_argument(*value.pop("flags", []), f"--{key.replace('_', '-')}", **value)
        return parser


def make_arg_parser(parser):
    parser = FrontendArgs.add_cli_args(parser)
    return AsyncEngineArgs.add_cli_args(parser)
