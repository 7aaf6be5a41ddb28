"""Oracle and candidate through the same steps: after each one, outcome and state must agree.

A step that fails must leave the state bit for bit as the oracle's is. Candidates that choose their
own pages, or that tell failures in their own way, are held to what they claim. The first
difference ends the history; it carries the history, so that a failure can be played again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ownerlanes.conformance.compare import (
    Difference,
    State,
    compare_allocation,
    compare_pages,
    compare_plan,
    compare_state,
)
from ownerlanes.conformance.evictors import ScriptedEvictor
from ownerlanes.conformance.judge import compare_evictions, compare_failure, refusal
from ownerlanes.conformance.operations import (
    AllocExtend,
    AllocPages,
    Clear,
    Free,
    FreePages,
    History,
    PlanExtend,
    Step,
)
from ownerlanes.conformance.player import Outcome, Player
from ownerlanes.conformance.promises import compare_promises
from ownerlanes.conformance.protocol import Candidate
from ownerlanes.conformance.renaming import Renaming
from ownerlanes.reference.allocator import ReferenceAllocator
from ownerlanes.reference.contract import ExtendAllocation, LaneLayout, PoolSnapshot
from ownerlanes.reference.pool import digest, free_counts

STATE_AFTER: dict[type[Step], tuple[str, str]] = {
    AllocExtend: ("RFC-0001:C-CONSERVATION/1", "RFC-0001:C-ATOMIC-BATCH/1"),
    AllocPages: ("RFC-0001:C-CONSERVATION/1", "RFC-0001:C-ATOMIC-BATCH/1"),
    PlanExtend: ("RFC-0001:C-REQUEST-LOCAL-PLANNING/8", "RFC-0001:C-REQUEST-LOCAL-PLANNING/8"),
    Free: ("RFC-0001:C-RELEASE/1", "RFC-0001:C-RELEASE/4"),
    FreePages: ("RFC-0001:C-RELEASE/2", "RFC-0001:C-RELEASE/4"),
    Clear: ("RFC-0001:C-CONSERVATION/5", "RFC-0001:C-CONSERVATION/5"),
}
"""What a candidate breaks whose state is wrong after a step that succeeded, or that failed."""


class Lockstep:
    """One history, played on a new oracle and a new candidate.

    Args:
        candidate: whom to check.
        layout: of both.
        evictor: whether both get a scripted evictor.

    Raises:
        Difference: the candidate does not construct, or does not start with every page free.
    """

    def __init__(self, candidate: Candidate, layout: LaneLayout, *, evictor: bool = False) -> None:
        self.candidate = candidate
        self.layout = layout
        self.steps: list[Step] = []
        self._evictor = evictor
        self._names = None if candidate.capabilities.exact_pages else Renaming(layout)
        candidate.examples += 1
        mine, theirs = (ScriptedEvictor(layout) if evictor else None for _ in range(2))
        self.oracle = Player(ReferenceAllocator(layout, mine), mine)
        try:
            allocator = candidate.make(layout, theirs)
        except Exception as fault:
            raise self._located(
                Difference(
                    clause="RFC-0001:C-OWNER-LANE-LAYOUT/8",
                    field=f"make({layout})",
                    expected="an allocator with every page free",
                    actual=fault,
                )
            ) from fault
        self.player = Player(allocator, theirs)
        try:
            self._compare_state("RFC-0001:C-CONSERVATION/4")
        except Difference as difference:
            raise self._located(difference) from difference.__cause__

    @property
    def history(self) -> History:
        """What was played so far, the failing step included."""
        return History(self.layout, self._evictor, tuple(self.steps))

    @property
    def pool(self) -> PoolSnapshot:
        """The oracle's state."""
        pool: PoolSnapshot = self.oracle.allocator.snapshot()
        return pool

    def step(self, step: Step) -> Outcome:
        """Play one step on both.

        Returns:
            The oracle's outcome, in the oracle's page ids.

        Raises:
            Difference: with `history` set; its last step is the one at fault.
        """
        return self.step_both(step)[0]

    def step_both(self, step: Step) -> tuple[Outcome, Outcome]:
        """As `step`; the candidate's own outcome too, for properties stated on it alone."""
        before = self.pool
        theirs = step if self._names is None else self._names.step(step, before)
        self.steps.append(step)
        expected = self.oracle.play(step)
        actual = self.player.play(theirs)
        try:
            self._compare(step, expected, actual, before)
            succeeded, failed = STATE_AFTER[type(step)]
            self._compare_state(succeeded if expected.error is None else failed)
        except Difference as difference:
            raise self._located(difference) from (difference.__cause__ or actual.error)
        return expected, actual

    def run(self, steps: Iterable[Step]) -> None:
        """Play many steps."""
        for step in steps:
            self.step(step)

    def _located(self, difference: Difference) -> Difference:
        difference.history = self.history
        return difference

    def _compare(
        self, step: Step, expected: Outcome, actual: Outcome, before: PoolSnapshot
    ) -> None:
        compare_evictions(expected, actual)
        bound: list[tuple[int, int]] = []
        if expected.error is not None:
            compare_failure(
                step,
                expected,
                actual,
                typed=self.candidate.capabilities.typed_errors,
                own_pages=lambda pages: self._own_pages(pages, before),
            )
        elif actual.error is not None or (actual.result is None and expected.result is not None):
            raise refusal(step, expected, actual)
        elif isinstance(step, PlanExtend):
            compare_plan(expected.result, actual.result)
        elif isinstance(step, AllocExtend):
            bound = self._compare_extend(expected.result, actual.result, before)
        elif isinstance(step, AllocPages):
            bound = self._compare_pages(step, expected, actual)
        if self._names is not None:
            self._names.settle(self.pool, bound)

    def _own_pages(self, pages: Sequence[int], before: PoolSnapshot) -> Sequence[int]:
        return pages if self._names is None else self._names.pages(pages, before)

    def _compare_extend(
        self, expected: ExtendAllocation, actual: Any, before: PoolSnapshot
    ) -> list[tuple[int, int]]:
        evicts = self.candidate.capabilities.eviction
        if self._names is None:
            compare_allocation(expected, actual, self.layout, evicts=evicts)
            return []
        return compare_promises(expected, actual, self._names, before, evicts=evicts)

    def _compare_pages(
        self, step: AllocPages, expected: Outcome, actual: Outcome
    ) -> list[tuple[int, int]]:
        if self._names is None:
            compare_pages(expected.result, actual.result, self.layout)
            return []
        evicted: tuple[int, ...] = ()
        if expected.evictions and step.evictor is not None:
            evicted = step.evictor.gives
        return self._names.adopt_pages(expected.result, actual.result, evicted, "pages")

    def _compare_state(self, clause: str) -> None:
        claims = self.candidate.capabilities
        pool = self.pool if self._names is None else self._names.pool()
        expected = State(free_counts(pool), pool, digest(pool))
        try:
            actual = State.of(self.player.allocator, snapshot=claims.snapshot, digest=claims.digest)
        except Exception as fault:
            raise Difference(
                clause=clause,
                field="available_pages(), snapshot(), digest()",
                expected="no error",
                actual=fault,
            ) from fault
        compare_state(expected, actual, clause=clause)
