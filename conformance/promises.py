"""What the clauses promise of an allocation whatever pages were chosen.

For candidates without exact page choice: order, lengths, phases, owner lanes, offsets, freshness
and the link between slots and pages are checked; page ids are not. It knows the candidate's pages
by their renaming only.
"""

from __future__ import annotations

from typing import Any

from ownerlanes.conformance.compare import compare_evicted, compare_lanes
from ownerlanes.conformance.difference import compare_ints, found_ints, read
from ownerlanes.conformance.renaming import Renaming
from ownerlanes.reference.contract import ExtendAllocation, PoolSnapshot


def compare_promises(
    expected: ExtendAllocation,
    actual: Any,
    names: Renaming,
    before: PoolSnapshot,
    *,
    evicts: bool = True,
) -> list[tuple[int, int]]:
    """Check an allocation of free page choice.

    Args:
        expected: the oracle's answer.
        actual: the candidate's.
        names: the renaming as it was before the call.
        before: the oracle's state before the call.
        evicts: whether it claims eviction, and so tells what was evicted.

    Returns:
        The new pages, as pairs of the oracle's and the candidate's.

    Raises:
        Difference: a promise is broken.
    """
    layout = before.layout
    for name, clause in (
        ("extend_offsets", "RFC-0001:C-FLATTENED-ORDER/5"),
        ("phases", "RFC-0001:C-PHASE-SELECTION/3"),
    ):
        compare_ints(getattr(expected, name), read(actual, name, clause), field=name, clause=clause)
    clause = "RFC-0001:C-FLATTENED-ORDER/7"
    slots = found_ints(read(actual, "out_cache_loc", clause), field="out_cache_loc", clause=clause)
    compare_lanes(expected.out_cache_loc, slots, layout)
    bound = names.adopt(expected, actual)
    own = dict(bound)
    size = layout.page_size
    for page in {slot // size for slot in expected.out_cache_loc} - own.keys():
        own[page] = names.page(page, before)
    compare_ints(
        [own[slot // size] * size + slot % size for slot in expected.out_cache_loc],
        slots,
        field="out_cache_loc",
        clause=clause,
        note="expected from the pages that the candidate itself names, token by token",
    )
    if evicts:
        compare_evicted(names.pages(expected.evicted, before), actual)
    return bound
