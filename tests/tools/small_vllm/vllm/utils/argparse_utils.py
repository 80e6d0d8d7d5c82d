from argparse import BooleanOptionalAction


def human_readable_int(value: str) -> int:
    return int(value)


class EnableDisableAction(BooleanOptionalAction):
    _inverse_prefixes = {"--enable-": "--disable-"}
