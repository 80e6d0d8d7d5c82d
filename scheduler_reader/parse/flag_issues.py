"""Why a release refuses an option it does not have, and what it says of one on its way out."""

from __future__ import annotations

from scheduler_reader.knowledge.flags import (
    Flag,
    FlagTable,
    Match,
    any_release_table,
    did_you_mean,
    last_release_with,
    next_release_with,
    replacement,
)
from scheduler_reader.knowledge.parser_behaviour import behaviour_since
from scheduler_reader.parse.option_words import Argument
from scheduler_reader.parse.reading import FlagIssue


def refusal(argument: Argument, table: FlagTable, release: str) -> FlagIssue:
    """The issue for an option that the release does not have, or that is short for several."""
    written, origin = argument.written, argument.word.origin
    candidates = argument.found
    if candidates and not isinstance(candidates, Match):
        message = f"vLLM {release}: {written} could mean {', '.join(sorted(candidates))}"
        return FlagIssue(
            "ambiguous", written, _with_history(message, argument, release), origin, True
        )
    base, dot, _ = argument.option.partition(".")
    if dot and base in table.names:
        first = behaviour_since("dotted_keys")
        message = f"vLLM {release} takes no dotted keys ({first} does): give {base} as JSON"
        return FlagIssue("not_yet", written, message, origin, True, since=first, suggestion=base)
    until = last_release_with(argument.option, release)
    if until is not None:
        return _removed(argument, release, until)
    since = next_release_with(argument.option, release)
    if since is not None:
        message = f"vLLM {release} does not know {written} yet; it comes with {since}"
        return FlagIssue("not_yet", written, message, origin, True, since=since)
    meant = did_you_mean(argument.option, table) or did_you_mean(
        argument.option, any_release_table()
    )
    message = f"no vLLM release knows {written}" + (f"; did you mean {meant}?" if meant else "")
    return FlagIssue("unknown", written, message, origin, True, suggestion=meant)


def deprecation(argument: Argument, flag: Flag, release: str) -> list[FlagIssue]:
    """The note that a release prints (or only documents) for an option that will go."""
    if flag.deprecated is None:
        return []
    says = "warns that" if flag.deprecated["by"] == "parser" else "documents that"
    message = f"vLLM {release} {says} {flag.name} is deprecated"
    if flag.deprecated["removal"]:
        message += f", to be removed in {flag.deprecated['removal']}"
    successor = replacement(flag.name)
    suggestion = successor.use if successor else None
    return [
        FlagIssue(
            "deprecated",
            argument.written,
            message,
            argument.word.origin,
            fatal=False,
            suggestion=suggestion,
        )
    ]


def _removed(argument: Argument, release: str, until: str) -> FlagIssue:
    successor = replacement(argument.option)
    message = f"vLLM {release} no longer has {argument.written}; the last to have it was {until}"
    if successor is not None and successor.use:
        message += f"; use {successor.use}"
    if successor is not None and successor.note:
        message += f" ({successor.note})"
    return FlagIssue(
        "removed",
        argument.written,
        message,
        argument.word.origin,
        fatal=True,
        since=next_release_with(argument.option, release),
        until=until,
        suggestion=successor.use if successor else None,
    )


def _with_history(message: str, argument: Argument, release: str) -> str:
    """A name that was an option of its own is worth saying: `--device` of 0.9.2."""
    until = last_release_with(argument.option, release)
    return f"{message}; as an option of its own it ended with {until}" if until else message
