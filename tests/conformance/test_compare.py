"""The comparison itself: it must see every change of a result, an error or a state."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch

from ownerlanes.conformance.compare import (
    ATTRIBUTES,
    Difference,
    State,
    compare_allocation,
    compare_error,
    compare_ints,
    compare_plan,
    compare_state,
    ints,
)
from ownerlanes.reference import (
    BatchPlan,
    CapacityWaitError,
    EvictorContractError,
    ExtendRequest,
    InvalidArgumentError,
    InvalidFreeError,
    InvalidRequestError,
    LaneLayout,
    OwnerLaneError,
    PoolSnapshot,
    ReferenceAllocator,
    RoundRobinPages,
    UnsupportedPagePlanError,
)

LAYOUT = LaneLayout(2, 4, 6)


@pytest.mark.parametrize(
    "values",
    [
        (3, 4),
        [3, 4],
        iter([3, 4]),
        range(3, 5),
        np.array([3, 4], np.int32),
        torch.tensor([3, 4]),
        [np.int64(3), torch.tensor(4)],
    ],
    ids=lambda values: type(values).__name__,
)
def test_integers_are_the_same_whatever_carries_them(values: Any) -> None:
    found = ints(values)
    assert found == (3, 4)
    assert set(map(type, found)) == {int}


@pytest.mark.parametrize(
    "values", [[1.0], [True], "12", None, 7, np.array([1.0]), torch.tensor([True]), [[1]]]
)
def test_what_is_no_sequence_of_integers_is_refused(values: Any) -> None:
    with pytest.raises(TypeError, match="integer"):
        ints(values)


def test_the_first_differing_index_is_told_with_both_values() -> None:
    wanted = range(65_536)
    found = torch.arange(65_536)
    compare_ints(wanted, found, field="x", clause="C")
    found[60_000] = 5
    with pytest.raises(Difference) as seen:
        compare_ints(wanted, found, field="x", clause="C")
    assert (seen.value.field, seen.value.expected, seen.value.actual) == ("x[60000]", 60_000, 5)
    with pytest.raises(Difference) as seen:
        compare_ints(wanted, found[:7], field="x", clause="C")
    assert (seen.value.field, seen.value.expected, seen.value.actual) == ("len(x)", 65_536, 7)


@pytest.mark.parametrize(
    ("change", "field", "clause"),
    [
        ({"extend_offsets": (0, 4, 10)}, "extend_offsets[1]", "C-FLATTENED-ORDER"),
        ({"phases": (0, 1)}, "phases[1]", "C-PHASE-SELECTION"),
        (
            {"out_cache_loc": (12, *range(9, 18))},
            "lane_of_slot(out_cache_loc)[0]",
            "C-FLATTENED-ORDER",
        ),
        ({"out_cache_loc": (9, 8, *range(10, 18))}, "out_cache_loc[0]", "C-FLATTENED-ORDER"),
        ({"out_cache_loc": (48, *range(9, 18))}, "out_cache_loc[0]", "C-FLATTENED-ORDER"),
        ({"out_cache_loc": None}, "out_cache_loc", "C-FLATTENED-ORDER"),
        ({"pages": ((2, 5), (4,))}, "pages[0][1]", "C-DETERMINISTIC-SELECTION"),
        ({"pages": ((2, 3, 4),)}, "len(pages)", "C-DETERMINISTIC-SELECTION"),
        ({"evicted": (3,)}, "len(evicted)", "C-LANE-EVICTION"),
    ],
)
def test_every_field_of_an_allocation_is_compared(
    change: dict[str, Any], field: str, clause: str
) -> None:
    allocator = ReferenceAllocator(LAYOUT)
    given = allocator.alloc_extend(
        [ExtendRequest(0, 8, RoundRobinPages()), ExtendRequest(0, 2, RoundRobinPages())]
    )
    compare_allocation(given, given, LAYOUT)
    with pytest.raises(Difference) as seen:
        compare_allocation(given, replace(given, **change), LAYOUT)
    assert (seen.value.field, seen.value.clause.split("/")[0]) == (field, f"RFC-0001:{clause}")


def test_a_result_without_a_field_is_a_difference() -> None:
    given = ReferenceAllocator(LAYOUT).alloc_extend([])
    with pytest.raises(Difference, match="extend_offsets"):
        compare_allocation(given, [], LAYOUT)


@pytest.mark.parametrize("name", [field.name for field in fields(BatchPlan)])
def test_every_field_of_a_plan_is_compared(name: str) -> None:
    plan = ReferenceAllocator(LAYOUT).plan_extend([ExtendRequest(0, 8, RoundRobinPages())])
    compare_plan(plan, plan)
    other: Any = ((7, 7),) if name == "demand" else (7, 7)
    with pytest.raises(Difference, match=name):
        compare_plan(plan, replace(plan, **{name: other}))


ERRORS: list[OwnerLaneError] = [
    CapacityWaitError(required=(3,), available=(1,), deficit=(2,), evicted=(0,), infeasible=()),
    UnsupportedPagePlanError(request_index=1, page_position=2, owners=(0, 1)),
    InvalidRequestError("words", request_index=1),
    EvictorContractError(pages=(4,)),
    InvalidFreeError("words"),
    InvalidArgumentError("words"),
]


@pytest.mark.parametrize("expected", ERRORS, ids=lambda error: type(error).__name__)
def test_error_types_are_compared_and_messages_are_not(expected: OwnerLaneError) -> None:
    other = expected.__class__.__new__(expected.__class__)
    other.__dict__.update(expected.__dict__)
    other.args = ("other words",)
    compare_error(expected, other)
    for wrong in [*(e for e in ERRORS if type(e) is not type(expected)), ValueError("words")]:
        with pytest.raises(Difference, match="error"):
            compare_error(expected, wrong)


@pytest.mark.parametrize(
    ("expected", "name"),
    [
        (error, name)
        for error in ERRORS
        for name in ATTRIBUTES[type(error)]
        if name != "can_wait"  # follows from infeasible
    ],
)
def test_every_attribute_of_an_error_is_compared(expected: OwnerLaneError, name: str) -> None:
    other = expected.__class__.__new__(expected.__class__)
    other.__dict__.update(expected.__dict__)
    setattr(other, name, (9,) if isinstance(getattr(expected, name), tuple) else 9)
    with pytest.raises(Difference, match=name):
        compare_error(expected, other)


def test_a_subclass_of_a_contract_error_is_that_error() -> None:
    class EngineCapacityWaitError(CapacityWaitError):
        pass

    expected = ERRORS[0]
    assert isinstance(expected, CapacityWaitError)
    other = EngineCapacityWaitError(
        **{name: getattr(expected, name) for name in ATTRIBUTES[type(expected)][:-1]}
    )
    compare_error(expected, other)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"available": (5, 4)}, "available_pages()[1]"),
        ({"snapshot": PoolSnapshot(LaneLayout(2, 4, 7), ((), ()))}, "snapshot().layout"),
        ({"snapshot": PoolSnapshot(LAYOUT, ((1, 2, 3, 4, 5), (1, 2, 3, 5, 4)))}, "[1][3]"),
        ({"snapshot": ((1,), (2,))}, "layout"),
        ({"digest": "0" * 64}, "digest()"),
    ],
)
def test_every_part_of_the_state_is_compared(change: dict[str, Any], field: str) -> None:
    state = State.of(ReferenceAllocator(LAYOUT))
    compare_state(state, State.of(ReferenceAllocator(LAYOUT)), clause="RFC-0001:C-CONSERVATION")
    with pytest.raises(Difference) as seen:
        compare_state(state, replace(state, **change), clause="RFC-0001:C-CONSERVATION")
    assert field in seen.value.field
