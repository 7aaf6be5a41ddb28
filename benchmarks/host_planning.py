"""How long the host plans and packs one alloc_extend, launches left out.

Prints medians and bests in microseconds for 64 requests of 2,240 tokens on 8 lanes with pages of
64, for each sort of batch, and for the same with 16 times the tokens. It asserts nothing.

Run: TRITON_INTERPRET=1 python benchmarks/host_planning.py [seconds per row]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

from ownerlanes.conformance.device import prepare_triton

prepare_triton()

from ownerlanes.gpu import (  # noqa: E402
    ContiguousPages,
    ExplicitOwners,
    ExtendRequest,
    LaneLayout,
    RoundRobinPages,
    RoundRobinTokens,
    Split,
    ZigzagPages,
    ZigzagTokens,
)
from ownerlanes.gpu.packing import pack_batch  # noqa: E402
from ownerlanes.gpu.planning import plan_batch  # noqa: E402
from ownerlanes.gpu.planning_phases import choose_phases, place_on_lanes  # noqa: E402
from ownerlanes.gpu.validation import read_batch  # noqa: E402

REQUESTS, TOKENS, LANES, PAGE_SIZE, PAGES_PER_LANE = 64, 2240, 8, 64, 1_000_000
LAYOUT = LaneLayout(LANES, PAGE_SIZE, PAGES_PER_LANE)


def host_work(requests: Sequence[ExtendRequest]) -> None:
    """What alloc_extend does on the host for a batch that fits."""
    batch, fault = read_batch(requests, LAYOUT)
    assert fault is None
    plan = plan_batch(batch, LAYOUT)
    free = [LAYOUT.capacity] * LANES
    lane_plan = place_on_lanes(batch, plan, choose_phases(batch, plan, LAYOUT, free, None), LAYOUT)
    assert all(need <= have for need, have in zip(lane_plan.required, free, strict=True))
    pack_batch(batch, plan, lane_plan)


def whole_token_blocks(tokens: int) -> ZigzagTokens:
    """A token zigzag of as many tokens, padded so that every block is whole pages."""
    dealt = 2 * LANES * PAGE_SIZE
    return ZigzagTokens(pad=-tokens % dealt)


def batches(tokens: int) -> dict[str, list[ExtendRequest]]:
    """The sorts of batch, by name."""
    zigzag_tokens = whole_token_blocks(tokens)
    owners = ExplicitOwners(page % LANES for page in range(-(-tokens // PAGE_SIZE)))
    mixed: list[Split] = [
        ZigzagPages(),
        zigzag_tokens,
        ContiguousPages(),
        RoundRobinPages(3),
        RoundRobinTokens(PAGE_SIZE),
    ]

    def batch(splits: Sequence[Split], phase: int | None = 0) -> list[ExtendRequest]:
        return [
            ExtendRequest(0, tokens, splits[i % len(splits)], phase=phase) for i in range(REQUESTS)
        ]

    return {
        "zigzag-pages": batch([ZigzagPages()]),
        "contiguous-pages": batch([ContiguousPages()]),
        "round-robin-pages": batch([RoundRobinPages(3)]),
        "zigzag-tokens": batch([zigzag_tokens]),
        "round-robin-tokens": batch([RoundRobinTokens(PAGE_SIZE)]),
        "mixed": batch(mixed),
        "zigzag-pages, phase=None": batch([ZigzagPages()], None),
        "mixed, phase=None": batch(mixed, None),
        "explicit": batch([owners]),
    }


def microseconds(work: Callable[[], None], seconds: float) -> tuple[float, float]:
    """Median and best time of `work`, after a warm-up."""
    for _ in range(20):
        work()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1e6)
    return median(times), min(times)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    print(f"{REQUESTS} requests, {LANES} lanes, page {PAGE_SIZE}; microseconds, median (best)")
    print(
        f"{'batch':28}{f'{TOKENS} tokens each':>22}{f'{16 * TOKENS} tokens each':>22}{'ratio':>8}"
    )
    longer = batches(16 * TOKENS)
    for name, requests in batches(TOKENS).items():
        short, short_best = microseconds(partial(host_work, requests), seconds)
        long, long_best = microseconds(partial(host_work, longer[name]), seconds)
        print(
            f"{name:28}{f'{short:.0f} ({short_best:.0f})':>22}{f'{long:.0f} ({long_best:.0f})':>22}"
            f"{long / short:>8.2f}"
        )


if __name__ == "__main__":
    main()
