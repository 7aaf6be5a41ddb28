"""What the engines' prefix cache costs: bytes a page, time a page, and time a request.

Prints host memory at the size asked for, match and insert rates, what evicting the same deficit
costs at growing cache sizes, and requests a second of a workload's cache calls alone. Planning and
the stand-in for an allocator are outside the clock; replay_speed.py adds the planning.

Run: TRITON_INTERPRET=1 python benchmarks/cache.py [TRACE] [--pages N] [--requests N]
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from ownerlanes.conformance.device import prepare_triton

prepare_triton()

from ownerlanes.conformance.generator import generate  # noqa: E402
from ownerlanes.conformance.replay.workload import prompts_of  # noqa: E402
from ownerlanes.conformance.traces import load_trace  # noqa: E402
from ownerlanes.gpu import CachedPrefix, LaneLayout, LanePrefixCache  # noqa: E402

Result = TypeVar("Result")
LANES, PAGE_SIZE, CHAIN = 8, 64, 190
REPEATS, EVICTIONS = 5, 40


class Clock:
    """CPU seconds of this process that the calls made through it took."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, call: Callable[..., Result], *arguments: Any) -> Result:
        start = time.process_time()
        try:
            return call(*arguments)
        finally:
            self.seconds += time.process_time() - start


def chains(pages: int, length: int) -> Iterator[tuple[range, range]]:
    """Keys and pages of chains of `length` that have nothing in common."""
    for first in range(LANES, LANES + pages, length):
        yield (ids := range(first, min(first + length, LANES + pages))), ids


def empty_cache(pages: int) -> LanePrefixCache:
    return LanePrefixCache(LaneLayout(LANES, PAGE_SIZE, pages // LANES + 2))


def filled_cache(pages: int, length: int = CHAIN) -> LanePrefixCache:
    cache = empty_cache(pages)
    for keys, ids in chains(pages, length):
        cache.insert(keys, ids)
    return cache


def bytes_a_page(pages: int, length: int) -> float:
    """Everything that the cache keeps alive, the keys and page ids it was given included."""
    tracemalloc.start()
    cache = filled_cache(pages, length)
    kept, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(cache.pages_by_lane()) == pages
    return kept / pages


def match_and_insert(pages: int) -> tuple[float, float]:
    """Pages a second of each, the best of some runs."""
    best_insert = best_match = float("inf")
    for _ in range(REPEATS):
        cache, insert, match = empty_cache(pages), Clock(), Clock()
        for keys, ids in chains(pages, CHAIN):
            insert(cache.insert, keys, ids)
        for keys, _ids in chains(pages, CHAIN):
            match(cache.match, keys)
        best_insert = min(best_insert, insert.seconds)
        best_match = min(best_match, match.seconds)
    return pages / best_match, pages / best_insert


def evict_microseconds(pages: int, deficit: Sequence[int]) -> tuple[float, float]:
    """The median of some evictions of this deficit, and the pages that each gives up."""
    cache, times, given_up = filled_cache(pages), [], 0
    for _ in range(EVICTIONS):
        clock = Clock()
        given_up += len(clock(cache.evict, deficit))
        times.append(clock.seconds * 1e6)
    return median(times), given_up / EVICTIONS


class FreePages:
    """As little of an allocator as the replay needs: free pages by lane, page i on lane i mod N."""

    def __init__(self, pages_per_lane: int) -> None:
        everything = range(LANES, LANES * pages_per_lane)
        self.free = [deque(everything[lane::LANES]) for lane in range(LANES)]

    def deficit(self, wanted: range) -> list[int]:
        return [
            max(0, len(wanted[(lane - wanted.start) % LANES :: LANES]) - len(self.free[lane]))
            for lane in range(LANES)
        ]

    def take(self, wanted: range) -> list[int]:
        return [self.free[place % LANES].popleft() for place in wanted]

    def release(self, pages: Sequence[int]) -> None:
        for page in pages:
            self.free[page % LANES].append(page)


def replay(prompts: list[tuple[int, ...]], pages_per_lane: int, in_flight: int = 16) -> str:
    """Match, pin, make room, insert and unpin every prompt; requests a second of cache work."""
    cache, clock = LanePrefixCache(LaneLayout(LANES, PAGE_SIZE, pages_per_lane)), Clock()
    pool, running, hits, evicted = FreePages(pages_per_lane), deque[Any](), 0, 0
    for keys in prompts:
        prefix = clock(cache.match, keys)
        clock(cache.pin, prefix)
        hits += len(prefix)
        wanted = range(len(prefix), len(keys))
        while any(deficit := pool.deficit(wanted)):
            if all(a >= b for a, b in zip(clock(cache.evictable_pages), deficit, strict=True)):
                pages = clock(cache.evict, deficit)
                evicted += len(pages)
                pool.release(pages)
            else:
                finish(cache, clock, pool, *running.popleft())
        running.append((keys, prefix, pool.take(wanted)))
        if len(running) == in_flight:
            finish(cache, clock, pool, *running.popleft())
    total = sum(map(len, prompts))
    return (
        f"{len(prompts) / clock.seconds:,.0f} requests/s of {total / len(prompts):.0f} pages, "
        f"hit ratio {hits / total:.4f}, {evicted:,} pages evicted"
    )


def finish(
    cache: LanePrefixCache,
    clock: Clock,
    pool: FreePages,
    keys: Sequence[int],
    prefix: CachedPrefix,
    new: Sequence[int],
) -> None:
    result = clock(cache.insert, keys, [*prefix.pages, *new])
    clock(cache.unpin, prefix)
    pool.release(result.duplicates)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", nargs="?", type=Path, help="default: the built-in workload")
    parser.add_argument("--pages", type=int, default=1_000_000, help="pages of the largest cache")
    parser.add_argument("--requests", type=int, default=2_000)
    given = parser.parse_args()
    for pages, length in ((given.pages, CHAIN), (given.pages // 10, 1)):
        kept = bytes_a_page(pages, length)
        print(f"memory: {kept:.0f} bytes a page, {pages:,} pages in chains of {length}")
    match, insert = match_and_insert(given.pages // 10)
    print(f"match {match:,.0f} pages/s, insert {insert:,.0f} pages/s, chains of {CHAIN}")
    deficit = [24] * LANES
    for pages in (given.pages // 100, given.pages // 10, given.pages):
        microseconds, given_up = evict_microseconds(pages, deficit)
        print(f"evict {microseconds:.0f} us for {given_up:.0f} pages, of {pages:,} cached")
    trace = load_trace(given.trace, given.requests) if given.trace else generate(given.requests)
    prompts = [prompt.keys for prompt in prompts_of(trace, PAGE_SIZE, reuse=True)]
    for pages_per_lane in (2_401, 6_001, 12_001):
        print(f"{pages_per_lane - 1:,} pages a lane: {replay(prompts, pages_per_lane)}")


if __name__ == "__main__":
    main()
