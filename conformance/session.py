"""The candidate that this process checks: set once, before any test runs.

Tests and the state machine ask here, so that they are plain Hypothesis tests without fixtures and
other runners of such tests can drive them too. Nothing here loads or judges a candidate.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ownerlanes.conformance.director import Director, fit_layout
from ownerlanes.conformance.intents import Intent, RequestIntent
from ownerlanes.conformance.lockstep import Lockstep
from ownerlanes.conformance.operations import History, Step
from ownerlanes.conformance.protocol import Candidate, CouldNotRunError
from ownerlanes.reference.contract import LaneLayout

_current: Candidate | None = None
_last: Lockstep | None = None


def use(candidate: Candidate | None) -> None:
    """Check this candidate from now on; None for none."""
    global _current
    _current = candidate


def current() -> Candidate | None:
    """The candidate under check, or None."""
    return _current


def candidate() -> Candidate:
    """The candidate under check.

    Raises:
        CouldNotRunError: none was set.
    """
    if _current is None:
        raise CouldNotRunError("no candidate: run with -p ownerlanes.conformance.plugin")
    return _current


def lockstep(layout: LaneLayout, *, evictor: bool = False) -> Lockstep:
    """A new history on oracle and candidate, in a layout that the candidate claims."""
    global _last
    _last = None
    claims = candidate().capabilities
    _last = Lockstep(candidate(), fit_layout(layout, claims), evictor=evictor and claims.eviction)
    return _last


def last_history() -> History | None:
    """What was played on the newest pair, for a failure that came from no step of its own."""
    return None if _last is None else _last.history


def direct(
    layout: LaneLayout, intents: Iterable[Intent] = (), *, evictor: bool = False
) -> Director:
    """A new history, directed by intents."""
    director = Director(lockstep(layout, evictor=evictor))
    for intent in intents:
        director.play(intent)
    return director


def batch(
    layout: LaneLayout, intents: Iterable[RequestIntent], *, evictor: bool = False
) -> tuple[Lockstep, tuple[Any, ...]]:
    """A new history, and the requests that are meant on it."""
    director = direct(layout, evictor=evictor)
    return director.lockstep, tuple(director.batch(tuple(intents))[0])


def play(layout: LaneLayout, *steps: Step, evictor: bool = False) -> Lockstep:
    """A new history of steps that were written by hand."""
    played = lockstep(layout, evictor=evictor)
    played.run(steps)
    return played
