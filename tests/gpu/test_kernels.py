"""The kernels of an allocation in any program order, within bounds, over poisoned memory.

The oracle says what an allocation gives; here the same is asked of small programs that run
permuted or interleaved, of 32- and 64-bit token numbers, and of lanes of many blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

import pytest
from batches import allocated_pages, extends, layouts, outcome, pair
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interpreter_orders import arguments_checked, interleaved, permuted, poisoned

from ownerlanes.conformance.clauses import clause
from ownerlanes.gpu import (
    ExplicitOwners,
    ExtendRequest,
    InvalidRequestError,
    LaneLayout,
    RoundRobinPages,
    ZigzagPages,
    kernels_launch,
    state,
)

Order = Callable[[int], AbstractContextManager[None]]
ORDERS: dict[str, Order] = {
    "in order": lambda seed: nullcontext(),
    "permuted": permuted,
    "interleaved": interleaved,
}


@pytest.fixture
def small_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """One lane or eight tokens a program and sixteen flags a block: many of each."""
    shapes = kernels_launch.Shapes(lanes=1, fewest=8, most=8, wide=False)
    monkeypatch.setattr(kernels_launch, "INTERPRETER_SHAPES", shapes)
    monkeypatch.setattr(state, "FLAG_BLOCK", 16)


@pytest.fixture(autouse=True)
def poisoned_outputs() -> Iterator[None]:
    with poisoned():
        yield


@clause("RFC-0001:C-FLATTENED-ORDER", "RFC-0001:C-DETERMINISTIC-SELECTION/1")
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.usefixtures("small_programs")
@settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)  # the fixture sets constants, the same for every example
@given(data=st.data(), layout=layouts(largest=40), seed=st.integers(0, 2**16))
def test_programs_may_run_in_any_order(
    order: str, data: st.DataObject, layout: LaneLayout, seed: int
) -> None:
    allocated = data.draw(allocated_pages(layout))
    batch = data.draw(st.lists(extends(layout, allocated), max_size=4))
    oracle, candidate = pair(layout, allocated)
    expected = outcome(oracle, batch)
    with ORDERS[order](seed), arguments_checked():
        assert outcome(candidate, batch) == expected
    assert candidate.snapshot() == oracle.snapshot()


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("lanes", [1, 2, 64])
def test_shapes_of_programs_do_not_show(
    monkeypatch: pytest.MonkeyPatch, wide: bool, lanes: int
) -> None:
    shapes = kernels_launch.Shapes(lanes=lanes, fewest=16, most=16, wide=wide)
    monkeypatch.setattr(kernels_launch, "INTERPRETER_SHAPES", shapes)
    layout = LaneLayout(3, 5, 40, "blocked")
    allocated = [layout.page(lane, local) for lane in range(3) for local in range(1, 30, 1 + lane)]
    oracle, candidate = pair(layout, allocated)
    batch = [
        ExtendRequest(5 * 7 + 2, 60, RoundRobinPages(2), allocated[3] * 5 + 1, phase=None),
        ExtendRequest(40, 77, ZigzagPages(3), phase=2),
        ExtendRequest(9, 9, ZigzagPages()),
        ExtendRequest(0, 21, ExplicitOwners([2, 0, 0, 1, 2])),
    ]
    with arguments_checked():
        assert outcome(candidate, batch) == outcome(oracle, batch)
    assert candidate.snapshot() == oracle.snapshot()


@pytest.mark.parametrize("layout", [LaneLayout(2, 2**40, 9), LaneLayout(1, 2**61, 2, "blocked")])
def test_slots_beyond_int32(layout: LaneLayout) -> None:
    oracle, candidate = pair(layout)
    batch = [ExtendRequest(0, 3, ZigzagPages())]
    assert outcome(candidate, batch) == outcome(oracle, batch)


@pytest.mark.usefixtures("small_programs")
def test_tail_pages_of_many_blocks_are_looked_at() -> None:
    layout = LaneLayout(2, 4, 40)
    oracle, candidate = pair(layout, range(2, 80))
    candidate.free_pages([77])
    oracle.free_pages([77])
    tails = [ExtendRequest(5, 6, RoundRobinPages(1000), page * 4, None) for page in range(50, 80)]
    with arguments_checked():
        assert outcome(candidate, tails) == outcome(oracle, tails)
        with pytest.raises(InvalidRequestError, match="page 77 is free") as raised:
            candidate.alloc_extend(tails)
    assert raised.value.request_index == 27
