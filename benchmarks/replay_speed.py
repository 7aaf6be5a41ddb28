"""How many requests a second a replay does: the reference side alone, and the engines' host work.

The reference side is the oracle with its model cache. The host work is what an engine's scheduler
waits for when it uses `gpu/`: the prefix cache, planning, phase choice, eviction and packing, with
no kernel launched. Both see the same calls: those of the first are recorded and made again on the
second, which must answer alike. CPU seconds of one core; it asserts no time.

Run: TRITON_INTERPRET=1 python benchmarks/replay_speed.py [TRACE] [--requests N]
     [--pages-per-lane N]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ownerlanes.conformance.device import prepare_triton

prepare_triton()

from ownerlanes.conformance.generator import generate  # noqa: E402
from ownerlanes.conformance.replay.pools import oracle_side  # noqa: E402
from ownerlanes.conformance.replay.scheduler import Scheduler  # noqa: E402
from ownerlanes.conformance.replay.settings import ReplaySettings  # noqa: E402
from ownerlanes.conformance.replay.sides import LockStep, Matched, Slots  # noqa: E402
from ownerlanes.conformance.replay.tally import Tally  # noqa: E402
from ownerlanes.conformance.replay.workload import prompts_of  # noqa: E402
from ownerlanes.conformance.traces import load_trace  # noqa: E402
from ownerlanes.gpu import LanePrefixCache  # noqa: E402
from ownerlanes.gpu.packing import pack_batch  # noqa: E402
from ownerlanes.gpu.planning import plan_batch  # noqa: E402
from ownerlanes.gpu.planning_phases import choose_phases, place_on_lanes  # noqa: E402
from ownerlanes.gpu.validation import read_batch  # noqa: E402
from ownerlanes.reference.contract import (  # noqa: E402
    CachedPrefix,
    ExtendAllocation,
    ExtendRequest,
    LaneLayout,
)

LANES, PAGE_SIZE, LANE_TOKENS = 8, 64, 262_144
Work = Callable[[], Any]


class HostWork:
    """What `gpu/` does on the host for the calls of a replay, device and launches left out."""

    def __init__(self, layout: LaneLayout) -> None:
        self._layout = layout
        self._cache = LanePrefixCache(layout)
        self._prefixes: list[CachedPrefix] = []

    def extend(
        self, requests: Sequence[ExtendRequest], free: Sequence[int]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Phases and evicted pages of a batch that gets its pages, as alloc_extend finds them."""
        batch, fault = read_batch(requests, self._layout)
        assert fault is None
        plan = plan_batch(batch, self._layout)
        asked: list[list[int]] = []

        def evictable() -> list[int]:
            if not asked:
                asked.append(list(self._cache.evictable_pages()))
            return asked[0]

        phases = choose_phases(batch, plan, self._layout, free, evictable)
        lane_plan = place_on_lanes(batch, plan, phases, self._layout)
        deficit = [max(n - have, 0) for n, have in zip(lane_plan.required, free, strict=True)]
        evicted: Sequence[int] = ()
        if any(deficit):
            assert all(a >= b for a, b in zip(evictable(), deficit, strict=True))
            evicted = self._cache.evict(deficit)
        pack_batch(batch, plan, lane_plan)
        return tuple(phases.tolist()), tuple(evicted)

    def match(self, keys: Sequence[Hashable]) -> tuple[int, ...]:
        """The pages of the longest cached prefix; the prefix is kept by its number."""
        self._prefixes.append(self._cache.match(keys))
        return self._prefixes[-1].pages

    def pin(self, number: int) -> None:
        self._cache.pin(self._prefixes[number])

    def unpin(self, number: int) -> None:
        self._cache.unpin(self._prefixes[number])

    def insert(
        self, keys: Sequence[Hashable], pages: Sequence[int], phase: int | None
    ) -> tuple[int, ...]:
        return self._cache.insert(keys, pages, phase).duplicates


class Recorder(LockStep):
    """The oracle's side of a replay; notes each call with the answer that host work must give."""

    def __init__(self, layout: LaneLayout, host: HostWork) -> None:
        super().__init__(layout, [oracle_side(layout, reuse=True)])
        self.calls: list[tuple[Work, object]] = []
        self._host = host
        self._matched: list[Matched] = []
        self._numbers: dict[int, int] = {}

    def alloc_extend(
        self, requests: Sequence[ExtendRequest]
    ) -> tuple[ExtendAllocation, list[Slots]]:
        free = self.available_pages()
        given, slots = super().alloc_extend(requests)
        self._note(partial(self._host.extend, requests, free), (given.phases, given.evicted))
        return given, slots

    def match(self, keys: Sequence[Hashable]) -> Matched:
        found = super().match(keys)
        self._numbers[id(found)] = len(self._matched)
        self._matched.append(found)
        self._note(partial(self._host.match, keys), found.pages)
        return found

    def insert(
        self, keys: Sequence[Hashable], pages: Sequence[int], phase: int | None
    ) -> tuple[int, ...]:
        duplicates = super().insert(keys, pages, phase)
        self._note(partial(self._host.insert, keys, pages, phase), duplicates)
        return duplicates

    def pin(self, prefix: Matched) -> None:
        super().pin(prefix)
        self._note(partial(self._host.pin, self._numbers[id(prefix)]), None)

    def unpin(self, prefix: Matched) -> None:
        super().unpin(prefix)
        self._note(partial(self._host.unpin, self._numbers[id(prefix)]), None)

    def _note(self, work: Work, expected: object) -> None:
        self.calls.append((work, expected))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", nargs="?", type=Path, help="default: the built-in workload")
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--pages-per-lane", type=int, default=LANE_TOKENS // PAGE_SIZE + 1)
    given = parser.parse_args()
    trace = load_trace(given.trace, given.requests) if given.trace else generate(given.requests)
    layout = LaneLayout(LANES, PAGE_SIZE, given.pages_per_lane)
    prompts = prompts_of(trace, PAGE_SIZE, reuse=True)
    tally = Tally(layout)
    recorder = Recorder(layout, HostWork(layout))
    start = time.process_time()
    Scheduler(recorder, ReplaySettings(layout), prompts, tally).run()
    oracle = time.process_time() - start
    host = 0.0
    for work, expected in recorder.calls:
        start = time.process_time()
        answer = work()
        host += time.process_time() - start
        assert answer == expected, (work, answer, expected)
    print(
        f"{len(prompts):,} requests, {LANES} lanes x {layout.capacity:,} pages of {PAGE_SIZE}: "
        f"hit ratio {tally.hit_ratio:.4f}, {tally.evicted:,} pages evicted"
    )
    for name, seconds in (("reference side alone", oracle), ("cache and host planning", host)):
        print(f"{name:24} {len(prompts) / seconds:10,.0f} requests/s {seconds:8.2f} CPU s")


if __name__ == "__main__":
    main()
