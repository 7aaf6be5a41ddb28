"""A workload made up on the spot, for when no trace is at hand: seeded and the same everywhere.

Lengths are drawn from the published quantiles of the Mooncake conversation trace (FAST '25; one
hour of a chat service, 12,031 requests), and shared prefixes arise as they do in a chat: a request
either continues an earlier conversation or starts a new one behind the common system prompt. It
copies no request of any trace and is not a substitute for one.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from itertools import count, islice

from ownerlanes.conformance.traces import BLOCK_TOKENS, TraceRequest

INPUT_QUANTILES = (
    (0.0, 891),
    (0.10, 964),
    (0.50, 6_909),
    (0.90, 27_367),
    (0.99, 85_401),
    (1.0, 126_195),
)
"""Prompt tokens: (share of requests, at most so many tokens)."""

OUTPUT_QUANTILES = ((0.0, 1), (0.10, 24), (0.50, 350), (0.90, 597), (0.99, 1_120), (1.0, 2_000))
"""Generated tokens: (share of requests, at most so many tokens)."""

PREFIX_HIT_BLOCKS = 0.37
"""Share of blocks that an unbounded prefix cache would have held."""

CONTINUED = 0.6
"""Share of requests that continue a conversation; chosen so that PREFIX_HIT_BLOCKS comes out."""

RECENT = 600
"""Conversations that may still be continued."""

MEAN_GAP_MS = 3_600_000 / 12_031
"""One hour over 12,031 requests; arrivals are independent of each other."""


def generate(requests: int, seed: int = 0) -> list[TraceRequest]:
    """A workload of `requests` requests; the same seed gives the same ones on every machine.

    Its first requests do not depend on how many are asked for.
    """
    rng = random.Random(seed)
    new_ids = count(1)
    recent: list[tuple[int, ...]] = []
    made: list[TraceRequest] = []
    now = 0.0
    for _ in range(requests):
        now += -math.log1p(-rng.random()) * MEAN_GAP_MS
        tokens = draw(INPUT_QUANTILES, rng.random())
        blocks = -(-tokens // BLOCK_TOKENS)
        shared = _shared_prefix(rng, recent, blocks)
        ids = (*shared, *islice(new_ids, blocks - len(shared)))
        full = tokens // BLOCK_TOKENS
        recent = [*recent[-RECENT + 1 :], ids[:full]]
        made.append(TraceRequest(now, tokens, draw(OUTPUT_QUANTILES, rng.random()), ids))
    return made


def draw(quantiles: tuple[tuple[float, int], ...], share: float) -> int:
    """The length that `share` of the requests do not exceed, log-linear between the quantiles."""
    above = bisect_right(quantiles, share, key=lambda point: point[0])
    (low, shortest), (high, longest) = quantiles[above - 1], quantiles[above]
    way = (share - low) / (high - low)
    return round(shortest * math.pow(longest / shortest, way))


def _shared_prefix(
    rng: random.Random, recent: list[tuple[int, ...]], blocks: int
) -> tuple[int, ...]:
    """The blocks that a request of so many blocks shares with earlier ones.

    Block 0 is the system prompt that every conversation starts with. A continued conversation is
    a recent one that is shorter than the request, the longest of a few: histories grow.
    """
    system_prompt = (0,)
    if rng.random() >= CONTINUED or not recent:
        return system_prompt
    drawn = (rng.choice(recent) for _ in range(8))
    shorter = [history for history in drawn if len(history) < blocks]
    return max(shorter, key=len, default=system_prompt) or system_prompt
