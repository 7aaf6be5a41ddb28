"""For candidates that choose pages freely: which of theirs stands for which of the oracle's.

Within a lane, pages are alike but for the order in which they are handed out. So the oracle keeps
its own choice, and a one-to-one renaming per lane carries steps over to the candidate and its
answers back. Page ids are never compared; lanes, freshness, order, counts and state are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ownerlanes.conformance.difference import Difference, compare_ints, found_ints, read
from ownerlanes.conformance.operations import (
    AllocExtend,
    AllocPages,
    Free,
    FreePages,
    PlanExtend,
    Step,
)
from ownerlanes.reference.contract import ExtendAllocation, ExtendRequest, LaneLayout, PoolSnapshot


class Renaming:
    """The pages of the candidate by the pages of the oracle.

    Args:
        layout: the layout of both.
    """

    def __init__(self, layout: LaneLayout) -> None:
        self._layout = layout
        self._allocated: dict[int, int] = {}

    def page(self, page: Any, pool: PoolSnapshot) -> Any:
        """The candidate's page; reserved pages and what is no page stay as they are."""
        layout = self._layout
        if isinstance(page, bool) or not isinstance(page, int) or not 0 <= page < layout.num_pages:
            return page
        if page in self._allocated or layout.local_page(page) < layout.reserved_pages:
            return self._allocated.get(page, page)
        lane = layout.lane_of_page(page)
        rank = pool.free[lane].index(layout.local_page(page))
        return layout.page(lane, self.pool().free[lane][rank])

    def slot(self, slot: Any, pool: PoolSnapshot) -> Any:
        """The candidate's slot."""
        if isinstance(slot, bool) or not isinstance(slot, int):
            return slot
        page, offset = divmod(slot, self._layout.page_size)
        return self.page(page, pool) * self._layout.page_size + offset

    def pool(self) -> PoolSnapshot:
        """The state that the candidate has to be in."""
        layout = self._layout
        taken = set(self._allocated.values())
        return PoolSnapshot(
            layout,
            tuple(
                tuple(
                    local
                    for local in range(layout.reserved_pages, layout.pages_per_lane)
                    if layout.page(lane, local) not in taken
                )
                for lane in range(layout.num_lanes)
            ),
        )

    def step(self, step: Step, pool: PoolSnapshot) -> Step:
        """The step as the candidate has to see it; `pool` is the oracle's before it."""
        if isinstance(step, Free):
            return replace(step, slots=self._all(step.slots, pool, self.slot))
        if isinstance(step, FreePages):
            return replace(step, pages=self._all(step.pages, pool, self.page))
        if isinstance(step, (AllocExtend, PlanExtend, AllocPages)) and step.evictor is not None:
            given = self._all(step.evictor.gives, pool, self.page)
            step = replace(step, evictor=replace(step.evictor, gives=given))
        if isinstance(step, (AllocExtend, PlanExtend)) and isinstance(step.requests, tuple):
            requests = tuple(self._request(request, pool) for request in step.requests)
            step = replace(step, requests=requests)
        return step

    def _request(self, request: Any, pool: PoolSnapshot) -> Any:
        if not isinstance(request, ExtendRequest):
            return request
        return replace(request, last_slot=self.slot(request.last_slot, pool))

    def _all(self, ids: Any, pool: PoolSnapshot, one: Any) -> Any:
        return tuple(one(each, pool) for each in ids) if isinstance(ids, tuple) else ids

    def pages(self, pages: Iterable[int], pool: PoolSnapshot) -> tuple[int, ...]:
        """The candidate's pages, ascending."""
        return tuple(sorted(self.page(page, pool) for page in pages))

    def settle(self, after: PoolSnapshot, bound: Iterable[tuple[int, int]]) -> None:
        """Take up what a step did: pages that are free now, and new (oracle's, candidate's) ones.

        `after` is the oracle's state after the step.
        """
        layout = self._layout
        free = {
            layout.page(lane, local) for lane, pages in enumerate(after.free) for local in pages
        }
        self._allocated = {a: b for a, b in self._allocated.items() if a not in free}
        self._allocated.update(bound)

    def adopt_pages(
        self, expected: Iterable[int], actual: Any, evicted: Iterable[int], field: str
    ) -> list[tuple[int, int]]:
        """Pair the oracle's new pages with the candidate's.

        Raises:
            Difference: a page of the candidate's is on another lane, or not a free one.
        """
        layout = self._layout
        wanted = tuple(expected)
        found = found_ints(actual, field=field, clause="RFC-0001:C-FLATTENED-ORDER/8")
        stray = next((page for page in found if not 0 <= page < layout.num_pages), None)
        if stray is not None:
            raise Difference(
                clause="RFC-0001:C-OWNER-LANE-LAYOUT/5",
                field=field,
                expected=f"pages of the layout, 0 ... {layout.num_pages - 1}",
                actual=stray,
            )
        compare_ints(
            [layout.lane_of_page(page) for page in wanted],
            [layout.lane_of_page(page) for page in found],
            field=f"lane_of_page({field})",
            clause="RFC-0001:C-PAGE-OWNERSHIP/9",
        )
        gone = set(evicted)
        taken = {mine for page, mine in self._allocated.items() if page not in gone}
        for index, page in enumerate(found):
            if page in taken or layout.local_page(page) < layout.reserved_pages:
                raise Difference(
                    clause="RFC-0001:C-CONSERVATION/2",
                    field=f"{field}[{index}]",
                    expected="a page that is free",
                    actual=page,
                    note="it is allocated, reserved, or was given twice in this call",
                )
            taken.add(page)
        return list(zip(wanted, found, strict=True))

    def adopt(self, expected: ExtendAllocation, actual: Any) -> list[tuple[int, int]]:
        """Pair the new pages of an allocation, request by request.

        Raises:
            Difference: as adopt_pages, or another number of pages or requests.
        """
        rows = list(read(actual, "pages", "RFC-0001:C-FLATTENED-ORDER/8"))
        if len(rows) != len(expected.pages):
            raise Difference(
                clause="RFC-0001:C-FLATTENED-ORDER/8",
                field="len(pages)",
                expected=len(expected.pages),
                actual=len(rows),
            )
        found: list[int] = []
        for index, (wanted, row) in enumerate(zip(expected.pages, rows, strict=True)):
            field, clause = f"pages[{index}]", "RFC-0001:C-FLATTENED-ORDER/8"
            numbers = found_ints(row, field=field, clause=clause)
            compare_ints([len(wanted)], [len(numbers)], field=f"len({field})", clause=clause)
            found.extend(numbers)
        flat = [page for row in expected.pages for page in row]
        return self.adopt_pages(flat, found, expected.evicted, "pages")
