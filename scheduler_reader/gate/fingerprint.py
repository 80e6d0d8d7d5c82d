"""What makes two findings of different runs the same one."""

from __future__ import annotations

from typing import NamedTuple

from scheduler_reader.privacy import mask, secrets
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.rule_engine.finding import Finding


class Identity(NamedTuple):
    """A finding without its line and its words, which change while the finding stays."""

    path: str
    engine: str
    code: str
    argument: str

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that are the same in every run."""
        import hashlib

        return hashlib.sha256("\0".join(self).encode()).hexdigest()[:32]


def identity(engine: ResolvedEngine, finding: Finding) -> Identity:
    """The identity of an engine's finding, with the path as it was given.

    An argument may be a stray word of the file, so what looks like a secret is masked.
    """
    origin = finding.origin if finding.origin and finding.origin.path else engine.parsed.origin
    path = origin.path or f"<{origin}>"
    name = engine.parsed.name or ""
    return Identity(path, name, finding.code, mask(finding.argument, secrets(engine)))
