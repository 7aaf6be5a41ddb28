"""Exact comparison of what an allocator gave with what the oracle gave.

Every function returns nothing when both agree and raises a `Difference` that names the clause,
the first differing field and both values. Integers are compared exactly whatever carries them
(tuples, lists, numpy arrays, tensors); nothing here knows an implementation or has a tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ownerlanes.conformance.difference import (
    Difference,
    Ints,
    compare_ints,
    compare_rows,
    found_ints,
    ints,
    read,
)
from ownerlanes.reference.contract import (
    BatchPlan,
    CapacityWaitError,
    EvictorContractError,
    ExtendAllocation,
    InvalidArgumentError,
    InvalidFreeError,
    InvalidRequestError,
    LaneLayout,
    OwnerLaneError,
    PoolSnapshot,
    ReentrantCallError,
    UnsupportedPagePlanError,
)

ATTRIBUTES: dict[type[OwnerLaneError], tuple[str, ...]] = {
    CapacityWaitError: (
        "required",
        "available",
        "deficit",
        "evicted",
        "infeasible",
        "can_wait",
    ),
    UnsupportedPagePlanError: ("request_index", "page_position", "owners"),
    InvalidRequestError: ("request_index",),
    EvictorContractError: ("pages",),
    InvalidFreeError: (),
    InvalidArgumentError: (),
    ReentrantCallError: (),
}
"""What is compared of each error that an allocator's call may raise; messages are free."""

ERROR_CLAUSE: dict[type[OwnerLaneError], str] = {
    CapacityWaitError: "RFC-0001:C-CAPACITY-AND-EVICTION/2",
    UnsupportedPagePlanError: "RFC-0001:C-UNSUPPORTED-PLANS/7",
    InvalidRequestError: "RFC-0001:C-UNSUPPORTED-PLANS/1",
    EvictorContractError: "RFC-0001:C-LANE-EVICTION/6",
    InvalidFreeError: "RFC-0001:C-RELEASE/4",
    InvalidArgumentError: "RFC-0001:C-ATOMIC-BATCH/9",
    ReentrantCallError: "RFC-0001:C-LANE-EVICTION/10",
}
"""The obligation that an allocator breaks which raises no such error, or another one."""

ATTRIBUTE_CLAUSE = {
    "required": "RFC-0001:C-CAPACITY-AND-EVICTION/3",
    "available": "RFC-0001:C-CAPACITY-AND-EVICTION/3",
    "deficit": "RFC-0001:C-CAPACITY-AND-EVICTION/3",
    "evicted": "RFC-0001:C-LANE-EVICTION/12",
    "infeasible": "RFC-0001:C-INFEASIBLE-DEMAND/1",
    "can_wait": "RFC-0001:C-INFEASIBLE-DEMAND/3",
    "page_position": "RFC-0001:C-UNSUPPORTED-PLANS/8",
    "owners": "RFC-0001:C-UNSUPPORTED-PLANS/9",
}
"""Attributes that an obligation of their own speaks of."""


def compare_allocation(
    expected: ExtendAllocation, actual: Any, layout: LaneLayout, *, evicts: bool = True
) -> None:
    """What alloc_extend gave, page choice included.

    What a reader looks for first is told first: order and lengths, phases, owner lanes of the
    slots, then which pages. `actual` is anything with the fields of ExtendAllocation; one that
    never `evicts` may lack `evicted`.

    Raises:
        Difference: in a field of the result, or it lacks that field.
    """
    order = "RFC-0001:C-FLATTENED-ORDER/2"
    offsets = "RFC-0001:C-FLATTENED-ORDER/5"
    compare_ints(
        expected.extend_offsets,
        read(actual, "extend_offsets", offsets),
        field="extend_offsets",
        clause=offsets,
    )
    compare_ints(
        expected.phases,
        read(actual, "phases", order),
        field="phases",
        clause="RFC-0001:C-PHASE-SELECTION/3",
    )
    slots = found_ints(read(actual, "out_cache_loc", order), field="out_cache_loc", clause=order)
    if slots != expected.out_cache_loc:
        compare_lanes(expected.out_cache_loc, slots, layout)
    selection = "RFC-0001:C-DETERMINISTIC-SELECTION/1"
    compare_rows(expected.pages, read(actual, "pages", order), field="pages", clause=selection)
    compare_ints(expected.out_cache_loc, slots, field="out_cache_loc", clause=order)
    if evicts:
        compare_evicted(expected.evicted, actual)


def compare_evicted(expected: Ints, actual: Any) -> None:
    """The pages that eviction released for an allocation."""
    clause = "RFC-0001:C-LANE-EVICTION/12"
    compare_ints(expected, read(actual, "evicted", clause), field="evicted", clause=clause)


def compare_lanes(expected: Ints, actual: Ints, layout: LaneLayout) -> None:
    """Owner lane of every entry of two flattened outputs.

    Raises:
        Difference: naming the first token whose slot is on another lane, or the lengths.
    """
    order = "RFC-0001:C-FLATTENED-ORDER/3"
    stray = next((i for i, slot in enumerate(actual) if not 0 <= slot < layout.num_slots), None)
    if stray is not None:
        raise Difference(
            clause=order,
            field=f"out_cache_loc[{stray}]",
            expected=f"a slot of the layout, 0 ... {layout.num_slots - 1}",
            actual=actual[stray],
        )
    compare_ints(
        [layout.lane_of_slot(slot) for slot in expected],
        [layout.lane_of_slot(slot) for slot in actual],
        field="lane_of_slot(out_cache_loc)",
        clause=order,
        note="the owner lane of every token is planned before any page is chosen",
    )


def compare_pages(expected: Ints, actual: Any, layout: LaneLayout) -> None:
    """What alloc_pages gave: their lanes first, then which pages.

    Raises:
        Difference: naming the first page that differs.
    """
    order = "RFC-0001:C-ATOMIC-BATCH/6"
    found = found_ints(actual, field="pages", clause=order)
    if all(0 <= page < layout.num_pages for page in found):
        compare_ints(
            [layout.lane_of_page(page) for page in expected],
            [layout.lane_of_page(page) for page in found],
            field="lane_of_page(pages)",
            clause=order,
        )
    compare_ints(expected, found, field="pages", clause="RFC-0001:C-DETERMINISTIC-SELECTION/1")


def compare_plan(expected: BatchPlan, actual: Any) -> None:
    """What plan_extend gave.

    Raises:
        Difference: in a field of the plan.
    """
    planning = "RFC-0001:C-REQUEST-LOCAL-PLANNING/4"
    phases = "RFC-0001:C-PHASE-SELECTION/3"
    compare_ints(expected.phases, read(actual, "phases", planning), field="phases", clause=phases)
    compare_rows(expected.demand, read(actual, "demand", planning), field="demand", clause=planning)
    for name, clause in (
        ("required", planning),
        ("deficit", planning),
        ("infeasible", "RFC-0001:C-INFEASIBLE-DEMAND/4"),
    ):
        compare_ints(
            getattr(expected, name), read(actual, name, planning), field=name, clause=clause
        )


def contract_type(error: BaseException) -> type[BaseException]:
    """The class of the contract that an error is of: candidates may raise subclasses."""
    return next((kind for kind in type(error).__mro__ if kind in ATTRIBUTES), type(error))


def compare_error(expected: OwnerLaneError, actual: BaseException) -> None:
    """Type of the error and every attribute that its type promises; the message is free.

    Raises:
        Difference: another type, or the first differing attribute.
    """
    kind = type(expected)
    clause = ERROR_CLAUSE[kind]
    if contract_type(actual) is not kind:
        raise Difference(clause=clause, field="error", expected=expected, actual=actual)
    for name in ATTRIBUTES[kind]:
        wanted = getattr(expected, name)
        about = ATTRIBUTE_CLAUSE.get(name, clause)
        found = read(actual, name, about)
        if isinstance(wanted, tuple):
            compare_ints(wanted, found, field=f"{kind.__name__}.{name}", clause=about)
        elif wanted != found:
            raise Difference(
                clause=about, field=f"{kind.__name__}.{name}", expected=wanted, actual=found
            )


@dataclass(frozen=True)
class State:
    """All that can be seen of an allocator's state; None for what it does not offer."""

    available: Any
    snapshot: Any
    digest: Any

    @classmethod
    def of(cls, allocator: Any, *, snapshot: bool = True, digest: bool = True) -> State:
        """Read it through the allocator's own methods."""
        return cls(
            allocator.available_pages(),
            allocator.snapshot() if snapshot else None,
            allocator.digest() if digest else None,
        )


def compare_state(expected: State, actual: State, *, clause: str) -> None:
    """Counts, free pages of every lane and digest; what either side lacks is not compared.

    Args:
        expected: the oracle's.
        actual: the candidate's.
        clause: what is broken when they differ: conservation, atomicity, release, ...

    Raises:
        Difference: the first of available_pages, snapshot and digest that differs.
    """
    compare_ints(expected.available, actual.available, field="available_pages()", clause=clause)
    if expected.snapshot is not None and actual.snapshot is not None:
        _compare_snapshot(expected.snapshot, actual.snapshot, clause)
    if None not in (expected.digest, actual.digest) and expected.digest != actual.digest:
        raise Difference(
            clause="RFC-0001:C-REPLICA-DETERMINISM/2",
            field="digest()",
            expected=expected.digest,
            actual=actual.digest,
            note="counts and free pages agree: the digest is stale or encoded another way",
        )


def _compare_snapshot(expected: PoolSnapshot, actual: Any, clause: str) -> None:
    if expected == actual and hash(expected) == hash(actual):
        return
    layout = read(actual, "layout", clause)
    if layout != expected.layout:
        raise Difference(
            clause=clause, field="snapshot().layout", expected=expected.layout, actual=layout
        )
    compare_rows(
        expected.free, read(actual, "free", clause), field="snapshot().free", clause=clause
    )
    raise Difference(
        clause="RFC-0001:C-DETERMINISTIC-SELECTION/5",
        field="snapshot()",
        expected=expected,
        actual=actual,
        note="same free pages, but not equal and hashable as PoolSnapshot",
    )


__all__ = [
    "Difference",
    "State",
    "compare_allocation",
    "compare_error",
    "compare_evicted",
    "compare_ints",
    "compare_lanes",
    "compare_pages",
    "compare_plan",
    "compare_rows",
    "compare_state",
    "contract_type",
    "ints",
]
