"""What an allocation costs the device: launches, torch operations, and no waiting.

Counts, not times: they are the same on every machine and for every size of batch.
"""

from __future__ import annotations

import pytest
from interpreter_orders import Counted

from ownerlanes.gpu import (
    ContiguousPages,
    ExplicitOwners,
    ExtendRequest,
    LaneLayout,
    RoundRobinPages,
    RoundRobinTokens,
    Split,
    TritonAllocator,
    ZigzagPages,
    ZigzagTokens,
)

LAYOUT = LaneLayout(8, 16, 300)
SPLITS: dict[str, list[Split]] = {
    "pages": [ZigzagPages()],
    "tokens": [ZigzagTokens(), RoundRobinTokens(32)],
    "mixed": [
        ContiguousPages(),
        RoundRobinPages(3),
        ZigzagTokens(),
        ExplicitOwners([*range(8)] * 2),
        ZigzagPages(5),
    ],
}


def batch_of(count: int, splits: list[Split], phase: int | None = 0) -> list[ExtendRequest]:
    return [ExtendRequest(0, 256, splits[i % len(splits)], phase=phase) for i in range(count)]


@pytest.mark.parametrize("phase", [0, None])
@pytest.mark.parametrize("splits", ["pages", "tokens"])
@pytest.mark.parametrize("count", [1, 64])
def test_an_allocation_is_two_launches(count: int, splits: str, phase: int | None) -> None:
    allocator = TritonAllocator(LAYOUT)
    batch = batch_of(count, SPLITS[splits], phase)
    with Counted() as counted:
        allocator.alloc_extend(batch)
    assert counted.launches == ["select_kernel", "flatten_kernel"]
    assert len(counted.operations) <= 8
    assert counted.read_backs == []


@pytest.mark.parametrize("deferred", [False, True])
def test_mixed_batches_cost_no_more(deferred: bool) -> None:
    allocator = TritonAllocator(LAYOUT, deferred_release=deferred)
    allocator.free_pages(allocator.alloc_pages([0, 1]))
    with Counted() as counted:
        allocator.alloc_extend(batch_of(64, SPLITS["mixed"]))
    assert counted.launches == ["select_kernel", "flatten_kernel"]
    assert len(counted.operations) <= 8
    assert counted.read_backs == []


def test_partial_pages_cost_one_more_launch_and_one_number() -> None:
    allocator = TritonAllocator(LAYOUT)
    held = allocator.alloc_pages([1] * 64).tolist()
    batch = [ExtendRequest(5, 100, ZigzagPages(), page * 16 + 4, None) for page in held]
    with Counted() as counted:
        allocator.alloc_extend(batch)
    assert counted.launches == ["first_free_kernel", "select_kernel", "flatten_kernel"]
    assert len(counted.operations) <= 12
    assert set(counted.read_backs) == {"item", "_local_scalar_dense"}


def test_only_what_is_needed_is_launched() -> None:
    allocator = TritonAllocator(LAYOUT)
    with Counted() as counted:
        allocator.alloc_extend([])
        allocator.alloc_extend([ExtendRequest(7, 7, ZigzagPages())])
    assert counted.launches == []
    (page,) = allocator.alloc_pages([0]).tolist()
    with Counted() as counted:
        allocator.alloc_extend([ExtendRequest(1, 3, ZigzagPages(), last_slot=page * 16)])
    assert counted.launches == ["first_free_kernel", "flatten_kernel"]


def test_pages_by_owner_are_one_launch() -> None:
    allocator = TritonAllocator(LAYOUT)
    with Counted() as counted:
        allocator.alloc_pages(list(range(8)) * 30)
    assert counted.launches == ["select_kernel"]
    assert counted.read_backs == []


def test_dry_runs_and_shortages_launch_nothing() -> None:
    allocator = TritonAllocator(LAYOUT)
    too_long = [ExtendRequest(0, 10**12, ZigzagPages(), phase=None)]
    with Counted() as counted:
        allocator.plan_extend(too_long)
        with pytest.raises(Exception, match="short of pages"):
            allocator.alloc_extend(too_long)
    assert counted.launches == counted.operations == counted.read_backs == []


def test_device_state_is_a_few_bytes_a_page() -> None:
    layout = LaneLayout(3, 64, 4097)
    allocator = TritonAllocator(layout)
    tensors = [allocator._state.flags, allocator._releases._report, *allocator._releases._verdicts]
    held = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    assert held <= 8 * layout.num_pages
