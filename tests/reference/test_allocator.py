"""The oracle on small histories worked out by hand."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
import torch

from ownerlanes.conformance.clauses import clause
from ownerlanes.reference import (
    CapacityWaitError,
    EvictorContractError,
    ExplicitOwners,
    ExtendRequest,
    InvalidArgumentError,
    InvalidFreeError,
    InvalidRequestError,
    LaneLayout,
    OwnerLaneError,
    ReentrantCallError,
    ReferenceAllocator,
    ReplicaDivergedError,
    RoundRobinPages,
    UnsupportedPagePlanError,
    ZigzagPages,
)

LAYOUT = LaneLayout(num_lanes=2, page_size=4, pages_per_lane=4)


class Gives:
    """An evictor that reports and gives up what it is told to."""

    def __init__(self, evictable: Sequence[int], pages: Sequence[int]) -> None:
        self.evictable, self.pages = evictable, pages
        self.asked: list[tuple[int, ...]] = []

    def evictable_pages(self) -> Sequence[int]:
        return self.evictable

    def evict(self, deficit: Sequence[int]) -> Sequence[int]:
        self.asked.append(tuple(deficit))
        return self.pages


@clause("RFC-0001:C-REPLICA-DETERMINISM/2")
def test_digest_is_the_documented_encoding() -> None:
    allocator = ReferenceAllocator(LaneLayout(2, 4, 10, "blocked", reserved_pages=1))
    allocator.alloc_pages([0, 0, 1])
    # lane 0: local pages 3 ... 9 are free; lane 1: local pages 2 ... 9
    lanes = bytes([0b11111000, 0b11]) + bytes([0b11111100, 0b11])
    expected = hashlib.sha256(b"ownerlanes-state-1|2|4|10|blocked|1\n" + lanes).hexdigest()
    assert allocator.digest() == expected


@clause("RFC-0001:C-DETERMINISTIC-SELECTION/1", "RFC-0001:C-DETERMINISTIC-SELECTION/3")
def test_pages_are_taken_lowest_first_whatever_was_released_last() -> None:
    allocator = ReferenceAllocator(LAYOUT)
    assert allocator.alloc_pages([1, 0, 1, 1]) == (3, 2, 5, 7)
    allocator.free_pages([7, 3])
    assert allocator.alloc_pages([1]) == (3,)
    assert allocator.snapshot().free == ((2, 3), (3,))


@clause("RFC-0001:C-FLATTENED-ORDER/6", "RFC-0001:C-FLATTENED-ORDER/7")
def test_slots_fill_the_tail_page_and_go_on() -> None:
    allocator = ReferenceAllocator(LAYOUT)
    first = allocator.alloc_extend([ExtendRequest(0, 6, RoundRobinPages())])
    assert first.out_cache_loc == (8, 9, 10, 11, 12, 13)
    batch = [
        ExtendRequest(6, 9, RoundRobinPages(), last_slot=13),
        ExtendRequest(0, 1, ZigzagPages()),
    ]
    second = allocator.alloc_extend(batch)
    assert second.out_cache_loc == (14, 15, 16, 24)
    assert second.extend_offsets == (0, 3, 4)
    assert second.pages == ((4,), (6,))


@clause(
    "RFC-0001:C-CAPACITY-AND-EVICTION/1",
    "RFC-0001:C-LANE-EVICTION/3",
    "RFC-0001:C-LANE-EVICTION/12",
)
def test_eviction_covers_the_deficit_once() -> None:
    evictor = Gives([2, 0], [4, 2])
    allocator = ReferenceAllocator(LAYOUT, evictor)
    assert allocator.alloc_pages([0, 0, 0, 1]) == (2, 4, 6, 3)
    result = allocator.alloc_extend([ExtendRequest(0, 16, ExplicitOwners([0, 1, 0, 1]))])
    assert evictor.asked == [(2, 0)]
    assert result.evicted == (2, 4)
    assert result.pages == ((2, 5, 4, 7),)


@clause("RFC-0001:C-LANE-EVICTION/2")
def test_an_evictor_that_cannot_help_is_not_asked_to() -> None:
    evictor = Gives([1, 3], [2])
    allocator = ReferenceAllocator(LAYOUT, evictor)
    allocator.alloc_pages([0, 0, 0])
    before = allocator.digest()
    with pytest.raises(CapacityWaitError, match="lane 0: required 2, available 0, deficit 2") as e:
        allocator.alloc_pages([0, 0])
    assert evictor.asked == []
    assert allocator.digest() == before
    assert (e.value.required, e.value.available, e.value.deficit) == ((2, 0), (0, 3), (2, 0))
    assert (e.value.evicted, e.value.infeasible, e.value.can_wait) == ((0, 0), (), True)


@clause("RFC-0001:C-CAPACITY-AND-EVICTION/2", "RFC-0001:C-LANE-EVICTION/8")
def test_what_too_small_an_eviction_released_stays_released() -> None:
    allocator = ReferenceAllocator(LAYOUT, Gives([3, 3], [6]))
    allocator.alloc_pages([0, 0, 0])
    with pytest.raises(CapacityWaitError) as caught:
        allocator.alloc_pages([0, 0])
    assert (caught.value.available, caught.value.deficit) == ((1, 3), (1, 0))
    assert caught.value.evicted == (1, 0)
    assert allocator.snapshot().free == ((3,), (1, 2, 3))


@clause("RFC-0001:C-LANE-EVICTION/6")
@pytest.mark.parametrize(
    ("given", "bad"),
    [([2, 2], [2]), ([2, 3], [3]), ([0, 2], [0]), ([8, 2, -1], [-1, 8]), ([2, "x"], [])],
)
def test_an_evictor_that_gives_what_it_may_not(given: list[int], bad: list[int]) -> None:
    allocator = ReferenceAllocator(LAYOUT, Gives([3, 3], given))
    allocator.alloc_pages([0, 0, 0])
    before = allocator.digest()
    with pytest.raises(EvictorContractError) as caught:
        allocator.alloc_pages([0])
    assert list(caught.value.pages) == bad
    assert allocator.digest() == before


@clause("RFC-0001:C-LANE-EVICTION/6")
def test_a_page_that_the_batch_is_filling_is_not_evicted() -> None:
    allocator = ReferenceAllocator(LAYOUT, Gives([3, 3], [2]))
    allocator.alloc_extend([ExtendRequest(0, 2, ZigzagPages())])
    allocator.alloc_pages([0, 0])
    with pytest.raises(EvictorContractError) as caught:
        allocator.alloc_extend([ExtendRequest(2, 8, ExplicitOwners([0, 0]), last_slot=9)])
    assert caught.value.pages == (2,)


@clause("RFC-0001:C-LANE-EVICTION/5", "RFC-0001:C-LANE-EVICTION/10")
def test_an_evictor_may_free_through_the_allocator_and_do_nothing_else() -> None:
    allocator: ReferenceAllocator

    class Frees(Gives):
        def evict(self, deficit: Sequence[int]) -> Sequence[int]:
            with pytest.raises(ReentrantCallError, match="digest"):
                allocator.digest()
            allocator.free([8, 9])
            assert self.pages == []
            return self.pages

        def evictable_pages(self) -> Sequence[int]:
            with pytest.raises(ReentrantCallError, match="free_pages"):
                allocator.free_pages([2])
            return [1, 0]

    allocator = ReferenceAllocator(LAYOUT, Frees([1, 0], []))
    allocator.alloc_pages([0, 0, 0])
    assert allocator.alloc_pages([0]) == (2,)
    assert allocator.available_pages() == (0, 3)


@clause("RFC-0001:C-LANE-EVICTION/11")
def test_an_evictors_own_exception_propagates_and_nothing_is_released() -> None:
    allocator: ReferenceAllocator

    class Raises(Gives):
        def evict(self, deficit: Sequence[int]) -> Sequence[int]:
            allocator.free_pages([2])
            raise KeyError("cache")

    allocator = ReferenceAllocator(LAYOUT, Raises([3, 0], []))
    allocator.alloc_pages([0, 0, 0])
    with pytest.raises(KeyError, match="cache"):
        allocator.alloc_pages([0])
    assert allocator.available_pages() == (0, 3)
    allocator.free_pages([2])
    assert allocator.available_pages() == (1, 3)


@clause("RFC-0001:C-RELEASE/4")
@pytest.mark.parametrize("bad", [[8, 0], [8, 36], [8, -1], [8, 20], [8.0], [True], 5, ["8"]])
def test_a_bad_release_releases_nothing(bad: object) -> None:
    allocator = ReferenceAllocator(LAYOUT)
    allocator.alloc_pages([0])
    with pytest.raises(InvalidFreeError):
        allocator.free(bad)  # type: ignore[arg-type]
    assert allocator.available_pages() == (2, 3)


@clause("RFC-0001:C-ATOMIC-BATCH/2")
def test_requests_are_checked_before_plans_and_plans_before_capacity() -> None:
    allocator = ReferenceAllocator(LAYOUT)
    huge = ExtendRequest(0, 4000, RoundRobinPages())
    mixed = ExtendRequest(4, 8, RoundRobinPages(), phase=1)
    tail = ExtendRequest(3, 8, RoundRobinPages(), last_slot=10)
    with pytest.raises(InvalidRequestError, match="allocated page") as invalid:
        allocator.alloc_extend([huge, mixed, tail])
    assert invalid.value.request_index == 2
    allocator.alloc_pages([0])
    wrong_lane = ExtendRequest(3, 8, RoundRobinPages(), last_slot=10, phase=1)
    with pytest.raises(UnsupportedPagePlanError) as unsupported:
        allocator.alloc_extend([huge, wrong_lane])
    assert unsupported.value.request_index == 1


@clause("RFC-0001:C-ATOMIC-BATCH/9")
@pytest.mark.parametrize("bad", [None, 7, ExtendRequest(0, 1, ZigzagPages())])
def test_what_is_not_a_batch_is_refused(bad: object) -> None:
    with pytest.raises(InvalidArgumentError, match="requests"):
        ReferenceAllocator(LAYOUT).alloc_extend(bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="layout"):
        ReferenceAllocator(bad)  # type: ignore[arg-type]


@clause("RFC-0001:C-ATOMIC-BATCH/11")
@pytest.mark.parametrize(
    "error",
    [
        UnsupportedPagePlanError(request_index=1, page_position=2, owners=[0, 1]),
        CapacityWaitError(required=[2], available=[1], deficit=[1], evicted=[0], infeasible=[0]),
        InvalidRequestError("seq_len: found -1", request_index=3),
        InvalidFreeError("page 3 is free"),
        EvictorContractError(pages=[1]),
        ReplicaDivergedError(ranks=[1, 2]),
    ],
)
def test_errors_survive_pickling(error: OwnerLaneError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), vars(again)) == (str(error), vars(error))


@clause("RFC-0001:C-LANE-EVICTION/5", "RFC-0001:C-LANE-EVICTION/10")
def test_a_generator_is_part_of_the_evictors_answer() -> None:
    """Its body runs while the evictor is being asked, and what it frees is judged with the rest."""
    allocator: ReferenceAllocator

    class Cache(Gives):
        def evict(self, deficit: Sequence[int]) -> Sequence[int]:
            def pages() -> Iterator[int]:
                allocator.free_pages(self.pages)
                with pytest.raises(ReentrantCallError):
                    allocator.alloc_pages([0])
                yield from ()

            return pages()  # type: ignore[return-value]

    cache = Cache([3], [])
    allocator = ReferenceAllocator(LaneLayout(1, 2, 4), cache)
    cache.pages = allocator.alloc_pages([0, 0, 0])
    with pytest.raises(EvictorContractError) as caught:
        allocator.alloc_extend([ExtendRequest(1, 6, ZigzagPages(), last_slot=2)])
    assert caught.value.pages == (1,)
    assert allocator.available_pages() == (0,)


@clause("RFC-0001:C-LANE-EVICTION/4")
def test_the_evictor_is_not_asked_when_there_is_no_phase_to_choose() -> None:
    class NotAsked(Gives):
        def evictable_pages(self) -> Sequence[int]:
            raise AssertionError("asked")

    allocator = ReferenceAllocator(LaneLayout(1, 2, 4), NotAsked([0], []))
    short = ExtendRequest(0, 20, ZigzagPages())
    empty = ExtendRequest(0, 0, ZigzagPages(), phase=None)
    assert allocator.plan_extend([short, empty]).deficit == (7,)


class Rude:
    def __index__(self) -> int:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "bad",
    [np.array([1]), np.bool_(True), torch.tensor(True), torch.tensor([2]), Rude(), 10**5000, "2"],
    ids=["array", "bool", "bool tensor", "tensor", "rude", "huge", "text"],
)
def test_what_is_not_an_integer_or_too_large_is_the_contracts_own_error(bad: object) -> None:
    allocator = ReferenceAllocator(LAYOUT)
    allocator.alloc_pages([0, 0, 0])
    with pytest.raises(InvalidFreeError):
        allocator.free_pages([bad])  # type: ignore[list-item]
    with pytest.raises(InvalidArgumentError):
        allocator.alloc_pages([bad])  # type: ignore[list-item]
    with pytest.raises(InvalidRequestError):
        allocator.alloc_extend([ExtendRequest(0, bad, ZigzagPages())])  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError):
        LAYOUT.local_slot(bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError):
        ReferenceAllocator(LAYOUT, evictor=bad)  # type: ignore[arg-type]
    assert allocator.available_pages() == (0, 3)


@clause("RFC-0001:C-UNSUPPORTED-PLANS/5")
@pytest.mark.parametrize("two", [np.int64(2), np.uint8(2), torch.tensor(2), torch.tensor(2).int()])
def test_integers_of_array_libraries_are_integers(two: int) -> None:
    allocator = ReferenceAllocator(LAYOUT)
    assert allocator.alloc_pages([np.int32(1), torch.tensor(0)]) == (3, 2)  # type: ignore[list-item]
    assert type(LAYOUT.local_slot(two)) is int
    allocator.free_pages([two])
    assert allocator.available_pages() == (3, 2)
    request = ExtendRequest(two, two + two, ZigzagPages(), np.int64(13), phase=np.int8(1))
    assert allocator.alloc_extend([request]).out_cache_loc == (14, 15)


def test_a_split_is_one_of_the_six_and_not_a_subclass() -> None:
    class Loose(ZigzagPages):
        def __post_init__(self) -> None:
            pass

    with pytest.raises(InvalidRequestError, match="split"):
        ReferenceAllocator(LAYOUT).alloc_extend([ExtendRequest(0, 9, Loose(-5))])


def test_equal_layouts_have_equal_digests() -> None:
    class Name(str):
        __slots__ = ()

        def __str__(self) -> str:
            return "Name.INTERLEAVED"

    named = LaneLayout(2, 2, 4, Name("interleaved"))  # type: ignore[arg-type]
    plain = LaneLayout(2, 2, 4)
    assert named == plain
    assert ReferenceAllocator(named).digest() == ReferenceAllocator(plain).digest()
