"""One state machine that drives oracle and candidate through the same history.

Every rule is one call, drawn as an intent; after each one results, errors, counts, snapshot and
digest are compared by the lock-step. On top of that the machine keeps what spans several calls:
conservation, dry runs that foretell, chunks that continue a chain. It has no knowledge of its own
of how pages are chosen.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ownerlanes.conformance import strategies
from ownerlanes.conformance.difference import Difference, ints
from ownerlanes.conformance.director import Director
from ownerlanes.conformance.intents import (
    ClearIntent,
    ExtendIntent,
    Length,
    PagesIntent,
    ReleaseIntent,
    RequestIntent,
)
from ownerlanes.conformance.session import direct
from ownerlanes.reference.contract import CapacityWaitError, LaneLayout


class HistoryMachine(RuleBasedStateMachine):
    """Histories of any calls on the session's candidate."""

    director: Director

    @initialize(layout=strategies.layouts(), evictor=st.booleans())
    def start(self, layout: LaneLayout, evictor: bool) -> None:
        """A new allocator, with or without an evictor."""
        self.director = direct(layout, evictor=evictor)

    @rule(call=strategies.extends())
    def extend(self, call: ExtendIntent) -> None:
        """Allocate or plan a batch of any kind."""
        self.director.play(call)

    @rule(requests=strategies.batches(faults=False))
    def extend_what_was_planned(self, requests: tuple[RequestIntent, ...]) -> None:
        """A dry run, and then the batch itself: the one foretells the other."""
        planned = self.director.play(ExtendIntent(requests, only_plan=True))
        outcome = self.director.play(ExtendIntent(requests))
        if planned is None or outcome is None or planned.error is not None:
            return
        if outcome.error is None:
            foretold, given = planned.result.phases, outcome.result.phases
        else:
            assert isinstance(outcome.error, CapacityWaitError)
            foretold, given = planned.result.deficit, outcome.error.deficit
        if foretold != given:
            raise Difference(
                clause="RFC-0001:C-REQUEST-LOCAL-PLANNING/4",
                field="what plan_extend foretold",
                expected=given,
                actual=foretold,
            )

    @rule(which=st.integers(0, 5), chunks=st.lists(st.integers(1, 20), min_size=1, max_size=4))
    def extend_by_chunks(self, which: int, chunks: list[int]) -> None:
        """The next chunks of a chain: partial pages filled up, its split and phase kept."""
        request = RequestIntent(source="chunk", which=which)
        for tokens in chunks:
            self.director.play(ExtendIntent((replace(request, length=Length("token", tokens)),)))

    @rule(call=strategies.page_calls())
    def alloc_pages(self, call: PagesIntent) -> None:
        """Pages without tokens."""
        self.director.play(call)

    @rule(release=strategies.releases())
    def release(self, release: ReleaseIntent) -> None:
        """Release an allocation or a part of it, or what must not be released."""
        self.director.play(release)

    @rule(release=strategies.releases(faults=False))
    def release_twice(self, release: ReleaseIntent) -> None:
        """The same release once more is refused, unless it names nothing."""
        step = self.director.release(release)
        self.director.step(step)
        if self.director.claims.release_checks:
            self.director.step(step)

    @rule()
    def clear(self) -> None:
        """Everything free again."""
        self.director.play(ClearIntent())

    @invariant()
    def free_and_allocated_add_up(self) -> None:
        """Counted from what is live here, not from what the oracle says."""
        if not hasattr(self, "director"):
            return
        layout = self.director.layout
        live = {page for live in self.director.live for page in live.pages(layout)}
        lanes: list[int] = [layout.lane_of_page(page) for page in live]
        held = [lanes.count(lane) for lane in range(layout.num_lanes)]
        free = ints(self.director.lockstep.player.allocator.available_pages())
        for lane, (pages, available) in enumerate(zip(held, free, strict=True)):
            if pages + available != layout.capacity:
                raise Difference(
                    clause="RFC-0001:C-CONSERVATION/1",
                    field=f"free + allocated on lane {lane}",
                    expected=layout.capacity,
                    actual=f"{available} + {pages}",
                )
