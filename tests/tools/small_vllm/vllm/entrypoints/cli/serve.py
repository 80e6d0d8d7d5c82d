from vllm.entrypoints.openai.cli_args import make_arg_parser


class ServeSubcommand:
    name = "serve"

    def subparser_init(self, subparsers):
        parser = subparsers.add_parser(self.name, help="")
        parser.add_argument("model_tag", nargs="?")
        return make_arg_parser(parser)
