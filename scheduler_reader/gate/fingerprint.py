"""What makes two findings of different runs the same one."""

from __future__ import annotations

from collections.abc import Callable

from scheduler_reader.privacy import mask, secrets
from scheduler_reader.record import Record
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.rule_engine.finding import Finding


class Identity(Record):
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


def identities(engine: ResolvedEngine) -> Callable[[Finding], Identity]:
    """What gives each finding of an engine its identity, with the path as it was given.

    An argument may be a stray word of the file, so what looks like a secret is masked.
    """
    hidden = secrets(engine)  # once: it reads every word, and each word may be a finding
    name = engine.parsed.name or ""

    def identity(finding: Finding) -> Identity:
        origin = finding.origin if finding.origin and finding.origin.path else engine.parsed.origin
        path = origin.path or f"<{origin}>"
        return Identity(path, name, finding.code, mask(finding.argument, hidden))

    return identity
