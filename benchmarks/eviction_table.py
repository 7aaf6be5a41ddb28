"""What owner lanes cost in prefix hits, by pool size: the tables of docs/eviction.md.

For each size it replays the same requests through a pool without lanes (the limit), owner lanes
with every extend in phase 0, owner lanes with the phase chosen, and the latter with an evictor that
counts pages in aggregate. Only the oracle allocates, so the figures are the same on every machine.

Run: python benchmarks/eviction_table.py [TRACE] [--exact] [--requests N] [--sizes 300,750]
     [--page-size 512] [--chunk TOKENS] [--batch-tokens TOKENS] [--cache pkg.mod:make]

The model cache sorts all that is cached whenever it evicts; --cache ownerlanes.gpu:LanePrefixCache
gives the same figures (the tests compare the two call by call) in a third of the time.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from ownerlanes.conformance.generator import generate
from ownerlanes.conformance.replay import runs
from ownerlanes.conformance.replay.pools import (
    AggregateCountCache,
    MakeCache,
    load_cache,
    oracle_side,
    without_lanes,
)
from ownerlanes.conformance.replay.settings import ReplaySettings
from ownerlanes.conformance.replay.workload import Prompt, prompts_of
from ownerlanes.conformance.traces import load_trace
from ownerlanes.reference.contract import LaneLayout

LANES = 8
SIZES = (300, 400, 500, 600, 750, 900, 1_000, 1_500, 2_000, 3_000)
WHOLE_PROMPT = 2**40


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", nargs="?", type=Path, help="default: the built-in workload")
    parser.add_argument("--exact", action="store_true", help="no rounding up to whole blocks")
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--page-size", type=int, default=512)
    parser.add_argument("--chunk", type=int, default=WHOLE_PROMPT)
    parser.add_argument("--batch-tokens", type=int, default=1, help="1: one request a batch")
    parser.add_argument("--cache", default="ownerlanes.reference:LanePrefixCache")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="pages of each lane")
    return parser.parse_args()


def through(settings: ReplaySettings, prompts: list[Prompt], make_cache: MakeCache) -> runs.Outcome:
    side = oracle_side(settings.layout, reuse=True, make_cache=make_cache)
    return runs.run(settings, prompts, [side])


def main() -> None:
    given = arguments()
    trace = load_trace(given.trace, given.requests) if given.trace else generate(given.requests)
    prompts = prompts_of(trace, given.page_size, reuse=True, whole_blocks=not given.exact)
    make_cache = load_cache(given.cache)
    print("| pages a lane | limit | phase 0 | phase chosen | aggregate count |", end="")
    print(" evicted | collateral: phase 0 | chosen | aggregate |")
    print("|" + "---:|" * 9)
    for size in map(int, given.sizes.split(",")):
        layout = LaneLayout(LANES, given.page_size, size + 1)
        chosen = ReplaySettings(layout, chunk=given.chunk, batch_tokens=given.batch_tokens)
        blind = replace(chosen, layout=without_lanes(layout))
        limit = through(blind, prompts, make_cache).tally.hit_ratio
        outcomes = [
            through(replace(chosen, phase=0), prompts, make_cache),
            through(chosen, prompts, make_cache),
            through(chosen, prompts, AggregateCountCache),
        ]
        shares = [f"{outcome.tally.hit_ratio / limit:.4f}" for outcome in outcomes]
        collateral = [f"{outcome.tally.collateral:,}" for outcome in outcomes]
        evicted = f"{outcomes[1].tally.evicted:,}"
        cells = [f"{size:,}", f"{limit:.4f}", *shares, evicted, *collateral]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
