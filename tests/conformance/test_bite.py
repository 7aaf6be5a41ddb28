"""The kit bites: each small fault in an allocator is found, and the sound ones pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis.stateful import run_state_machine_as_test

from ownerlanes.conformance import session, strategies
from ownerlanes.conformance.difference import Difference
from ownerlanes.conformance.intents import Intent, PagesIntent
from ownerlanes.conformance.machine import HistoryMachine
from ownerlanes.reference import (
    CapacityWaitError,
    ExtendAllocation,
    InvalidFreeError,
    LaneLayout,
    PoolSnapshot,
    ReferenceAllocator,
    pool,
)

SETTINGS = settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    report_multiple_bugs=False,
)


@SETTINGS
@given(strategies.histories())
def any_calls(history: tuple[LaneLayout, bool, list[Intent]]) -> None:
    layout, evictor, intents = history
    session.direct(layout, intents, evictor=evictor)


@SETTINGS
@given(strategies.layouts(1, 5), strategies.page_calls(faults=False))
def full_pools(layout: LaneLayout, call: PagesIntent) -> None:
    session.direct(layout, [PagesIntent(fit=1), call], evictor=True)


class SwappedSlots(ReferenceAllocator):
    def alloc_extend(self, requests: Any) -> ExtendAllocation:
        given = super().alloc_extend(requests)
        slots = given.out_cache_loc
        return replace(given, out_cache_loc=(*slots[1::-1], *slots[2:]))


class ForgetsAPage(ReferenceAllocator):
    def free(self, slots: Any) -> None:
        checked = list(slots)
        super().free(checked)
        if len(checked) > 2 and not self._evictor.evicting:
            lane = self.layout.lane_of_slot(checked[0])
            self._pool, _ = pool.take(self._pool, [lane])


class DoubleFree(ReferenceAllocator):
    def free_pages(self, pages: Any) -> None:
        try:
            super().free_pages(pages)
        except InvalidFreeError as error:
            if "is free" not in str(error):
                raise


class AggregateDeficit(ReferenceAllocator):
    def alloc_extend(self, requests: Any) -> ExtendAllocation:
        try:
            return super().alloc_extend(requests)
        except CapacityWaitError as error:
            missing = sum(error.deficit)
            lanes = len(error.deficit)
            raise CapacityWaitError(
                required=error.required,
                available=error.available,
                deficit=[missing // lanes] * lanes,
                evicted=error.evicted,
                infeasible=error.infeasible,
            ) from None


class KeepsWhatEvictionGave(ReferenceAllocator):
    def alloc_pages(self, owners: Any) -> Any:
        before = self._pool
        try:
            return super().alloc_pages(owners)
        except CapacityWaitError:
            self._pool = before
            raise


class StaleDigest(ReferenceAllocator):
    def __init__(self, layout: LaneLayout, evictor: Any = None) -> None:
        super().__init__(layout, evictor)
        self._calls = 0

    def digest(self) -> str:
        self._calls += 1
        return super().digest() if self._calls % 7 else "0" * 64


class UnsortedSnapshot(ReferenceAllocator):
    def snapshot(self) -> PoolSnapshot:
        pool = super().snapshot()
        return replace(pool, free=tuple(lane[::-1] for lane in pool.free))


class AsksTwice(ReferenceAllocator):
    def alloc_pages(self, owners: Any) -> Any:
        try:
            return super().alloc_pages(owners)
        except CapacityWaitError:
            return super().alloc_pages(owners)


FAULTS = [
    (SwappedSlots, "C-FLATTENED-ORDER"),
    (ForgetsAPage, "C-RELEASE"),
    (DoubleFree, "C-RELEASE"),
    (AggregateDeficit, "C-CAPACITY-AND-EVICTION"),
    (StaleDigest, "C-REPLICA-DETERMINISM"),
    (UnsortedSnapshot, ""),
    (AsksTwice, "C-LANE-EVICTION"),
]


@pytest.mark.parametrize(
    ("factory", "clause"), FAULTS, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_fault_is_found(
    factory: type[ReferenceAllocator], clause: str, check_candidate: Callable[..., Any]
) -> None:
    check_candidate(factory)
    with pytest.raises(Difference) as found:
        any_calls()
    assert found.value.clause.startswith(f"RFC-0001:{clause}")
    assert found.value.history is not None


def test_what_eviction_gave_up_must_stay_released(check_candidate: Callable[..., Any]) -> None:
    check_candidate(KeepsWhatEvictionGave)
    with pytest.raises(Difference, match="available_pages"):
        full_pools()


def test_the_machine_finds_a_fault_too(check_candidate: Callable[..., Any]) -> None:
    check_candidate(DoubleFree)
    with pytest.raises(Difference, match="C-RELEASE"):
        run_state_machine_as_test(HistoryMachine, settings=SETTINGS)
