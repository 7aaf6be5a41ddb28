"""Calls that are interrupted or whose launch fails: nothing is handed out twice afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from ownerlanes.conformance.clauses import clause
from ownerlanes.gpu import (
    EvictorContractError,
    ExplicitOwners,
    ExtendRequest,
    InvalidArgumentError,
    InvalidFreeError,
    LaneLayout,
    TritonAllocator,
)
from ownerlanes.gpu.kernels_launch import Launcher

LAYOUT = LaneLayout(num_lanes=2, page_size=4, pages_per_lane=6)
THREE_PAGES = [ExtendRequest(0, 12, ExplicitOwners([0, 0, 1]))]


def fails(monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException, *, ran: bool) -> None:
    """The next launch of that name raises, after or instead of running."""
    launch = getattr(Launcher, name)

    def failing(self: Launcher, *arguments: Any) -> Any:
        if ran:
            launch(self, *arguments)
        raise error

    monkeypatch.setattr(Launcher, name, failing)


@clause("RFC-0001:C-CONSERVATION/2")
def test_an_interrupt_after_selection_never_leaves_counts_too_high(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allocator = TritonAllocator(LAYOUT)
    with monkeypatch.context() as patch:
        fails(patch, "select", KeyboardInterrupt(), ran=True)
        with pytest.raises(KeyboardInterrupt):
            allocator.alloc_pages([0, 0, 1])
    truth = [len(lane) for lane in allocator.snapshot().free]
    assert truth == [3, 4]
    assert all(a <= b for a, b in zip(allocator.available_pages(), truth, strict=True))
    assert allocator.alloc_pages([0, 0, 0]).tolist() == [6, 8, 10]


@clause("RFC-0001:C-ATOMIC-BATCH/1")
@pytest.mark.parametrize("name", ["select", "flatten"])
def test_a_launch_that_fails_takes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    allocator = TritonAllocator(LAYOUT)
    before = allocator.digest()
    with monkeypatch.context() as patch:
        fails(patch, name, RuntimeError("no memory"), ran=False)
        with pytest.raises(RuntimeError, match="no memory"):
            allocator.alloc_extend(THREE_PAGES)
    assert allocator.digest() == before
    assert allocator.available_pages() == (5, 5)
    assert allocator.alloc_extend(THREE_PAGES).pages == ((2, 4, 3),)


@clause("RFC-0001:C-LANE-EVICTION/6")
def test_ids_beyond_int64_are_judged_with_the_rest_of_an_eviction() -> None:
    class Frees:
        def evictable_pages(self) -> Sequence[int]:
            return [5, 5]

        def evict(self, deficit: Sequence[int]) -> Sequence[int]:
            allocator.free_pages([2**70])
            allocator.free([-(2**70)])
            return [2]

    allocator = TritonAllocator(LAYOUT, Frees())
    allocator.alloc_pages([0] * 5)
    with pytest.raises(EvictorContractError) as caught:
        allocator.alloc_pages([0])
    assert caught.value.pages == (-(2**68), 2**70)
    assert allocator.available_pages() == (0, 5)


@clause("RFC-0001:C-RELEASE/9")
def test_many_refused_releases_make_a_short_message() -> None:
    allocator = TritonAllocator(LAYOUT, deferred_release=True)
    for _ in range(300):
        allocator.free_pages(torch.tensor([0]))
    with pytest.raises(InvalidFreeError, match=r"300 of 300 .* and 280 more") as caught:
        allocator.available_pages()
    assert len(str(caught.value)) < 2000


@clause("RFC-0001:C-OWNER-LANE-LAYOUT/10")
def test_more_lanes_than_can_be_are_refused_even_without_pages() -> None:
    with pytest.raises(InvalidArgumentError, match="lanes"):
        TritonAllocator(LaneLayout(2**40, 1, 0, reserved_pages=0))
