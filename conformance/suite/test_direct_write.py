"""C-DIRECT-WRITE, as far as an allocator's slots decide it: where each lane's rows would go.

The function `direct_write` and the kernels' arithmetic are not an allocator's and not tested here.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ownerlanes.conformance import session, strategies
from ownerlanes.conformance.clauses import clause
from ownerlanes.conformance.intents import Intent, RequestIntent
from ownerlanes.conformance.settings import examples
from ownerlanes.conformance.statements import allocation, expect
from ownerlanes.reference.contract import LaneLayout


@clause("RFC-0001:C-DIRECT-WRITE/5")
@examples()
@given(
    strategies.layouts(least_pages=2, most_pages=12),
    st.lists(strategies.intents(faults=False), max_size=2),
    strategies.batches(faults=False, least=1),
)
def test_every_row_lands_once_on_the_lane_of_its_slot(
    layout: LaneLayout, before: list[Intent], batch: tuple[RequestIntent, ...]
) -> None:
    """Every lane keeps the rows of its own slots, in a pool of its own."""
    director = session.direct(layout, before)
    layout = director.layout
    found = allocation(director.lockstep, tuple(director.batch(batch)[0]))
    if found is None:
        return
    pools: list[dict[int, int]] = [{} for _ in range(layout.num_lanes)]
    for row, slot in enumerate(found.out_cache_loc):
        pools[layout.lane_of_slot(slot)][layout.local_slot(slot)] = row
    expect(
        list(range(len(found.out_cache_loc))),
        sorted(row for pool in pools for row in pool.values()),
        clause="C-DIRECT-WRITE/5",
        field="rows that were kept, over all lanes",
    )
    longest = max((index for pool in pools for index in pool), default=-1)
    expect(
        True,
        longest < layout.pages_per_lane * layout.page_size,
        clause="C-DIRECT-WRITE/5",
        field=f"index {longest} lies in a lane's pool",
    )
