"""The fault catalogue: well-formed, harmless to its surroundings, and each fault at work."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from ownerlanes.conformance import faults
from ownerlanes.conformance.faults.planting import Fault, plant
from ownerlanes.conformance.protocol import load_candidate
from ownerlanes.reference import ReferenceAllocator, planning
from ownerlanes.reference.contract import (
    CapacityWaitError,
    ExtendRequest,
    LaneLayout,
    RoundRobinPages,
    ZigzagPages,
)
from ownerlanes.rfcs.obligations import load

RFC = load()
LAYOUT = LaneLayout(2, 4, 5)
CATALOGUE = pytest.mark.parametrize("fault", faults.FAULTS, ids=lambda fault: fault.name)


def test_the_catalogue_is_large_and_covers_every_normative_clause() -> None:
    by_clause = Counter(fault.clause.partition("/")[0] for fault in faults.FAULTS)
    normative = {obligation.clause for obligation in RFC.obligations}
    assert len(faults.FAULTS) >= 60
    assert set(by_clause) == normative


def test_names_are_distinct() -> None:
    assert Counter(fault.name for fault in faults.FAULTS).most_common(1)[0][1] == 1


@CATALOGUE
def test_each_fault_names_an_obligation_and_is_a_candidate_by_its_name(fault: Fault) -> None:
    assert RFC.find(fault.clause).id == fault.clause
    assert fault.line.endswith(".")
    assert len(fault.line) < 100
    candidate = load_candidate(f"ownerlanes.conformance.faults:{fault.name}")
    assert candidate.factory is fault
    assert candidate.make(LAYOUT).available_pages() is not None


@pytest.fixture
def one_lane() -> Fault:
    """A fault that plans everything on lane 0."""

    @plant("C-PAGE-OWNERSHIP/1", "planning.zigzag")
    def lane_zero(_: Any, items: int, __: int) -> list[int]:
        """Everything on lane 0."""
        return [0] * items

    return lane_zero


def test_a_fault_is_there_during_the_calls_of_its_own_allocator_only(one_lane: Fault) -> None:
    healthy = planning.zigzag
    request = ExtendRequest(0, 8, ZigzagPages())
    faulty, oracle = one_lane(LAYOUT), ReferenceAllocator(LAYOUT)
    assert [page % 2 for page in faulty.alloc_extend([request]).pages[0]] == [0, 0]
    assert planning.zigzag is healthy
    assert [page % 2 for page in oracle.alloc_extend([request]).pages[0]] == [0, 1]
    with pytest.raises(CapacityWaitError):
        faulty.alloc_extend([request] * 9)
    assert planning.zigzag is healthy


def test_a_call_back_from_the_evictor_leaves_the_fault_in_place(one_lane: Fault) -> None:
    class Evictor:
        allocator: Any = None
        pages: tuple[int, ...] = ()

        def evictable_pages(self) -> tuple[int, int]:
            return (4, 4)

        def evict(self, deficit: tuple[int, ...]) -> None:
            self.allocator.free_pages(self.pages)

    evictor = Evictor()
    faulty = evictor.allocator = one_lane(LAYOUT, evictor)
    evictor.pages = faulty.alloc_extend([ExtendRequest(0, 16, ZigzagPages())]).pages[0]
    given = faulty.alloc_extend([ExtendRequest(0, 16, ZigzagPages())])
    assert [page % 2 for page in given.pages[0]] == [0] * 4


def test_a_fault_whose_target_is_gone_cannot_be_planted() -> None:
    def does_nothing(_: Any) -> None:
        """Nothing."""

    with pytest.raises(KeyError, match="no_such_function"):
        plant("C-RELEASE/1", "pool.no_such_function")(does_nothing)


def test_what_an_allocator_lacks_its_faulty_one_lacks_too(one_lane: Fault) -> None:
    faulty = one_lane(LAYOUT)
    assert not hasattr(faulty, "capabilities")
    assert not hasattr(faulty, "layout_of_something")


def test_state_that_a_fault_keeps_is_its_allocators_own() -> None:
    stale = faults.counts_as_of_the_last_allocation  # type: ignore[attr-defined]
    first, second = stale(LAYOUT), stale(LAYOUT)
    pages = first.alloc_extend([ExtendRequest(0, 8, RoundRobinPages())]).pages[0]
    first.free_pages(pages)
    assert second.available_pages() == (4, 4)
