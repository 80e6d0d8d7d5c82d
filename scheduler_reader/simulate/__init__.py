"""vLLM's V1 scheduler, decision for decision: which tokens each step runs, and which blocks they take."""

from __future__ import annotations
