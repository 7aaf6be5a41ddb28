"""Random serving histories: allocators that evict from caches, oracle and product in lock-step.

Requests match and pin a prefix, extend in chunks that may end inside a page, and finish by
inserting their full pages, or are aborted. The pool is small, so that most extends evict or wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from ownerlanes import gpu, reference
from ownerlanes.conformance.clauses import clause
from ownerlanes.reference import (
    CapacityWaitError,
    ExtendAllocation,
    ExtendRequest,
    LaneLayout,
    RoundRobinPages,
    Split,
    ZigzagPages,
)

LAYOUTS = st.builds(
    LaneLayout,
    num_lanes=st.integers(1, 3),
    page_size=st.integers(1, 3),
    pages_per_lane=st.integers(3, 7),
    placement=st.sampled_from(["interleaved", "blocked"]),
)
SPLITS = st.sampled_from([ZigzagPages(), RoundRobinPages()])
KEYS = st.lists(st.integers(0, 3), min_size=1, max_size=6)
WHICH = st.integers(0, 3)


class Side:
    """An allocator with its cache."""

    def __init__(self, allocator: Any, cache: Any) -> None:
        self.allocator = allocator
        self.cache = cache

    def extend(self, requests: Sequence[ExtendRequest]) -> ExtendAllocation | dict[str, Any]:
        """What an extend gives, as plain data; or what the capacity wait tells."""
        try:
            given = self.allocator.alloc_extend(requests)
        except CapacityWaitError as wait:
            return vars(wait)
        return ExtendAllocation(
            tuple(given.out_cache_loc.tolist())
            if isinstance(given.out_cache_loc, torch.Tensor)
            else given.out_cache_loc,
            given.extend_offsets,
            given.pages,
            given.phases,
            given.evicted,
        )


@dataclass(eq=False)
class Running:
    """A request under way: what it has, in the model's terms, and both caches' prefixes."""

    keys: list[int]
    split: Split
    prefixes: tuple[Any, Any]
    pages: list[int]
    phase: int | None
    tokens: int
    last_slot: int | None = None


class ServingMachine(RuleBasedStateMachine):
    """An engine that serves from both sides at once."""

    @initialize(layout=LAYOUTS)
    def begin(self, layout: LaneLayout) -> None:
        self.layout = layout
        model, cache = reference.LanePrefixCache(layout), gpu.LanePrefixCache(layout)
        self.model = Side(reference.ReferenceAllocator(layout, model), model)
        self.product = Side(gpu.TritonAllocator(layout, cache), cache)
        self.sides = (self.model, self.product)
        self.live: list[Running] = []

    @rule(keys=KEYS, split=SPLITS)
    def start(self, keys: list[int], split: Split) -> None:
        model, product = (side.cache.match(keys) for side in self.sides)
        assert (product.pages, product.phase) == (model.pages, model.phase)
        for side, prefix in zip(self.sides, (model, product), strict=True):
            side.cache.pin(prefix)
        tokens = len(model) * self.layout.page_size
        request = Running(keys, split, (model, product), list(model.pages), model.phase, tokens)
        self.live.append(request)

    @rule(first=WHICH, batch_size=st.integers(1, 2), tokens=st.integers(1, 24))
    def extend(self, first: int, batch_size: int, tokens: int) -> None:
        self.extend_all(self.live[first:][:batch_size], tokens)  # possibly an empty batch

    @rule(keys=KEYS, split=SPLITS)
    def serve(self, keys: list[int], split: Split) -> None:
        """A whole request at once, so that the cache fills."""
        self.start(keys, split)
        self.extend_all(self.live[-1:], len(keys) * self.layout.page_size)
        self.finish_one(self.live[-1])

    def extend_all(self, batch: list[Running], tokens: int) -> None:
        size = self.layout.page_size
        lengths = [min(r.tokens + tokens, len(r.keys) * size) for r in batch]
        # A chunk's plan starts anew at its first page, so a zigzag's phase is the chunk's own.
        requests = [
            ExtendRequest(r.tokens, length, r.split, r.last_slot, self.phase_of(r))
            for r, length in zip(batch, lengths, strict=True)
        ]
        before = self.model.cache.evictable_pages(), self.model.allocator.available_pages()
        expected, found = (side.extend(requests) for side in self.sides)
        assert found == expected
        if not isinstance(expected, ExtendAllocation):
            self.check_wait(expected, *before)
            return
        event("evicted" if expected.evicted else "fitted")
        offsets = expected.extend_offsets
        for i, (request, length) in enumerate(zip(batch, lengths, strict=True)):
            request.pages += expected.pages[i]
            request.phase = expected.phases[i]
            request.tokens = length
            if offsets[i] < offsets[i + 1]:
                request.last_slot = expected.out_cache_loc[offsets[i + 1] - 1]

    def phase_of(self, request: Running) -> int | None:
        return request.phase if isinstance(request.split, RoundRobinPages) else None

    def check_wait(
        self, wait: dict[str, Any], evictable: Sequence[int], free: Sequence[int]
    ) -> None:
        """An honest cache makes up what it said it could, so a wait means that it could not."""
        event("waited")
        assert wait["evicted"] == (0,) * self.layout.num_lanes
        assert wait["available"] == free
        assert any(d > e for d, e in zip(wait["deficit"], evictable, strict=True))

    @rule(which=WHICH)
    def finish(self, which: int) -> None:
        for request in self.live[which:][:1]:
            self.finish_one(request)

    def finish_one(self, request: Running) -> None:
        full = request.tokens // self.layout.page_size
        pages, tail = request.pages[:full], request.pages[full:]
        results = [
            side.cache.insert(request.keys[:full], pages, request.phase) for side in self.sides
        ]
        assert results[0].duplicates == results[1].duplicates
        self.leave(request, [*results[0].duplicates, *tail])

    @rule(which=WHICH)
    def abort(self, which: int) -> None:
        for request in self.live[which:][:1]:
            self.abort_one(request)

    def abort_one(self, request: Running) -> None:
        self.leave(request, request.pages[len(request.prefixes[0]) :])

    def leave(self, request: Running, pages: Iterable[int]) -> None:
        self.live.remove(request)
        for side, prefix in zip(self.sides, request.prefixes, strict=True):
            side.cache.unpin(prefix)
            side.allocator.free_pages(list(pages))

    @rule(counts=st.lists(st.integers(0, 2), min_size=3, max_size=3))
    def offload(self, counts: list[int]) -> None:
        """The engine evicts by itself, to move pages to the host, say."""
        given_up = [side.cache.evict(counts[: self.layout.num_lanes]) for side in self.sides]
        assert given_up[0] == given_up[1]
        for side in self.sides:
            side.allocator.free_pages(given_up[0])

    @invariant()
    def equal_state(self) -> None:
        assert self.product.allocator.digest() == self.model.allocator.digest()
        assert self.product.cache.pages_by_lane() == self.model.cache.pages_by_lane()
        assert self.product.cache.evictable_pages() == self.model.cache.evictable_pages()

    @invariant()
    def every_page_is_free_cached_or_live(self) -> None:
        layout, side = self.layout, self.product
        free = {
            layout.page(lane, local)
            for lane, locals_ in enumerate(side.allocator.snapshot().free)
            for local in locals_
        }
        live = [page for r in self.live for page in r.pages[len(r.prefixes[0]) :]]
        cached = {page for page in range(layout.num_pages) if side.cache.owns(page)}
        assert len(set(live)) == len(live)
        assert not free & cached
        assert not set(live) & (free | cached)
        for lane in range(layout.num_lanes):
            held = [p for p in (*free, *live, *cached) if layout.lane_of_page(p) == lane]
            assert len(held) == layout.capacity

    @invariant()
    def pinned_prefixes_survive(self) -> None:
        for request in self.live:
            assert all(map(self.product.cache.owns, request.prefixes[1].pages))


ServingMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=40)


@clause(
    "RFC-0001:C-LANE-EVICTION/3",
    "RFC-0001:C-LANE-EVICTION/7",
    "RFC-0001:C-LANE-EVICTION/21",
    "RFC-0001:C-CAPACITY-AND-EVICTION/1",
    "RFC-0001:C-CAPACITY-AND-EVICTION/4",
)
class TestServing(ServingMachine.TestCase):  # type: ignore[misc, valid-type]
    """pytest collects this one."""
