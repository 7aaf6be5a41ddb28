"""Random histories of both caches at once: equal answers, equal errors, equal victims.

What the evictions must have in common with the contract is checked here from outside too, from
the chains that the caches told, so that two caches with one mistake do not pass.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from ownerlanes import gpu, reference
from ownerlanes.conformance.clauses import clause
from ownerlanes.reference import InsertResult, LaneLayout, OwnerLaneError

LAYOUTS = st.builds(
    LaneLayout,
    num_lanes=st.integers(1, 3),
    page_size=st.just(4),
    pages_per_lane=st.integers(2, 12),
    placement=st.sampled_from(["interleaved", "blocked"]),
    reserved_pages=st.integers(0, 1),
)
# Few keys, so that chains meet; a chain goes on along its first key more often than it branches.
KEYS = st.lists(st.sampled_from([0, 0, 0, 1, 2]), max_size=8)
# How a page of an insert is come by: the cached one if there is one, a new one, or any id.
CACHED, NEW = "cached", "new"
SOURCES = st.lists(
    st.one_of(st.sampled_from([CACHED, NEW]), st.integers(-1, 33)), min_size=8, max_size=8
)
FITTING_SOURCES = st.lists(st.sampled_from([CACHED, NEW]), min_size=8, max_size=8)

Pair = tuple[Any, Any]


def comparable(answer: Any) -> Any:
    """What two answers must agree on."""
    if isinstance(answer, InsertResult):
        return comparable(answer.prefix), answer.duplicates
    if hasattr(answer, "phase"):
        return answer.pages, len(answer), answer.phase
    return answer


class TwoCaches(RuleBasedStateMachine):
    """The model cache and the engines' one, call by call."""

    prefixes = Bundle("prefixes")

    @initialize(layout=LAYOUTS)
    def begin(self, layout: LaneLayout) -> None:
        self.layout = layout
        self.model = reference.LanePrefixCache(layout)
        self.cache = gpu.LanePrefixCache(layout)
        self.pinned: list[Pair] = []  # once for each pin
        self.above: dict[int, int | None] = {}  # the page above each page that was cached

    def both(self, name: str, *arguments: Any) -> Pair | None:
        """The answers of both caches, or None when both refuse; arguments may be pairs."""
        outcomes: list[Any] = []
        for side, cache in enumerate((self.model, self.cache)):
            own = [a[side] if isinstance(a, tuple) else a for a in arguments]
            try:
                outcomes.append(getattr(cache, name)(*own))
            except OwnerLaneError as error:
                outcomes.append(type(error))
        model, found = map(comparable, outcomes)
        assert found == model, f"{name}{arguments}: expected {model}, found {found}"
        return None if isinstance(outcomes[0], type) else (outcomes[0], outcomes[1])

    @rule(target=prefixes, keys=KEYS)
    def match(self, keys: list[int]) -> Pair:
        found = self.both("match", keys)
        assert found is not None
        return found

    @rule(target=prefixes, keys=KEYS)
    def peek(self, keys: list[int]) -> Pair:
        return self.peeked(keys)

    def peeked(self, keys: list[int]) -> Pair:
        found = self.both("peek", keys)
        assert found is not None
        return found

    @rule(target=prefixes, keys=KEYS, sources=FITTING_SOURCES, phase=st.integers(0, 3) | st.none())
    def insert(self, keys: list[int], sources: list[Any], phase: int | None) -> Pair:
        keys, pages = self.pages_from(keys, sources)
        if phase is not None:
            phase %= self.layout.num_lanes
        answers = self.both("insert", keys, pages, phase)
        assert answers is not None
        chain = answers[0].prefix.pages
        self.above.update(zip(chain, (None, *chain), strict=False))
        return answers[0].prefix, answers[1].prefix

    @rule(keys=KEYS, sources=SOURCES, phase=st.integers(-1, 4) | st.none())
    def insert_what_may_be_refused(
        self, keys: list[int], sources: list[Any], phase: int | None
    ) -> None:
        keys, pages = self.pages_from(keys, sources)
        answers = self.both("insert", keys, pages, phase)
        if answers is not None:
            chain = answers[0].prefix.pages
            self.above.update(zip(chain, (None, *chain), strict=False))

    def pages_from(self, keys: list[int], sources: list[Any]) -> tuple[list[int], list[int]]:
        """As many of the keys as there are pages for, and a page for each."""
        cached = self.model.peek(keys).pages
        unused = [
            page
            for page in range(self.layout.num_pages)
            if self.layout.local_page(page) >= self.layout.reserved_pages
            and not self.model.owns(page)
        ]
        pages: list[int] = []
        for place, source in zip(range(len(keys)), sources, strict=False):
            if source == CACHED and place < len(cached):
                pages.append(cached[place])
            elif not isinstance(source, str):
                pages.append(source)
            elif unused:
                pages.append(unused.pop(0))
            else:
                break
        return keys[: len(pages)], pages

    @rule(target=prefixes, keys=KEYS)
    def pin_inside(self, keys: list[int]) -> Pair:
        """Pin what is cached of some keys, as old as it is."""
        prefix = self.peeked(keys)
        self.pin(prefix)
        return prefix

    @rule(prefix=prefixes)
    def pin(self, prefix: Pair) -> None:
        if self.both("pin", prefix) is not None and len(prefix[0]):
            self.pinned.append(prefix)

    @rule(prefix=prefixes)
    def unpin(self, prefix: Pair) -> None:
        if self.both("unpin", prefix) is not None and len(prefix[0]):
            # The pins of one page are alike, whichever handle they were made with.
            last = prefix[0].pages[-1]
            del self.pinned[
                next(i for i, held in enumerate(self.pinned) if held[0].pages[-1:] == (last,))
            ]

    @rule()
    def unpin_first(self) -> None:
        """Take back the pin that is held longest."""
        for held in self.pinned[:1]:
            self.unpin(held)

    @rule(counts=st.lists(st.integers(0, 4), min_size=3, max_size=3))
    def evict(self, counts: list[int]) -> None:
        deficit = counts[: self.layout.num_lanes]
        evictable = self.model.evictable_pages()
        answers = self.both("evict", deficit)
        assert answers is not None
        given_up = answers[0]
        lanes = [int(self.layout.lane_of_page(page)) for page in given_up]
        roots = [page for page in given_up if self.above[page] not in given_up]
        for lane, wanted in enumerate(deficit):
            assert lanes.count(lane) >= min(wanted, evictable[lane])
            # A page taken for itself was of a short lane, so no lane has more than its deficit.
            taken_for_itself = [p for p in roots if self.layout.lane_of_page(p) == lane]
            assert len(taken_for_itself) <= wanted

    @precondition(lambda self: self.model.pages_by_lane() != (0,) * self.layout.num_lanes)
    @rule()
    def clear(self) -> None:
        self.both("clear")
        self.pinned.clear()

    @invariant()
    def equal_counts(self) -> None:
        by_lane, evictable = self.both("pages_by_lane"), self.both("evictable_pages")
        assert by_lane is not None
        assert evictable is not None
        protected = {page for prefix, _ in self.pinned for page in prefix.pages}
        owned = [page for page in range(self.layout.num_pages) if self.cache.owns(page)]
        assert owned == [page for page in range(self.layout.num_pages) if self.model.owns(page)]
        for lane in range(self.layout.num_lanes):
            cached = [page for page in owned if self.layout.lane_of_page(page) == lane]
            assert by_lane[0][lane] == len(cached)
            assert evictable[0][lane] == len(set(cached) - protected)

    @invariant()
    def pinned_pages_stay(self) -> None:
        for prefix, _ in self.pinned:
            assert all(map(self.cache.owns, prefix.pages))
            assert all(self.above[under] == page for page, under in pairwise(prefix.pages))


TwoCaches.TestCase.settings = settings(max_examples=150, stateful_step_count=40)


@clause(
    "RFC-0001:C-LANE-EVICTION/13",
    "RFC-0001:C-LANE-EVICTION/14",
    "RFC-0001:C-LANE-EVICTION/15",
    "RFC-0001:C-LANE-EVICTION/16",
    "RFC-0001:C-LANE-EVICTION/17",
    "RFC-0001:C-LANE-EVICTION/18",
    "RFC-0001:C-LANE-EVICTION/19",
    "RFC-0001:C-LANE-EVICTION/20",
    "RFC-0001:C-LANE-EVICTION/21",
    "RFC-0001:C-LANE-EVICTION/22",
    "RFC-0001:C-LANE-EVICTION/23",
    "RFC-0001:C-LANE-EVICTION/24",
)
class TestTwoCaches(TwoCaches.TestCase):  # type: ignore[misc, valid-type]
    """pytest collects this one."""
