"""Small histories of a prefix cache, worked out by hand, on both implementations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ownerlanes.conformance.clauses import clause
from ownerlanes.reference import (
    InvalidArgumentError,
    LaneLayout,
    PinError,
    StalePrefixError,
)

MakeCache = Callable[[LaneLayout], Any]
# Interleaved, 2 lanes: even pages are on lane 0, odd ones on lane 1; 0 and 1 are reserved.
LAYOUT = LaneLayout(num_lanes=2, page_size=4, pages_per_lane=20)
EVICTION = "RFC-0001:C-LANE-EVICTION"


@clause(f"{EVICTION}/13", f"{EVICTION}/15")
def test_the_longest_cached_prefix_is_found(make_cache: MakeCache) -> None:
    cache = make_cache(LAYOUT)
    inserted = cache.insert(["a", "b", "c"], [2, 3, 4], phase=1)
    assert inserted.prefix.pages == (2, 3, 4)
    assert inserted.duplicates == ()
    found = cache.match(["a", "b", "x"])
    assert (found.pages, len(found), found.phase) == ((2, 3), 2, 1)
    assert cache.match(["b"]).pages == ()
    assert cache.match([]).phase is None


@clause(f"{EVICTION}/15")
def test_a_chain_is_extended_and_branches(make_cache: MakeCache) -> None:
    cache = make_cache(LAYOUT)
    cache.insert("ab", [2, 3], phase=1)
    assert cache.insert("abc", [2, 3, 4], phase=0).prefix.pages == (2, 3, 4)
    assert cache.insert("abd", [2, 3, 5]).prefix.pages == (2, 3, 5)
    assert cache.insert("x", [6], 1).prefix.pages == (6,)
    assert [cache.match(keys).phase for keys in ("ab", "abc", "abd", "x")] == [1, 0, None, 1]
    assert cache.pages_by_lane() == (3, 2)


@clause(f"{EVICTION}/15")
def test_a_page_for_a_cached_key_is_a_duplicate_unless_it_is_the_same(
    make_cache: MakeCache,
) -> None:
    cache = make_cache(LAYOUT)
    cache.insert("ab", [2, 3], phase=1)
    again = cache.insert("abc", [4, 3, 5], phase=0)
    assert again.prefix.pages == (2, 3, 5)
    assert again.duplicates == (4,)
    assert not cache.owns(4)
    assert cache.match("ab").phase == 1


@pytest.mark.parametrize(
    ("keys", "pages"),
    [
        ("abx", [2, 3, 3]),  # twice in one call
        ("abx", [4, 5, 4]),  # twice, though one of them is a duplicate
        ("abx", [3, 2, 4]),  # cached under each other's key
        ("xy", [4, 3]),  # cached under a chain that ends otherwise
        ("b", [3]),  # the same key, but under another parent
        ("abx", [2, 3, 1]),  # reserved
        ("a", [0]),  # reserved, though its key is cached
        ("abx", [2, 3, 40]),  # out of range
        ("abx", [2, 3, -1]),
        ("abx", [2, 3, 2**70]),
        ("abx", [2, 3]),  # fewer pages than keys
        ("ab", [2, 3, 4]),
        ("abx", [2, 3, True]),
        ("abx", [2, 3, 4.0]),
        ("abx", 7),
        (7, [2]),
        ([["a"]], [4]),  # unhashable
    ],
)
@clause(f"{EVICTION}/16")
def test_insert_refuses_and_changes_nothing(make_cache: MakeCache, keys: Any, pages: Any) -> None:
    cache = make_cache(LAYOUT)
    cache.insert("ab", [2, 3])
    cache.insert("q", [6])
    with pytest.raises(InvalidArgumentError):
        cache.insert(keys, pages)
    assert cache.pages_by_lane() == (2, 1)
    assert not any(map(cache.owns, (1, 4, 5)))
    assert cache.match("abx").pages == (2, 3)
    assert cache.match("x").pages == ()


@pytest.mark.parametrize("phase", [-1, 2, "0", True, 1.0])
def test_a_phase_is_a_rotation_or_none(make_cache: MakeCache, phase: Any) -> None:
    cache = make_cache(LAYOUT)
    with pytest.raises(InvalidArgumentError):
        cache.insert("a", [2], phase)
    assert cache.pages_by_lane() == (0, 0)


def test_a_refused_insert_stamps_nothing(make_cache: MakeCache) -> None:
    cache = make_cache(LAYOUT)
    cache.insert("a", [2])
    cache.insert("b", [4])
    with pytest.raises(InvalidArgumentError):
        cache.insert("ax", [2, 1])
    assert cache.evict([1, 0]) == (2,)


@pytest.mark.parametrize("call", ["match", "peek"])
@pytest.mark.parametrize("keys", [7, None, [["unhashable"]], ["a", {}]])
def test_keys_are_a_sequence_of_hashables(make_cache: MakeCache, call: str, keys: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        getattr(make_cache(LAYOUT), call)(keys)


def test_any_hashable_is_a_key_and_any_integer_a_page(make_cache: MakeCache) -> None:
    cache = make_cache(LAYOUT)
    nan = float("nan")
    keys = [None, (1, "x"), nan, frozenset({1}), b"digest", np.int64(3)]
    cache.insert(keys, np.arange(2, 8))
    assert cache.match([None, (1, "x"), nan, frozenset({1}), b"digest", 3]).pages == tuple(
        range(2, 8)
    )
    assert cache.match([None, (1, "x"), float("nan")]).pages == (2, 3)
    assert all(type(page) is int for page in cache.match(keys).pages)


def test_pages_far_apart_are_cached(make_cache: MakeCache) -> None:
    layout = LaneLayout(3, 1, 2**60, "blocked")
    cache = make_cache(layout)
    pages = [int(layout.page(2, 2**59)), int(layout.page(0, 1)), int(layout.page(1, 2**60 - 1))]
    cache.insert("abc", pages)
    assert cache.match("abc").pages == tuple(pages)
    assert cache.pages_by_lane() == (1, 1, 1)
    assert cache.evict([0, 0, 1]) == tuple(sorted(pages))


@clause(f"{EVICTION}/23")
def test_least_recently_used_goes_first_and_the_deepest_of_a_path(make_cache: MakeCache) -> None:
    cache = make_cache(LAYOUT)
    cache.insert("abc", [2, 4, 6])
    cache.insert("xyz", [8, 10, 12])
    cache.match("ab")
    assert cache.evict([1, 0]) == (6,)
    assert cache.evict([1, 0]) == (12,)
    assert cache.evict([2, 0]) == (8, 10)
    assert cache.evict([1, 0]) == (4,)


@clause(f"{EVICTION}/14")
def test_a_peek_does_not_make_recent(make_cache: MakeCache) -> None:
    cache = make_cache(LAYOUT)
    cache.insert("a", [2])
    cache.insert("b", [4])
    assert cache.peek("a").pages == (2,)
    assert cache.evict([1, 0]) == (2,)


@clause(f"{EVICTION}/23")
def test_what_is_below_goes_along(make_cache: MakeCache) -> None:
    cache = make_cache(LAYOUT)
    cache.insert("abcd", [2, 4, 3, 5])
    cache.insert("abe", [2, 4, 7])
    # Lane 0 is short: page 4 is its deepest, and all the odd pages hang below it.
    assert cache.evict([1, 0]) == (3, 4, 5, 7)
    assert cache.pages_by_lane() == (1, 0)


@clause(f"{EVICTION}/23")
def test_lanes_that_are_not_short_are_passed_over(make_cache: MakeCache) -> None:
    cache = make_cache(LAYOUT)
    cache.insert("a", [3])
    cache.insert("b", [2])
    cache.insert("cd", [4, 5])
    # Page 3, the oldest, is on lane 1, which is not short.
    assert cache.evict([1, 0]) == (2,)
    # Page 3 is older than 5; then 4 is wanted, and 5 below it goes too.
    assert cache.evict([1, 1]) == (3, 4, 5)


@clause(f"{EVICTION}/23")
def test_nothing_goes_when_nothing_is_short_and_all_when_too_much_is(
    make_cache: MakeCache,
) -> None:
    cache = make_cache(LAYOUT)
    cache.insert("abc", [2, 4, 3])
    assert cache.evict([0, 0]) == ()
    assert cache.evict([0, 9]) == (3,)
    assert cache.evict([9, 9]) == (2, 4)
    assert cache.evict([9, 9]) == ()
    assert cache.evictable_pages() == cache.pages_by_lane() == (0, 0)


@pytest.mark.parametrize("deficit", [[1], [1, 0, 0], [-1, 1], [1, None], [1.0, 1], None, 3])
def test_a_deficit_is_one_count_a_lane(make_cache: MakeCache, deficit: Any) -> None:
    cache = make_cache(LAYOUT)
    cache.insert("a", [2])
    with pytest.raises(InvalidArgumentError):
        cache.evict(deficit)
    assert cache.owns(2)


@clause(f"{EVICTION}/18", f"{EVICTION}/21", f"{EVICTION}/22")
def test_a_pin_protects_its_page_and_all_above_but_nothing_below(make_cache: MakeCache) -> None:
    cache = make_cache(LAYOUT)
    cache.insert("abc", [2, 3, 4])
    cache.insert("ax", [2, 5])
    inner = cache.peek("ab")
    cache.pin(inner)
    assert cache.evictable_pages() == (1, 1)
    assert cache.evict([9, 9]) == (4, 5)
    cache.unpin(inner)
    assert cache.evictable_pages() == (1, 1)
    assert cache.evict([1, 0]) == (2, 3)


@clause(f"{EVICTION}/21", f"{EVICTION}/23")
def test_a_pin_stops_the_walk_up_a_path_of_one_stamp(make_cache: MakeCache) -> None:
    cache = make_cache(LAYOUT)
    cache.insert("abcd", [2, 4, 6, 8])
    cache.pin(cache.peek("ab"))
    assert cache.evict([9, 0]) == (6, 8)


@clause(f"{EVICTION}/22", f"{EVICTION}/23")
def test_unpinned_pages_of_several_stamps_are_all_found(make_cache: MakeCache) -> None:
    cache = make_cache(LAYOUT)
    prefix = cache.insert("abcd", [2, 4, 6, 8]).prefix
    cache.pin(prefix)
    cache.match("ab")
    assert cache.evict([9, 0]) == ()
    cache.insert("x", [10])
    cache.unpin(prefix)
    assert cache.evict([2, 0]) == (6, 8)
    assert cache.evict([2, 0]) == (2, 4)
    assert cache.evict([1, 0]) == (10,)


@clause(f"{EVICTION}/23")
def test_the_deepest_goes_first_after_an_inner_pin(make_cache: MakeCache) -> None:
    cache = make_cache(LAYOUT)
    cache.insert("abcd", [2, 4, 6, 8])
    inner = cache.peek("abc")
    cache.pin(inner)
    cache.unpin(inner)
    assert cache.evict([1, 0]) == (8,)
    assert cache.evict([1, 0]) == (6,)


@clause(f"{EVICTION}/18", f"{EVICTION}/19")
def test_pins_are_counted_on_the_last_page(make_cache: MakeCache) -> None:
    cache = make_cache(LAYOUT)
    long, short = cache.insert("ab", [2, 3]).prefix, cache.peek("a")
    cache.pin(long)
    cache.pin(cache.match("ab"))
    with pytest.raises(PinError):
        cache.unpin(short)
    cache.unpin(long)
    assert cache.evict([9, 9]) == ()
    cache.unpin(long)
    with pytest.raises(PinError):
        cache.unpin(long)
    assert cache.evict([9, 9]) == (2, 3)


def test_unpinned_pages_keep_their_place_in_the_order(make_cache: MakeCache) -> None:
    cache = make_cache(LAYOUT)
    old = cache.insert("abc", [2, 4, 6]).prefix
    cache.insert("x", [8])
    cache.pin(old)
    assert cache.evict([1, 0]) == (8,)
    cache.insert("y", [8])
    cache.unpin(old)
    assert cache.evict([3, 0]) == (2, 4, 6)


@clause(f"{EVICTION}/18")
def test_an_empty_prefix_pins_nothing(make_cache: MakeCache) -> None:
    cache = make_cache(LAYOUT)
    empty = cache.match("a")
    cache.insert("a", [2])
    cache.pin(empty)
    cache.unpin(empty)
    cache.unpin(empty)
    assert cache.evictable_pages() == (1, 0)


@clause(f"{EVICTION}/20")
def test_a_prefix_is_stale_once_a_part_is_gone_even_if_it_is_cached_anew(
    make_cache: MakeCache,
) -> None:
    cache = make_cache(LAYOUT)
    whole, part = cache.insert("ab", [2, 3], 1).prefix, cache.peek("a")
    assert cache.evict([0, 1]) == (3,)
    cache.insert("ab", [2, 3], 1)
    for call in (cache.pin, cache.unpin):
        with pytest.raises(StalePrefixError):
            call(whole)
    assert whole.pages == (2, 3)
    cache.pin(part)
    cache.unpin(part)
    cache.evict([1, 0])
    cache.insert("ab", [2, 3], 1)
    with pytest.raises(StalePrefixError):
        cache.pin(part)
    assert cache.evictable_pages() == (1, 1)


@clause(f"{EVICTION}/24")
def test_clear_gives_up_everything_and_forgets_pins(make_cache: MakeCache) -> None:
    cache = make_cache(LAYOUT)
    prefix = cache.insert("cab", [6, 2, 3]).prefix
    cache.pin(prefix)
    assert cache.clear() == (2, 3, 6)
    assert cache.clear() == ()
    assert cache.pages_by_lane() == cache.evictable_pages() == (0, 0)
    cache.insert("cab", [6, 2, 3])
    with pytest.raises(StalePrefixError):
        cache.unpin(prefix)
    assert cache.evict([1, 0]) == (2, 3)


@pytest.mark.parametrize("call", ["pin", "unpin"])
def test_a_prefix_of_another_cache_is_refused(make_cache: MakeCache, call: str) -> None:
    cache, other = make_cache(LAYOUT), make_cache(LAYOUT)
    cache.insert("a", [2])
    for stranger in (other.insert("a", [2]).prefix, other.match(""), None, (2,)):
        with pytest.raises(InvalidArgumentError):
            getattr(cache, call)(stranger)


@clause(f"{EVICTION}/17")
def test_owns_tells_which_pages_are_cached(make_cache: MakeCache) -> None:
    cache = make_cache(LAYOUT)
    cache.insert("a", [2])
    assert [cache.owns(page) for page in (2, np.int64(2), 3, 0, -1, 2**70)] == [True] * 2 + [
        False
    ] * 4
    for page in ("2", 2.0, None, True):
        with pytest.raises(InvalidArgumentError):
            cache.owns(page)


def test_a_cache_needs_a_layout(make_cache: MakeCache) -> None:
    with pytest.raises(InvalidArgumentError):
        make_cache((2, 4, 20))  # type: ignore[arg-type]


def test_a_layout_without_pages_has_an_empty_cache(make_cache: MakeCache) -> None:
    for placement in ("interleaved", "blocked"):
        cache = make_cache(LaneLayout(2, 4, 0, placement, reserved_pages=0))
        assert cache.insert([], []).prefix.pages == cache.clear() == ()
        with pytest.raises(InvalidArgumentError):
            cache.insert("a", [0])
