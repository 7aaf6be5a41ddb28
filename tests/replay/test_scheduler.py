"""The scheduler: everybody is served or refused for a reason, and nothing is left behind."""

from __future__ import annotations

import random
import re
from collections.abc import Hashable, Sequence
from dataclasses import replace

import pytest

from ownerlanes.conformance.clauses import clause
from ownerlanes.conformance.replay import runs
from ownerlanes.conformance.replay.pools import oracle_side
from ownerlanes.conformance.replay.scheduler import InFlight, Scheduler
from ownerlanes.conformance.replay.settings import ReplaySettings
from ownerlanes.conformance.replay.sides import LockStep, Side
from ownerlanes.conformance.replay.splits import SplitName, split_for
from ownerlanes.conformance.replay.tally import Tally
from ownerlanes.conformance.replay.workload import Prompt
from ownerlanes.reference import (
    CachedPrefix,
    CapacityWaitError,
    ExtendAllocation,
    ExtendRequest,
    InsertResult,
    InvalidArgumentError,
    LaneLayout,
    LanePrefixCache,
    ReferenceAllocator,
)

PAGE = 4


def workload(seed: int, requests: int = 60, longest: int = 160) -> list[Prompt]:
    """Prompts of a few conversations, some longer than small pools can hold."""
    rng = random.Random(seed)
    prompts = []
    for index in range(requests):
        tokens = rng.choice([0, 1, PAGE, rng.randrange(longest // 4), rng.randrange(longest)])
        chat = rng.randrange(5)
        keys = tuple(chat * 1_000 + page for page in range(tokens // PAGE))
        shared = rng.randrange(len(keys) + 1)
        own = (1_000_000 * (index + 1) + page for page in range(shared, len(keys)))
        prompts.append(Prompt(index, tokens, (*keys[:shared], *own)))
    return prompts


def settings(pages_per_lane: int, **changed: object) -> ReplaySettings:
    layout = LaneLayout(num_lanes=3, page_size=PAGE, pages_per_lane=pages_per_lane)
    defaults = {"chunk": 24, "batch_tokens": 60, "in_flight": 5}
    return ReplaySettings(layout, **{**defaults, **changed})  # type: ignore[arg-type]


def replayed(
    chosen: ReplaySettings, prompts: Sequence[Prompt]
) -> tuple[runs.Outcome, ReferenceAllocator, LanePrefixCache]:
    side = oracle_side(chosen.layout, reuse=True)
    outcome = runs.run(chosen, prompts, [side])
    assert isinstance(side.allocator, ReferenceAllocator)
    assert isinstance(side.cache, LanePrefixCache)
    return outcome, side.allocator, side.cache


@pytest.mark.parametrize("pages_per_lane", [1, 2, 3, 5, 8, 13, 40])
@pytest.mark.parametrize("seed", range(4))
def test_everybody_leaves_and_every_page_is_free_or_cached(pages_per_lane: int, seed: int) -> None:
    chosen = settings(pages_per_lane)
    prompts = workload(seed)
    outcome, allocator, cache = replayed(chosen, prompts)
    tally = outcome.tally
    assert tally.served + tally.infeasible == len(prompts)
    free, cached = allocator.available_pages(), cache.pages_by_lane()
    assert [a + b for a, b in zip(free, cached, strict=True)] == [chosen.layout.capacity] * 3
    assert cache.evictable_pages() == cached, "a pin was left behind"


@pytest.mark.parametrize("pages_per_lane", [2, 3, 5, 8])
@pytest.mark.parametrize("split", SplitName)
def test_only_what_cannot_fit_alone_is_refused(pages_per_lane: int, split: SplitName) -> None:
    chosen = settings(pages_per_lane, split=split)
    prompts = workload(seed=9)
    outcome, _, _ = replayed(chosen, prompts)
    fitting = sum(fits_alone(prompt, chosen) for prompt in prompts)
    assert outcome.tally.served == fitting
    assert 0 < fitting < len(prompts)


def fits_alone(prompt: Prompt, chosen: ReplaySettings) -> bool:
    """Whether an empty pool takes the prompt, chunk by chunk in the phase of its first one."""
    allocator = ReferenceAllocator(chosen.layout)
    phase = None
    for start in range(0, prompt.tokens, chosen.chunk_tokens):
        end = min(start + chosen.chunk_tokens, prompt.tokens)
        split = split_for(chosen.split, end - start, chosen.layout)
        try:
            given = allocator.alloc_extend([ExtendRequest(start, end, split, phase=phase)])
        except CapacityWaitError:
            return False
        (phase,) = given.phases
    return True


def test_pressure_makes_requests_wait_and_go_back_to_the_queue() -> None:
    tally = replayed(settings(13), workload(seed=1))[0].tally
    assert tally.waits
    assert tally.requeued
    assert tally.evicted
    assert all(any(wait.deficit) for wait in tally.waits)


def test_the_youngest_goes_back_first_and_order_is_kept() -> None:
    class Watched(Scheduler):
        """Looks at who goes back, through what the scheduler keeps to itself."""

        returned = 0

        def _requeue(self, request: InFlight) -> None:
            assert request is self._in_flight[-1]
            super()._requeue(request)
            order = [r.prompt.index for r in self._in_flight] + [p.index for p in self._waiting]
            assert order == sorted(order)
            self.returned += 1

    chosen = settings(13)
    scheduler = Watched(
        LockStep(chosen.layout, [oracle_side(chosen.layout, reuse=True)]),
        chosen,
        workload(seed=1),
        Tally(chosen.layout),
    )
    scheduler.run()
    assert scheduler.returned > 3


def test_without_pressure_nothing_waits_and_every_shared_page_is_reused() -> None:
    chosen = settings(4_000, batch_tokens=1, in_flight=1, chunk=1_000)
    prompts = workload(seed=5)
    tally = replayed(chosen, prompts)[0].tally
    seen: set[tuple[int, ...]] = set()
    reused = 0
    for prompt in prompts:
        reusable = prompt.keys[: max(0, prompt.tokens - 1) // PAGE]
        reused += next(n for n in range(len(reusable), -1, -1) if not n or reusable[:n] in seen)
        seen.update(prompt.keys[:n] for n in range(1, len(prompt.keys) + 1))
    assert (tally.waits, tally.requeued, tally.evicted, tally.infeasible) == ([], 0, 0, 0)
    assert tally.reused == reused * PAGE > 0
    assert tally.tokens == sum(prompt.tokens for prompt in prompts)
    assert tally.computed == tally.tokens - tally.reused


class LengthsNoted(ReferenceAllocator):
    """Remembers the lengths of the extends of each batch."""

    def __init__(self, layout: LaneLayout) -> None:
        super().__init__(layout)
        self.batches: list[list[int]] = []

    def alloc_extend(self, requests: Sequence[ExtendRequest]) -> ExtendAllocation:
        self.batches.append([request.seq_len - request.prefix_len for request in requests])
        return super().alloc_extend(requests)


def test_a_batch_keeps_to_its_limits() -> None:
    chosen = settings(100, chunk=26, batch_tokens=60, in_flight=4)
    allocator = LengthsNoted(chosen.layout)
    prompts = [replace(prompt, keys=()) for prompt in workload(seed=3)]
    runs.run(chosen, prompts, [Side("oracle", allocator, None, is_oracle=True)])
    assert max(map(max, allocator.batches)) == 24, "chunks are whole pages"
    assert 24 * 2 < max(map(sum, allocator.batches)) <= 60
    assert max(map(len, allocator.batches)) == 4
    assert sum(map(sum, allocator.batches)) == sum(prompt.tokens for prompt in prompts)


def test_a_replay_repeats_itself() -> None:
    first, second = (replayed(settings(7), workload(seed=4))[0].tally for _ in range(2))
    assert first.samples == second.samples
    assert first.waits == second.waits


def test_a_fixed_phase_is_kept() -> None:
    chosen = settings(50, phase=2, in_flight=1)
    side = oracle_side(chosen.layout, reuse=False)
    prompt = Prompt(0, PAGE, ())
    outcome = runs.run(chosen, [prompt], [side])
    assert outcome.tally.samples[0].live == (0, 0, 1)


class Noted(LanePrefixCache):
    """Notes the calls that matter to a prefix's protection."""

    def __init__(self, layout: LaneLayout) -> None:
        super().__init__(layout)
        self.calls: list[str] = []

    def match(self, keys: Sequence[Hashable]) -> CachedPrefix:
        self.calls.append("match")
        return super().match(keys)

    def pin(self, prefix: CachedPrefix) -> None:
        self.calls.append("pin")
        super().pin(prefix)

    def unpin(self, prefix: CachedPrefix) -> None:
        self.calls.append("unpin")
        super().unpin(prefix)

    def insert(
        self, keys: Sequence[Hashable], pages: Sequence[int], phase: int | None = None
    ) -> InsertResult:
        self.calls.append("insert")
        return super().insert(keys, pages, phase)

    def evict(self, deficit: Sequence[int], /) -> tuple[int, ...]:
        self.calls.append("evict")
        return super().evict(deficit)


@clause("RFC-0001:C-LANE-EVICTION/25")
def test_a_prefix_is_pinned_from_match_to_insert() -> None:
    chosen = settings(16, in_flight=1)
    cache = Noted(chosen.layout)
    side = Side("oracle", ReferenceAllocator(chosen.layout, cache), cache, is_oracle=True)
    runs.run(chosen, workload(seed=0), [side])
    history = " ".join(cache.calls)
    assert re.fullmatch(r"(match pin (evict )*insert unpin ?|evict ?)+", history), history
    assert "evict" in history


def test_a_chain_is_followed_or_a_phase_chosen_anew() -> None:
    """The first prompt's pages are on lanes 0 and 1, so the second's is on lane 2, phase 2.

    The third reuses that page and adds two, in the same phase or in one that levels the lanes.
    """
    keys = tuple(range(3))
    prompts = [Prompt(0, 2 * PAGE, (10, 11)), Prompt(1, PAGE, keys[:1]), Prompt(2, 3 * PAGE, keys)]
    for follow_chain, lanes in ((True, [2, 2, 0]), (False, [2, 0, 1])):
        chosen = settings(50, in_flight=1, follow_chain=follow_chain, batch_tokens=1)
        outcome, _, cache = replayed(chosen, prompts)
        found = cache.peek(keys).pages
        assert [chosen.layout.lane_of_page(page) for page in found] == lanes
        assert outcome.tally.reused == PAGE


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"phase": 3}, "phase: expected 0 <= phase < 3"),
        ({"chunk": 3}, "chunk: expected at least one page"),
        ({"chunk": 0}, "chunk: expected 1 <= chunk"),
        ({"batch_tokens": 0}, "batch_tokens: expected 1 <= batch_tokens"),
        ({"in_flight": 0}, "in_flight: expected 1 <= in_flight"),
    ],
)
def test_settings_out_of_range(changed: dict[str, int], told: str) -> None:
    with pytest.raises(InvalidArgumentError, match=told):
        settings(5, **changed)
