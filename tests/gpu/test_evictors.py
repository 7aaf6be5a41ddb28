"""The eviction protocol of TritonAllocator: what evictors of every sort may do, and get told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from batches import layouts, usable_pages
from hypothesis import given
from hypothesis import strategies as st

from ownerlanes.conformance.clauses import clause
from ownerlanes.gpu import (
    CapacityWaitError,
    EvictorContractError,
    ExtendRequest,
    InvalidFreeError,
    LaneLayout,
    ReentrantCallError,
    RoundRobinPages,
    TritonAllocator,
    ZigzagPages,
)
from ownerlanes.reference import ReferenceAllocator

LAYOUT = LaneLayout(2, 4, 5, reserved_pages=1)
"""Pages 2 ... 9; the even ones are lane 0's."""

EIGHT_TOKENS = [ExtendRequest(0, 8, ZigzagPages())]


class Scripted:
    """An evictor that says it can evict `counts` and gives up what `answer` says."""

    def __init__(self, counts: Any, answer: Callable[[TritonAllocator], Any]) -> None:
        self._counts = counts
        self._answer = answer
        self.asked: list[object] = []
        self.allocator: TritonAllocator

    def evictable_pages(self) -> Any:
        self.asked.append("evictable_pages")
        return self._counts(self.allocator) if callable(self._counts) else self._counts

    def evict(self, deficit: Sequence[int]) -> Any:
        self.asked.append(tuple(deficit))
        return self._answer(self.allocator)


def full(counts: Any, answer: Callable[[TritonAllocator], Any]) -> tuple[TritonAllocator, Scripted]:
    """An allocator without a free page, and its evictor."""
    evictor = Scripted(counts, answer)
    evictor.allocator = TritonAllocator(LAYOUT, evictor)
    evictor.allocator.alloc_pages([0, 1] * 4)
    return evictor.allocator, evictor


def releasing_page_by_page(allocator: TritonAllocator) -> Iterator[int]:
    """A generator runs while the allocator reads its answer."""
    for page in (2, 4):
        allocator.free_pages([page])
    yield 9


@clause("RFC-0001:C-CAPACITY-AND-EVICTION/1")
@pytest.mark.parametrize(
    "answer",
    [
        lambda allocator: [9, 2, 4],
        lambda allocator: allocator.free_pages([2, 4, 9]),
        lambda allocator: allocator.free([8, 11, 17, 36]),
        lambda allocator: allocator.free_pages([4]) or (9, 2),
        releasing_page_by_page,
    ],
)
def test_pages_given_up_either_way_are_used(answer: Callable[[TritonAllocator], Any]) -> None:
    allocator, evictor = full([4, 4], answer)
    given = allocator.alloc_extend(EIGHT_TOKENS)
    assert given.evicted == (2, 4, 9)
    assert given.pages == ((2, 9),)
    assert evictor.asked == ["evictable_pages", (1, 1)]
    assert allocator.available_pages() == (1, 0)


@clause("RFC-0001:C-LANE-EVICTION")
def test_an_evictor_that_cannot_cover_a_lane_is_not_asked_to_evict() -> None:
    allocator, evictor = full([4, 0], lambda allocator: [2])
    with pytest.raises(CapacityWaitError) as raised:
        allocator.alloc_extend(EIGHT_TOKENS)
    assert evictor.asked == ["evictable_pages"]
    assert raised.value.evicted == (0, 0)
    assert raised.value.can_wait


@clause("RFC-0001:C-CAPACITY-AND-EVICTION/3", "RFC-0001:C-CAPACITY-AND-EVICTION/5")
def test_what_too_few_pages_leave() -> None:
    allocator, evictor = full([4, 4], lambda allocator: [2, 4])
    with pytest.raises(CapacityWaitError, match="lane 1: required 1, available 0, deficit 1") as e:
        allocator.alloc_extend(EIGHT_TOKENS)
    assert (e.value.available, e.value.deficit, e.value.evicted) == ((2, 0), (0, 1), (2, 0))
    assert allocator.available_pages() == (2, 0)
    assert evictor.asked == ["evictable_pages", (1, 1)]


@clause("RFC-0001:C-LANE-EVICTION")
@pytest.mark.parametrize(
    ("answer", "pages"),
    [
        (lambda allocator: [2, 3, 0, 10, -1, 2], (-1, 0, 2, 10)),
        (lambda allocator: allocator.free_pages([2]) or [3, 2], (2,)),
        (lambda allocator: allocator.free([8]) or allocator.free([9]) or [3], (2,)),
        (lambda allocator: [3, 2**80], (2**80,)),
        (lambda allocator: [2, "3"], ()),
        (lambda allocator: [2, True], ()),
        (lambda allocator: 7, ()),
    ],
)
def test_a_bad_answer_releases_nothing(answer: Any, pages: tuple[int, ...]) -> None:
    allocator, _ = full([4, 4], answer)
    before = allocator.digest()
    with pytest.raises(EvictorContractError) as raised:
        allocator.alloc_extend(EIGHT_TOKENS)
    assert raised.value.pages == pages
    assert allocator.digest() == before
    assert allocator.available_pages() == (0, 0)


@clause("RFC-0001:C-LANE-EVICTION")
def test_a_page_that_the_batch_fills_may_not_go() -> None:
    allocator, _ = full([4, 4], lambda allocator: [4, 3])
    filling = ExtendRequest(2, 12, RoundRobinPages(1), last_slot=4 * 4 + 1)
    with pytest.raises(EvictorContractError) as raised:
        allocator.alloc_extend([filling])
    assert raised.value.pages == (4,)


@pytest.mark.parametrize("counts", [[4], [4, 4, 4], [4, -1], [4, None], 8, [4.0, 4.0]])
def test_bad_counts(counts: object) -> None:
    allocator, evictor = full(counts, lambda allocator: [2, 3])
    with pytest.raises(EvictorContractError, match="evictable_pages") as raised:
        allocator.alloc_extend(EIGHT_TOKENS)
    assert raised.value.pages == ()
    assert evictor.asked == ["evictable_pages"]


CALLS: dict[str, Callable[[TritonAllocator], object]] = {
    "alloc_extend": lambda allocator: allocator.alloc_extend([]),
    "plan_extend": lambda allocator: allocator.plan_extend([]),
    "alloc_pages": lambda allocator: allocator.alloc_pages([]),
    "available_pages": lambda allocator: allocator.available_pages(),
    "available_lower_bound": lambda allocator: allocator.available_lower_bound(),
    "snapshot": lambda allocator: allocator.snapshot(),
    "digest": lambda allocator: allocator.digest(),
    "clear": lambda allocator: allocator.clear(),
}
RELEASES: dict[str, Callable[[TritonAllocator], object]] = {
    "free": lambda allocator: allocator.free([8]),
    "free_pages": lambda allocator: allocator.free_pages([2]),
}


@clause("RFC-0001:C-LANE-EVICTION")
@pytest.mark.parametrize("call", CALLS)
def test_nothing_but_releases_may_be_called_back(call: str) -> None:
    allocator, _ = full([4, 4], CALLS[call])
    before = allocator.digest()
    with pytest.raises(ReentrantCallError, match=rf"{call}\(\).*evict\(\)"):
        allocator.alloc_extend(EIGHT_TOKENS)
    assert allocator.digest() == before  # the door is open again


@clause("RFC-0001:C-LANE-EVICTION")
@pytest.mark.parametrize("call", CALLS | RELEASES)
def test_nothing_may_be_called_back_while_counting(call: str) -> None:
    allocator, _ = full((CALLS | RELEASES)[call], lambda allocator: [2, 3])
    with pytest.raises(ReentrantCallError, match=rf"{call}\(\).*evictable_pages\(\)"):
        allocator.alloc_extend(EIGHT_TOKENS)


@clause("RFC-0001:C-LANE-EVICTION")
def test_an_exception_of_the_evictors_own_comes_through_and_undoes_its_releases() -> None:
    failures = [KeyError("the cache's own")]

    def release_and_fail_once(allocator: TritonAllocator) -> None:
        allocator.free_pages([2, 3])
        if failures:
            raise failures.pop()

    allocator, _ = full([4, 4], release_and_fail_once)
    before = allocator.digest()
    with pytest.raises(KeyError, match="the cache's own"):
        allocator.alloc_extend(EIGHT_TOKENS)
    assert allocator.digest() == before
    assert allocator.alloc_extend(EIGHT_TOKENS).evicted == (2, 3)


def test_a_malformed_release_is_told_to_the_evictor() -> None:
    allocator, _ = full([4, 4], lambda allocator: allocator.free_pages([2.5]))
    with pytest.raises(InvalidFreeError):
        allocator.alloc_extend(EIGHT_TOKENS)


@clause("RFC-0001:C-PHASE-SELECTION/5", "RFC-0001:C-PHASE-SELECTION/7")
def test_open_phases_are_chosen_over_free_and_evictable_and_counted_once() -> None:
    allocator, evictor = full([1, 3], lambda allocator: [3])
    given = allocator.alloc_extend([ExtendRequest(0, 4, ZigzagPages(), phase=None)])
    assert given.phases == (1,)
    assert given.pages == ((3,),)
    assert evictor.asked == ["evictable_pages", (0, 1)]


def test_no_count_is_asked_for_where_there_is_no_choice_of_phase() -> None:
    allocator, evictor = full([0, 0], lambda allocator: [])
    with pytest.raises(CapacityWaitError):
        allocator.alloc_extend(
            [ExtendRequest(0, 4, ZigzagPages()), ExtendRequest(4, 4, ZigzagPages(), phase=None)]
        )
    assert evictor.asked == ["evictable_pages"]  # for the shortage
    evictor.asked.clear()
    assert allocator.plan_extend([ExtendRequest(2, 9, ZigzagPages(), 9, None)]).phases == (0,)
    assert evictor.asked == []


class Hoarder:
    """Holds pages; gives up the lowest of each short lane, and one more of any lane."""

    def __init__(self, layout: LaneLayout, held: Sequence[int]) -> None:
        self._layout = layout
        self._held = sorted(held)

    def evictable_pages(self) -> list[int]:
        lanes = [self._layout.lane_of_page(page) for page in self._held]
        return [lanes.count(lane) for lane in range(self._layout.num_lanes)]

    def evict(self, deficit: Sequence[int]) -> list[int]:
        missing = list(deficit)
        given_up = [page for page in self._held if self._wanted(page, missing)]
        self._held = [page for page in self._held if page not in given_up]
        return given_up + [self._held.pop() for _ in self._held[:1]]

    def _wanted(self, page: int, missing: list[int]) -> bool:
        lane = self._layout.lane_of_page(page)
        missing[lane] -= 1
        return missing[lane] >= 0


@clause("RFC-0001:C-CAPACITY-AND-EVICTION", "RFC-0001:C-ATOMIC-BATCH/7")
@given(st.data(), layouts(largest=5))
def test_eviction_agrees_with_the_oracle(data: st.DataObject, layout: LaneLayout) -> None:
    pages = usable_pages(layout)
    lane = st.integers(0, layout.num_lanes - 1)
    owners = data.draw(st.lists(lane, max_size=12))
    held = data.draw(st.sets(st.sampled_from(pages))) if pages else set()
    outcomes = []
    for kind in (ReferenceAllocator, TritonAllocator):
        allocator = kind(layout, Hoarder(layout, held))
        allocator.alloc_pages([layout.lane_of_page(page) for page in pages])
        try:
            outcomes.append((list(map(int, allocator.alloc_pages(owners))), allocator.digest()))
        except CapacityWaitError as wait:
            outcomes.append((vars(wait), allocator.digest()))
    assert outcomes[1] == outcomes[0]
