"""Fail when a recorded figure has got worse: `guard.py ACCEPT.PY flags MOST corpus LEAST`.

`flags` may have at most MOST differences, `corpus` must have at least LEAST core files exact and
no extra file wrong.
"""

from __future__ import annotations

import re
import subprocess
import sys

FIGURE = {
    "flags": re.compile(r"^flags: (\d+) differences", re.MULTILINE),
    "corpus": re.compile(r"^corpus: (\d+) of \d+ core files exact; (\d+) of", re.MULTILINE),
}


def measure(script: str, check: str) -> tuple[str, list[int]]:
    """Run one check and return what it printed and the numbers of its figure line."""
    process = subprocess.run([sys.executable, script, check], check=False, capture_output=True, text=True)
    match = FIGURE[check].search(process.stdout)
    if match is None:
        sys.exit(f"{check}: no figure printed\n{process.stdout}{process.stderr}")
    return process.stdout, [int(number) for number in match.groups()]


def main() -> None:
    script, *limits = sys.argv[1:]
    worse = False
    for check, limit in zip(limits[::2], limits[1::2], strict=True):
        printed, numbers = measure(script, check)
        print(printed.rstrip())
        if check == "flags":
            worse |= numbers[0] > int(limit)
        else:
            worse |= numbers[0] < int(limit) or numbers[1] > 0
    sys.exit("a recorded figure has got worse" if worse else 0)


if __name__ == "__main__":
    main()
