"""A vector in the oracle's place: it answers each step with what was written down.

With it the lock-step comparison holds a candidate to the file and not to the oracle at hand. It
checks that the file agrees with itself and never runs an allocator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ownerlanes.conformance.evictors import ScriptedFailureError
from ownerlanes.conformance.operations import History, Step, history_from_json
from ownerlanes.conformance.player import Outcome, Player
from ownerlanes.conformance.protocol import CouldNotRunError
from ownerlanes.conformance.vectors.codec import calls_from_json, error_from_json, expected_result
from ownerlanes.conformance.vectors.record import Vector
from ownerlanes.reference.contract import LaneLayout, OwnerLaneError, PoolSnapshot
from ownerlanes.reference.pool import all_free, digest, free_counts


@dataclass(frozen=True)
class Recorded:
    """One step of a vector: the call, its outcome, and the state that it leaves.

    Attributes:
        step: the call.
        needs: capabilities without which it is not put to a candidate.
        outcome: what the oracle answered.
        pool: the state after it.
        changes: whether that is another state than before it.
    """

    step: Step
    needs: tuple[str, ...]
    outcome: Outcome
    pool: PoolSnapshot
    changes: bool


@dataclass(frozen=True)
class RecordedHistory:
    """A vector, read and found to agree with itself."""

    name: str
    about: str
    clauses: tuple[str, ...]
    history: History
    steps: tuple[Recorded, ...]

    @property
    def layout(self) -> LaneLayout:
        """The layout."""
        return self.history.layout


class _State:
    """All that the lock-step comparison asks of the oracle's allocator."""

    def __init__(self, layout: LaneLayout) -> None:
        self.pool = all_free(layout)

    def snapshot(self) -> PoolSnapshot:
        return self.pool


class RecordedOracle(Player):
    """Answers with the step that was laid before it last."""

    def __init__(self, layout: LaneLayout) -> None:
        self._state = _State(layout)
        super().__init__(self._state, None)
        self._next: Recorded | None = None

    def lay(self, recorded: Recorded) -> None:
        """The step that is played next."""
        self._next = recorded

    def play(self, step: Step) -> Outcome:
        """The recorded outcome; the recorded state is the state from now on."""
        recorded = self._next
        assert recorded is not None
        assert recorded.step is step
        self._state.pool = recorded.pool
        return recorded.outcome


def read_vector(vector: Vector) -> RecordedHistory:
    """A vector as history and outcomes.

    Raises:
        CouldNotRunError: a field is missing or malformed, or counts or digest are not those of
            the free pages.
    """
    name = vector.get("id")
    try:
        history = history_from_json(vector)
        steps, pool = [], all_free(history.layout)
        for step, written in zip(history.steps, vector["steps"], strict=True):
            recorded = _recorded(step, written, pool)
            pool = recorded.pool
            steps.append(recorded)
        return RecordedHistory(
            str(name), str(vector["about"]), tuple(vector["clauses"]), history, tuple(steps)
        )
    except (KeyError, TypeError, ValueError, AttributeError, OwnerLaneError) as fault:
        raise CouldNotRunError(
            f"vector {name!r}: not one of this format: {type(fault).__name__}: {fault}"
        ) from fault


def _recorded(step: Step, written: Mapping[str, Any], before: PoolSnapshot) -> Recorded:
    expect = written["expect"]
    pool = _moved(before, expect["taken"], expect["released"])
    for name, given in (("available", list(free_counts(pool))), ("digest", digest(pool))):
        if expect[name] != given:
            raise ValueError(f"{name} is {expect[name]}, of the pages taken and released {given}")
    return Recorded(step, tuple(written["needs"]), _outcome(step, expect), pool, pool != before)


def _outcome(step: Step, expect: Mapping[str, Any]) -> Outcome:
    calls = calls_from_json(expect.get("evictor", []))
    error = None
    if "error" in expect:
        error = error_from_json(expect["error"], reported=False)
    return Outcome(
        None if error is not None else expected_result(step, expect["result"]),
        error,
        tuple(call for call in calls if call[0] != "evictable_pages"),
        sum(call[0] == "evictable_pages" for call in calls),
        error if isinstance(error, ScriptedFailureError) else None,
    )


def _moved(pool: PoolSnapshot, taken: list[int], released: list[int]) -> PoolSnapshot:
    """The pool without the pages taken and with those released."""
    layout = pool.layout
    free = [set(pages) for pages in pool.free]
    for page in taken:
        free[layout.lane_of_page(page)].remove(layout.local_page(page))
    for page in released:
        free[layout.lane_of_page(page)].add(layout.local_page(page))
    return PoolSnapshot(layout, tuple(tuple(sorted(pages)) for pages in free))
