"""Another rule for the phase, beside the contract's: how many hits it keeps, and what it evicts.

The contract's rule looks at free pages and, when a lane would be short, at free and evictable pages
together, which forgets where free pages are. The rule tried here keeps to free pages, so that what
is missing is level over the lanes and all lanes evict alike; of the phases that eviction can cover
it takes the one that leaves the lexicographically largest ascending list of free pages, negative
ones included. It chooses outside the allocator and passes the phase in, as a scheduler could.

Run: python benchmarks/phase_rule.py [TRACE] [--exact] [--requests N] [--sizes 300,750]
     [--cache pkg.mod:make]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ownerlanes.conformance.generator import generate
from ownerlanes.conformance.replay import runs
from ownerlanes.conformance.replay.pools import load_cache, without_lanes
from ownerlanes.conformance.replay.settings import ReplaySettings
from ownerlanes.conformance.replay.sides import Cache, Side
from ownerlanes.conformance.replay.workload import prompts_of
from ownerlanes.conformance.traces import load_trace
from ownerlanes.reference import (
    Evictor,
    ExtendAllocation,
    ExtendRequest,
    LaneLayout,
    ReferenceAllocator,
    page_owners,
)

LANES, PAGE_SIZE = 8, 512


class LevelDeficits(ReferenceAllocator):
    """The oracle behind a scheduler that chooses every open phase by this module's rule."""

    def __init__(self, layout: LaneLayout, evictor: Evictor) -> None:
        super().__init__(layout, evictor)
        self._cache = evictor

    def alloc_extend(self, requests: Sequence[ExtendRequest]) -> ExtendAllocation:
        free = list(self.available_pages())
        evictable = self._cache.evictable_pages()
        chosen = []
        for request in requests:
            phases = range(LANES) if request.phase is None else [request.phase]
            left = {phase: self._left(replace(request, phase=phase), free) for phase in phases}
            covered = {
                phase: counts
                for phase, counts in left.items()
                if all(a + b >= 0 for a, b in zip(counts, evictable, strict=True))
            }
            if not covered:  # the contract's rule decides, and how the call fails
                return super().alloc_extend(requests)
            phase = max(covered, key=lambda phase: (sorted(covered[phase]), -phase))
            free = covered[phase]
            chosen.append(replace(request, phase=phase))
        return super().alloc_extend(chosen)

    def _left(self, request: ExtendRequest, free: Sequence[int]) -> list[int]:
        """Free pages less what the request takes; its extends begin at a page's first token."""
        owners = page_owners(request, self.layout)
        return [count - owners.count(lane) for lane, count in enumerate(free)]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", nargs="?", type=Path, help="default: the built-in workload")
    parser.add_argument("--exact", action="store_true", help="no rounding up to whole blocks")
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--sizes", default="300,400,500,600,750,900,1000,1500,2000,3000")
    parser.add_argument("--cache", default="ownerlanes.reference:LanePrefixCache")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    make_cache = load_cache(given.cache)
    trace = load_trace(given.trace, given.requests) if given.trace else generate(given.requests)
    prompts = prompts_of(trace, PAGE_SIZE, reuse=True, whole_blocks=not given.exact)

    def through(settings: ReplaySettings, allocator: type[ReferenceAllocator]) -> runs.Outcome:
        cache: Cache = make_cache(settings.layout)
        side = Side("oracle", allocator(settings.layout, cache), cache, is_oracle=True)
        return runs.run(settings, prompts, [side])

    print("| pages a lane | limit | contract's rule | level deficits |", end="")
    print(" collateral: contract's | level |")
    print("|" + "---:|" * 6)
    for size in map(int, given.sizes.split(",")):
        layout = LaneLayout(LANES, PAGE_SIZE, size + 1)
        settings = ReplaySettings(layout, chunk=2**40, batch_tokens=1)
        blind = replace(settings, layout=without_lanes(layout))
        limit = through(blind, ReferenceAllocator).tally.hit_ratio
        rules = [through(settings, kind).tally for kind in (ReferenceAllocator, LevelDeficits)]
        shares = [f"{tally.hit_ratio / limit:.4f}" for tally in rules]
        collateral = [f"{tally.collateral:,}" for tally in rules]
        print(f"| {' | '.join([f'{size:,}', f'{limit:.4f}', *shares, *collateral])} |", flush=True)


if __name__ == "__main__":
    main()
