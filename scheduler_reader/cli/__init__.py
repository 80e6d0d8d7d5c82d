"""The command line: options in, exit code out.  The only place that prints or exits.

Exit codes: 0 nothing at or above --fail-on, 1 findings at or above it, 2 wrong usage or
settings, 3 an input could not be read, 4 --require-facts and a fact is missing, 70 internal error.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence

INTERNAL_ERROR = 70
INTERRUPTED = 130
OBJECTS_OF_A_DIAGNOSIS = 200_000  # nearly all stay, and the default of 700 searches them 60 times


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of the `sched-reader` console script; ends in SystemExit.

    What follows the first `--` is a vLLM command line, which a parser of ours could not tell from
    file names, so it is cut off first and handed over as the context object.
    """
    gc.set_threshold(OBJECTS_OF_A_DIAGNOSIS)
    atexit.register(gc.freeze)  # the process's end frees all anyway, without a search for cycles
    from scheduler_reader.cli import completion
    from scheduler_reader.cli.app import application
    from scheduler_reader.cli.messages import tell
    from scheduler_reader.errors import SchedReaderError

    own, command = split_command(list(sys.argv[1:] if argv is None else argv))
    completion.prepare(own)
    try:
        application()(args=own, prog_name="sched-reader", obj=command)
    except SchedReaderError as error:
        tell(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        if os.environ.get("SCHED_READER_TRACEBACK"):
            raise
        tell(
            f"internal error: {type(error).__name__}: {error}; "
            "this is a bug, set SCHED_READER_TRACEBACK=1 to see where"
        )
        sys.exit(INTERNAL_ERROR)


def split_command(arguments: list[str]) -> tuple[list[str], list[str] | None]:
    """Our own arguments, and the vLLM command line after `--` (None: there is no `--`)."""
    if "--" not in arguments:
        return arguments, None
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]
