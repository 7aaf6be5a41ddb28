"""What the engines' cache costs, counted rather than timed: memory a page, steps of a call.

Steps are lines of Python run, which do not depend on the machine; benchmarks/cache.py has times.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from ownerlanes.conformance.clauses import clause
from ownerlanes.gpu import LanePrefixCache
from ownerlanes.reference import LaneLayout

LANES = 8


def filled(pages: int, chain: int, warm: int = 0) -> LanePrefixCache:
    """Chains without a common key; the `warm` first of them are matched once more."""
    cache = LanePrefixCache(LaneLayout(LANES, 64, pages // LANES + 2))
    ids = range(LANES, LANES + pages)
    for first in range(0, pages, chain):
        cache.insert(ids[first : first + chain], ids[first : first + chain])
    for first in range(0, warm * chain, chain):
        cache.match(ids[first : first + chain])
    return cache


def steps(call: Callable[..., Any], *arguments: Any) -> int:
    """Lines of Python that a call runs."""
    lines = 0

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    outer = sys.gettrace()
    sys.settrace(trace)
    try:
        call(*arguments)
    finally:
        sys.settrace(outer)
    return lines


@pytest.mark.parametrize("chain", [1, 3, 200])
def test_a_page_takes_less_than_400_bytes(chain: int) -> None:
    pages = 6_000
    tracemalloc.start()
    cache = filled(pages, chain)
    kept, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(cache.pages_by_lane()) == pages
    assert kept / pages < 400


@pytest.mark.parametrize("chain", [1, 40])
def test_evict_does_not_look_at_the_whole_cache(chain: int) -> None:
    small, large = filled(800, chain), filled(8000, chain)
    deficit = [4] * LANES
    assert steps(large.evict, deficit) <= steps(small.evict, deficit) * 1.1


def test_evict_passes_over_lanes_that_are_not_short_without_looking() -> None:
    """Thousands of older pages are on other lanes; only the short lane's are looked at."""
    costs = []
    for others in (100, 5000):
        cache = LanePrefixCache(LaneLayout(2, 64, 6000))
        for local_page in range(1, others):
            cache.insert([local_page], [2 * local_page])
        cache.insert(["wanted"], [3])
        costs.append(steps(cache.evict, [0, 1]))
        assert not cache.owns(3)
    assert costs[0] == costs[1]


def test_evict_does_not_look_at_pinned_prefixes_again_and_again() -> None:
    cache = LanePrefixCache(LaneLayout(2, 64, 6000))
    for local_page in range(1, 3000):
        cache.pin(cache.insert([local_page], [2 * local_page]).prefix)
    for local_page in range(3000, 3010):
        cache.insert([local_page], [2 * local_page])
    cache.evict([1, 0])
    assert steps(cache.evict, [1, 0]) < 200


def test_using_a_prefix_again_does_not_make_later_evictions_dearer() -> None:
    cache = filled(400, 40)
    keys = range(LANES, LANES + 40)
    untouched = steps(filled(400, 40).evict, [1] * LANES)
    for _ in range(20_000):
        cache.match(keys)
    tracemalloc.start()
    for _ in range(5_000):
        cache.match(keys)
    grown, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 400 * 400
    assert steps(cache.evict, [1] * LANES) < untouched + 20_000


@pytest.mark.parametrize("call", ["match", "insert", "pin", "unpin", "evictable_pages"])
def test_calls_cost_the_path_and_not_the_cache(call: str) -> None:
    costs = []
    for pages in (800, 8000):
        cache = filled(pages, 40)
        keys, ids = range(LANES, LANES + 40), range(LANES, LANES + 40)
        prefix = cache.match(keys)
        cache.pin(prefix)
        arguments: dict[str, tuple[Any, ...]] = {
            "match": (keys,),
            "insert": (keys, ids),
            "pin": (prefix,),
            "unpin": (prefix,),
            "evictable_pages": (),
        }
        costs.append(steps(getattr(cache, call), *arguments[call]))
    assert costs[1] <= costs[0] * 1.1


HISTORY = """
import random
from ownerlanes import gpu, reference
layout = reference.LaneLayout(3, 4, 12)
for make in (reference.LanePrefixCache, gpu.LanePrefixCache):
    cache, chance, told = make(layout), random.Random(5), []
    for _ in range(400):
        keys = [frozenset([f"key {chance.randrange(3)}", "x"]) for _ in range(5)]
        free = [p for p in range(3, 36) if not cache.owns(p)]
        cached = cache.match(keys).pages
        keys = keys[: len(cached) + len(free)]
        told.append(cache.insert(keys, [*cached, *free][: len(keys)]).prefix.pages)
        told.append(cache.evict([chance.randrange(3) for _ in range(3)]))
    print(told)
"""


@clause("RFC-0001:C-REPLICA-DETERMINISM", "RFC-0001:C-LANE-EVICTION/23")
def test_hash_order_decides_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    other_seed = "1" if os.environ.get("PYTHONHASHSEED") == "2" else "2"
    other = subprocess.run(
        [sys.executable, "-c", HISTORY],
        env={**os.environ, "PYTHONHASHSEED": other_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    exec(HISTORY, {})
    here = capsys.readouterr().out
    assert other.stdout == here
    assert len(set(here.splitlines())) == 1
    assert here.count("(") > 1000
