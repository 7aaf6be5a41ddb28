"""Turns intents into steps: the one place where generated histories meet the pool.

It follows the oracle's state to know which allocations are live, keeps to what the candidate
claims, and plays each step in lock-step. It never judges, and it never looks at the candidate's
answers: every step is a function of the intents and of the oracle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ownerlanes.conformance.direct_eviction import evictor_script
from ownerlanes.conformance.direct_requests import Live, RequestBuilder, fitting_owners
from ownerlanes.conformance.intents import (
    ClearIntent,
    ExtendIntent,
    Intent,
    PagesIntent,
    ReleaseIntent,
    RequestIntent,
)
from ownerlanes.conformance.lockstep import Lockstep
from ownerlanes.conformance.operations import (
    AllocExtend,
    AllocPages,
    Clear,
    Free,
    FreePages,
    PlanExtend,
    Step,
)
from ownerlanes.conformance.player import Outcome
from ownerlanes.conformance.protocol import Capabilities
from ownerlanes.reference.contract import LaneLayout


def fit_layout(layout: LaneLayout, claims: Capabilities) -> LaneLayout:
    """The same capacity with a placement and reserved pages that the candidate claims."""
    reserved = layout.reserved_pages
    if claims.reserved_pages is not None and reserved not in claims.reserved_pages:
        reserved = min(claims.reserved_pages)
    placement = layout.placement
    if placement not in claims.placements:
        placement = "blocked" if placement == "interleaved" else "interleaved"
    return replace(
        layout,
        placement=placement,
        reserved_pages=reserved,
        pages_per_lane=layout.capacity + reserved,
    )


@dataclass
class Director:
    """Plays intents on one Lockstep.

    Attributes:
        lockstep: what is played on.
        live: allocations of which every page is still allocated, oldest first.
    """

    lockstep: Lockstep
    live: list[Live] = field(default_factory=list)

    @property
    def layout(self) -> LaneLayout:
        """The layout."""
        return self.lockstep.layout

    @property
    def claims(self) -> Capabilities:
        """What the candidate claims."""
        return self.lockstep.candidate.capabilities

    def play(self, intent: Intent) -> Outcome | None:
        """Play what is meant; the oracle's outcome, or None where that is not claimed.

        Raises:
            Difference: as Lockstep.step.
        """
        match intent:
            case ExtendIntent():
                return self._extend(intent)
            case PagesIntent():
                return self._alloc_pages(intent) if self.claims.alloc_pages else None
            case ReleaseIntent():
                return self.step(self.release(intent))
            case ClearIntent():
                return self.step(Clear()) if self.claims.clear else None

    def step(self, step: Step) -> Outcome:
        """Play one step and forget what it released."""
        outcome = self.lockstep.step(step)
        self._drop_released()
        return outcome

    def batch(self, intents: Sequence[RequestIntent]) -> tuple[list[Any], list[Live | None]]:
        """The requests, and the allocation that each continues."""
        builder = RequestBuilder(self.lockstep.pool, self.claims)
        continued: list[Live | None] = []
        requests: list[Any] = []
        for intent in intents:
            source = self._continued(intent, [live for live in continued if live is not None])
            continued.append(source)
            request = builder.build(intent, source)
            requests.append(request)
        return requests, continued

    def _extend(self, intent: ExtendIntent) -> Outcome | None:
        if intent.pressed and self.lockstep.oracle.evictor and self.claims.alloc_pages:
            self.play(PagesIntent(fit=1))
        requests, continued = self.batch(intent.requests)
        step = AllocExtend(tuple(requests))
        step = replace(step, evictor=evictor_script(intent.evictor, step, self.lockstep))
        if intent.only_plan:
            if not self.claims.plan_extend:
                return None
            return self.step(PlanExtend(step.requests, step.evictor))
        outcome = self.lockstep.step(step)
        self._drop_evicted(step, outcome)
        if outcome.error is None:
            self._note(requests, continued, outcome)
        self._drop_released()
        return outcome

    def _alloc_pages(self, intent: PagesIntent) -> Outcome:
        lanes = self.layout.num_lanes
        owners: Any = tuple(owner % lanes for owner in intent.owners)
        if intent.fit:
            owners = fitting_owners(self.lockstep.pool, intent.fit, owners[:1])
        if intent.malformed is not None and self.claims.argument_checks:
            owners = intent.malformed
        step = AllocPages(owners)
        step = replace(step, evictor=evictor_script(intent.evictor, step, self.lockstep))
        outcome = self.lockstep.step(step)
        self._drop_evicted(step, outcome)
        if outcome.error is None and outcome.result:
            self.live.append(Live([page * self.layout.page_size for page in outcome.result]))
        self._drop_released()
        return outcome

    def _continued(self, intent: RequestIntent, taken: list[Live]) -> Live | None:
        """The allocation that a request continues; never one page twice unless that is meant."""
        if intent.source != "chunk":
            return None
        choices = [live for live in self.live if live.length]
        if intent.follows or not self.claims.argument_checks:
            choices = [live for live in choices if all(live is not other for other in taken)]
        if not self.claims.partial_pages:
            choices = [live for live in choices if live.length % self.layout.page_size == 0]
        return choices[intent.which % len(choices)] if choices else None

    def release(self, intent: ReleaseIntent) -> Step:
        """The step of a release; without anything live it names nothing but its fault."""
        checked = self.claims.release_checks
        kind = Free if intent.by == "slots" else FreePages
        if intent.malformed is not None and checked:
            return kind(intent.malformed)
        size = self.layout.page_size
        ids: list[int] = []
        if self.live:
            live = self.live[intent.which % len(self.live)]
            ids = list(live.slots) if intent.by == "slots" else live.pages(self.layout)
            if intent.count:
                first = intent.first % len(ids)
                ids = ids[first : first + intent.count]
        ids = ids * intent.times
        if intent.fault is not None and checked:
            page = self._page_not_to_release(intent.fault)
            wrong = page if intent.by == "pages" else page * size + size - 1
            ids.insert(intent.place % (len(ids) + 1), wrong)
        return kind(tuple(ids), intent.carried)

    def _page_not_to_release(self, fault: str) -> int:
        layout = self.layout
        if fault == "free":
            for lane, pages in enumerate(self.lockstep.pool.free):
                if pages:
                    return layout.page(lane, pages[-1])
        if fault == "reserved" and layout.reserved_pages:
            return layout.page(layout.num_lanes - 1, layout.reserved_pages - 1)
        return -1 if fault == "negative" else layout.num_pages

    def _note(self, requests: list[Any], continued: list[Live | None], outcome: Outcome) -> None:
        """Remember what was allocated, so that it can be continued and released."""
        given = outcome.result
        for index, (request, source) in enumerate(zip(requests, continued, strict=True)):
            slots = given.out_cache_loc[
                given.extend_offsets[index] : given.extend_offsets[index + 1]
            ]
            if not slots:
                continue
            if source is None or all(source is not live for live in self.live):
                source = Live([])  # a new one, or one that eviction took pages of
                self.live.append(source)
            source.slots.extend(slots)
            source.length = int(request.seq_len)
            source.split, source.phase = request.split, given.phases[index]

    def _drop_evicted(self, step: AllocExtend | AllocPages, outcome: Outcome) -> None:
        """Forget what eviction took, before any of it is handed out again in the same call."""
        if outcome.error is None and outcome.evictions and step.evictor is not None:
            self._drop(set(step.evictor.gives))

    def _drop_released(self) -> None:
        layout = self.layout
        self._drop(
            {
                layout.page(lane, local)
                for lane, pages in enumerate(self.lockstep.pool.free)
                for local in pages
            }
        )

    def _drop(self, pages: set[int]) -> None:
        """What is left of an allocation that lost a page can be released, but not continued."""
        kept: list[Live] = []
        for live in self.live:
            left = [slot for slot in live.slots if slot // self.layout.page_size not in pages]
            if len(left) == len(live.slots):
                kept.append(live)
            elif left:
                kept.append(Live(left))
        self.live = kept
