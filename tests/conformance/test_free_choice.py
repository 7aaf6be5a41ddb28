"""Candidates that choose their own pages, or tell errors in their own way, are held to the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings

from ownerlanes.conformance import session, strategies
from ownerlanes.conformance.difference import Difference
from ownerlanes.conformance.intents import Intent
from ownerlanes.reference import (
    ExtendAllocation,
    ExtendRequest,
    LaneLayout,
    PoolSnapshot,
    ReferenceAllocator,
)
from ownerlanes.reference.pool import digest


class MirroredEvictor:
    """Stands between the candidate and its evictor, in the oracle's page ids."""

    def __init__(self, evictor: Any, mirror: Callable[[Any], Any]) -> None:
        self._evictor = evictor
        self._mirror = mirror

    def evictable_pages(self) -> Any:
        return self._evictor.evictable_pages()

    def evict(self, deficit: Any) -> Any:
        pages = self._evictor.evict(deficit)
        return [self._mirror(page) for page in pages] if isinstance(pages, tuple) else pages


class HighestFirst:
    """A sound allocator whose lanes hand out their highest pages: the oracle in a mirror."""

    capabilities = {"exact_pages": False}  # noqa: RUF012

    def __init__(self, layout: LaneLayout, evictor: Any = None) -> None:
        self.layout = layout
        mirrored = None if evictor is None else MirroredEvictor(evictor, self._page)
        self._oracle = ReferenceAllocator(layout, mirrored)

    def _page(self, page: Any) -> Any:
        layout = self.layout
        if isinstance(page, bool) or not isinstance(page, int) or not 0 <= page < layout.num_pages:
            return page
        local = layout.local_page(page)
        if local < layout.reserved_pages:
            return page
        mirrored = layout.reserved_pages + layout.pages_per_lane - 1 - local
        return layout.page(layout.lane_of_page(page), mirrored)

    def _slot(self, slot: Any) -> Any:
        if isinstance(slot, bool) or not isinstance(slot, int):
            return slot
        page, offset = divmod(slot, self.layout.page_size)
        return self._page(page) * self.layout.page_size + offset

    def _requests(self, requests: Any) -> Any:
        if not isinstance(requests, list):
            return requests
        return [
            replace(request, last_slot=self._slot(request.last_slot))
            if isinstance(request, ExtendRequest)
            else request
            for request in requests
        ]

    def _all(self, ids: Any, one: Callable[[Any], Any]) -> Any:
        return [one(each) for each in ids] if isinstance(ids, (list, tuple)) else ids

    def alloc_extend(self, requests: Any) -> Any:
        given = self._oracle.alloc_extend(self._requests(requests))
        return ExtendAllocation(
            tuple(map(self._slot, given.out_cache_loc)),
            given.extend_offsets,
            tuple(tuple(map(self._page, row)) for row in given.pages),
            given.phases,
            tuple(sorted(map(self._page, given.evicted))),
        )

    def plan_extend(self, requests: Any) -> Any:
        return self._oracle.plan_extend(self._requests(requests))

    def alloc_pages(self, owners: Any) -> Any:
        return tuple(map(self._page, self._oracle.alloc_pages(owners)))

    def free(self, slots: Any) -> None:
        self._oracle.free(self._all(slots, self._slot))

    def free_pages(self, pages: Any) -> None:
        self._oracle.free_pages(self._all(pages, self._page))

    def available_pages(self) -> Any:
        return self._oracle.available_pages()

    def snapshot(self) -> PoolSnapshot:
        layout, pool = self.layout, self._oracle.snapshot()
        return PoolSnapshot(
            layout,
            tuple(
                tuple(layout.reserved_pages + layout.pages_per_lane - 1 - at for at in lane[::-1])
                for lane in pool.free
            ),
        )

    def digest(self) -> str:
        return digest(self.snapshot())

    def clear(self) -> None:
        self._oracle.clear()


class WrongLane(HighestFirst):
    """Rotates the lane of every page."""

    def alloc_pages(self, owners: Any) -> Any:
        pages = super().alloc_pages(owners)
        return pages[1:] + pages[:1]


class GivesTwice(HighestFirst):
    """Names the first page of a batch for every page of that lane."""

    def alloc_extend(self, requests: Any) -> Any:
        given = super().alloc_extend(requests)
        first: dict[int, int] = {}
        rows = tuple(
            tuple(first.setdefault(self.layout.lane_of_page(page), page) for page in row)
            for row in given.pages
        )
        return replace(given, pages=rows)


class SaysNone(ReferenceAllocator):
    """Tells every failure by None."""

    capabilities = {"typed_errors": False, "eviction": False}  # noqa: RUF012

    def alloc_extend(self, requests: Any) -> Any:
        try:
            return super().alloc_extend(requests)
        except Exception:
            return None

    def alloc_pages(self, owners: Any) -> Any:
        try:
            return super().alloc_pages(owners)
        except Exception:
            return None


class SaysNoneTooOften(SaysNone):
    """Refuses batches of several, too."""

    def alloc_extend(self, requests: Any) -> Any:
        return None if len(requests) > 1 else super().alloc_extend(requests)


SETTINGS = settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    report_multiple_bugs=False,
)


@SETTINGS
@given(strategies.histories())
def any_calls(history: tuple[LaneLayout, bool, list[Intent]]) -> None:
    layout, evictor, intents = history
    session.direct(layout, intents, evictor=evictor)


@pytest.mark.parametrize("factory", [HighestFirst, SaysNone])
def test_sound_candidates_pass(factory: Any, check_candidate: Callable[..., Any]) -> None:
    check_candidate(factory)
    any_calls()


@pytest.mark.parametrize(
    ("factory", "found"),
    [
        (WrongLane, "lane_of_page"),
        (GivesTwice, "C-CONSERVATION/2"),
        (SaysNoneTooOften, "alloc_extend"),
    ],
)
def test_unsound_ones_do_not(factory: Any, found: str, check_candidate: Callable[..., Any]) -> None:
    check_candidate(factory)
    with pytest.raises(Difference, match=found):
        any_calls()


def test_page_choice_is_compared_where_it_is_claimed(check_candidate: Callable[..., Any]) -> None:
    class Claims(HighestFirst):
        capabilities = {}  # noqa: RUF012

    check_candidate(Claims)
    with pytest.raises(Difference, match="C-DETERMINISTIC-SELECTION/1"):
        any_calls()
