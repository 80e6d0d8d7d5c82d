"""Shell completion as typer installs it, but for zsh, which completes at the first Tab too."""

from __future__ import annotations

from collections.abc import Iterable

OPTIONS = ("--install-completion", "--show-completion")
# zsh runs the installed file as the function `_sched-reader` when it is first needed.
CALLED = """
if [[ $funcstack[1] == _%(prog_name)s ]]; then
  %(complete_func)s "$@"
fi
"""


def prepare(arguments: Iterable[str]) -> None:
    """Where a script is asked for: have that of zsh complete, not only register itself, when loaded.

    typer has no setting for it, so its own text is lengthened; a typer that keeps its scripts
    elsewhere installs its own, which completes from the second Tab on.
    """
    if not any(word.startswith(OPTIONS) for word in arguments):
        return
    from typer import _completion_shared

    scripts = getattr(_completion_shared, "_completion_scripts", {})
    if "zsh" in scripts and CALLED not in scripts["zsh"]:
        scripts["zsh"] = f"{scripts['zsh'].rstrip()}\n{CALLED}"
