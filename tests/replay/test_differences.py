"""A candidate that is wrong in any one thing ends the replay, and what differed is told."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ownerlanes.conformance.generator import generate
from ownerlanes.conformance.replay import runs
from ownerlanes.conformance.replay.pools import oracle_side
from ownerlanes.conformance.replay.settings import ReplaySettings
from ownerlanes.conformance.replay.sides import DivergedError, Side
from ownerlanes.conformance.replay.workload import Prompt, prompts_of
from ownerlanes.reference import (
    CachedPrefix,
    CapacityWaitError,
    ExtendAllocation,
    ExtendRequest,
    InsertResult,
    InvalidFreeError,
    LaneLayout,
    LanePrefixCache,
    PoolSnapshot,
    ReferenceAllocator,
)

LAYOUT = LaneLayout(num_lanes=4, page_size=256, pages_per_lane=90)
SETTINGS = ReplaySettings(LAYOUT, chunk=2_048, batch_tokens=16_384)
PROMPTS = prompts_of(generate(40, seed=6), LAYOUT.page_size, reuse=True)


def replayed(
    allocator: type[ReferenceAllocator] = ReferenceAllocator,
    cache: type[LanePrefixCache] = LanePrefixCache,
    prompts: list[Prompt] = PROMPTS,
) -> runs.Outcome:
    """Oracle against a candidate of these classes."""
    reuse = any(prompt.keys for prompt in prompts)
    candidate_cache = cache(LAYOUT) if reuse else None
    candidate = Side("candidate", allocator(LAYOUT, candidate_cache), candidate_cache)
    return runs.run(SETTINGS, prompts, [oracle_side(LAYOUT, reuse=reuse), candidate])


def test_the_oracle_agrees_with_itself_under_pressure() -> None:
    outcome = replayed()
    assert outcome.compared > 300
    assert outcome.tally.evicted
    assert outcome.tally.waits
    assert outcome.tally.reused


class ChangesAnswer(ReferenceAllocator):
    """Answers something else than it did; the state is right."""

    def alloc_extend(self, requests: Sequence[ExtendRequest]) -> ExtendAllocation:
        return self.changed(super().alloc_extend(requests))

    def changed(self, given: ExtendAllocation) -> ExtendAllocation:
        raise NotImplementedError


class SwapsTwoSlots(ChangesAnswer):
    def changed(self, given: ExtendAllocation) -> ExtendAllocation:
        first, second, *rest = given.out_cache_loc
        return replace(given, out_cache_loc=(second, first, *rest))


class OffByOneLane(ChangesAnswer):
    def changed(self, given: ExtendAllocation) -> ExtendAllocation:
        slots = [slot + LAYOUT.page_size for slot in given.out_cache_loc]
        return replace(given, out_cache_loc=tuple(slots))


class OtherPhase(ChangesAnswer):
    def changed(self, given: ExtendAllocation) -> ExtendAllocation:
        return replace(given, phases=tuple((phase + 1) % 4 for phase in given.phases))


class ForgetsEvicted(ChangesAnswer):
    def changed(self, given: ExtendAllocation) -> ExtendAllocation:
        return replace(given, evicted=given.evicted[1:])


class LosesPages(ChangesAnswer):
    def changed(self, given: ExtendAllocation) -> ExtendAllocation:
        return replace(given, pages=(*given.pages[:-1], given.pages[-1][:-1]))


class ShiftsOffsets(ChangesAnswer):
    def changed(self, given: ExtendAllocation) -> ExtendAllocation:
        return replace(given, extend_offsets=(*given.extend_offsets[:-1], 0))


class ReversesTheBatch(ReferenceAllocator):
    def alloc_extend(self, requests: Sequence[ExtendRequest]) -> ExtendAllocation:
        given = super().alloc_extend(requests[::-1])
        return replace(given, pages=given.pages[::-1], phases=given.phases[::-1])


class RoundsDeficitUp(ReferenceAllocator):
    def alloc_extend(self, requests: Sequence[ExtendRequest]) -> ExtendAllocation:
        try:
            return super().alloc_extend(requests)
        except CapacityWaitError as wait:
            raise CapacityWaitError(
                required=wait.required,
                available=wait.available,
                deficit=tuple(missing + (missing > 0) for missing in wait.deficit),
                evicted=wait.evicted,
                infeasible=wait.infeasible,
            ) from None


class GivesUpForGood(ReferenceAllocator):
    def alloc_extend(self, requests: Sequence[ExtendRequest]) -> ExtendAllocation:
        try:
            return super().alloc_extend(requests)
        except CapacityWaitError:
            raise MemoryError("out of pages") from None


class NeverWaits(ReferenceAllocator):
    def alloc_extend(self, requests: Sequence[ExtendRequest]) -> ExtendAllocation:
        try:
            return super().alloc_extend(requests)
        except CapacityWaitError:
            return ExtendAllocation((), (0,) * (len(requests) + 1), (), (), ())


class TakesOnePageMore(ReferenceAllocator):
    def alloc_extend(self, requests: Sequence[ExtendRequest]) -> ExtendAllocation:
        given = super().alloc_extend(requests)
        self.alloc_pages([0])
        return given


class KeepsWhatIsFreed(ReferenceAllocator):
    def free_pages(self, pages: Any) -> None:
        super().free_pages(list(pages)[1:])


class KeepsTheLastSlot(ReferenceAllocator):
    def free(self, slots: Any) -> None:
        super().free(tuple(slots)[:-1])
        if len({slot // LAYOUT.page_size for slot in slots}) == 1:
            raise InvalidFreeError("free: nothing to release")


class StaleDigest(ReferenceAllocator):
    def digest(self) -> str:
        return "0" * 64


@pytest.mark.parametrize(
    ("allocator", "operation", "field"),
    [
        (SwapsTwoSlots, "alloc_extend", "out_cache_loc[0]"),
        (OffByOneLane, "alloc_extend", "lane_of_slot(out_cache_loc)[0]"),
        (OtherPhase, "alloc_extend", "phases[0]"),
        (ForgetsEvicted, "alloc_extend", "len(evicted)"),
        (LosesPages, "alloc_extend", "len(pages["),
        (ShiftsOffsets, "alloc_extend", "extend_offsets["),
        (ReversesTheBatch, "alloc_extend", "pages["),
        (RoundsDeficitUp, "alloc_extend", "CapacityWaitError.deficit["),
        (GivesUpForGood, "alloc_extend", "error"),
        (NeverWaits, "alloc_extend", "outcome"),
        (TakesOnePageMore, "alloc_extend", "available_pages()["),
        (KeepsWhatIsFreed, "free_pages", "available_pages()["),
        (StaleDigest, "alloc_extend", "digest()"),
    ],
)
def test_a_wrong_allocator_is_told(
    allocator: type[ReferenceAllocator], operation: str, field: str
) -> None:
    with pytest.raises(DivergedError) as caught:
        replayed(allocator=allocator)
    assert caught.value.operation.startswith(operation)
    assert caught.value.difference.field.startswith(field)
    assert str(caught.value).startswith(f"call {caught.value.call} of the replay: {operation}")
    assert "expected" in str(caught.value)
    assert "RFC-0001:C-" in str(caught.value)


def test_without_digest_and_snapshot_counts_are_compared() -> None:
    class Bare(TakesOnePageMore):
        def digest(self) -> str:
            raise NotImplementedError

        def snapshot(self) -> PoolSnapshot:
            raise NotImplementedError

    cache = LanePrefixCache(LAYOUT)
    candidate = Side("bare", Bare(LAYOUT, cache), cache, has_snapshot=False, has_digest=False)
    with pytest.raises(DivergedError) as caught:
        runs.run(SETTINGS, PROMPTS, [oracle_side(LAYOUT, reuse=True), candidate])
    assert caught.value.difference.field == "available_pages()[0]"


def test_a_wrong_release_by_slots_is_told() -> None:
    with pytest.raises(DivergedError) as caught:
        replayed(
            allocator=KeepsTheLastSlot, prompts=[replace(prompt, keys=()) for prompt in PROMPTS]
        )
    assert caught.value.operation.startswith("free(")


class MissesThePrefix(LanePrefixCache):
    def match(self, keys: Sequence[Hashable]) -> CachedPrefix:
        return super().match(keys[:-3])


class ForgetsThePhase(LanePrefixCache):
    def insert(
        self, keys: Sequence[Hashable], pages: Sequence[int], phase: int | None = None
    ) -> InsertResult:
        return super().insert(keys, pages, None)


class ForgetsDuplicates(LanePrefixCache):
    def insert(
        self, keys: Sequence[Hashable], pages: Sequence[int], phase: int | None = None
    ) -> InsertResult:
        return replace(super().insert(keys, pages, phase), duplicates=())


class IgnoresPins(LanePrefixCache):
    def pin(self, prefix: CachedPrefix) -> None:
        return

    def unpin(self, prefix: CachedPrefix) -> None:
        return


class NeverGetsOlder(LanePrefixCache):
    """Its clock stands still, so that what was inserted first goes first."""

    def insert(
        self, keys: Sequence[Hashable], pages: Sequence[int], phase: int | None = None
    ) -> InsertResult:
        self._clock = 0
        return super().insert(keys, pages, phase)


class EvictsEverything(LanePrefixCache):
    def evict(self, deficit: Sequence[int], /) -> tuple[int, ...]:
        return super().evict([count + 1 for count in deficit])


@pytest.mark.parametrize(
    ("cache", "operation", "field"),
    [
        (MissesThePrefix, "match", "len(prefix.pages)"),
        (ForgetsThePhase, "insert", "prefix.phase"),
        (ForgetsDuplicates, "insert", "len(duplicates)"),
        (IgnoresPins, "", ""),
        (NeverGetsOlder, "alloc_extend", ""),
        (EvictsEverything, "alloc_extend", ""),
    ],
)
def test_a_wrong_cache_is_told(cache: type[LanePrefixCache], operation: str, field: str) -> None:
    with pytest.raises(DivergedError) as caught:
        replayed(cache=cache)
    assert caught.value.operation.startswith(operation)
    assert caught.value.difference.field.startswith(field)
