"""Content keys of pages: shared exactly where the trace says that the tokens are equal."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ownerlanes.conformance.generator import generate
from ownerlanes.conformance.replay.splits import SplitName, split_for
from ownerlanes.conformance.replay.workload import page_keys, prompts_of
from ownerlanes.conformance.traces import BLOCK_TOKENS, TraceRequest
from ownerlanes.reference import ExtendRequest, LaneLayout, page_owners

REQUESTS = generate(120, seed=2)


def test_a_block_becomes_its_pages() -> None:
    assert page_keys((7, 9), tokens=1_000, page_size=256) == (14, 15, 18)
    assert page_keys((7, 9), tokens=1_024, page_size=512) == (7, 9)
    assert page_keys((7, 9, 11, 13), tokens=2_048, page_size=1_024) == (9, 13)
    assert page_keys((), tokens=1_000, page_size=256) == ()


@pytest.mark.parametrize("page_size", [1, 16, 48, 64, 100, 512, 700, 1_024])
def test_equal_chains_mean_equal_tokens(page_size: int) -> None:
    """Of any two neighbours: keys agree exactly as far as the blocks vouch for."""
    for one, other in pairwise(sorted(REQUESTS, key=lambda request: request.hash_ids)):
        keys, others = (
            page_keys(request.hash_ids, request.input_length, page_size) for request in (one, other)
        )
        assert len(keys) == one.input_length // page_size
        shared = _agree(one.hash_ids, other.hash_ids) * BLOCK_TOKENS
        whole = min(shared, one.input_length, other.input_length) // page_size
        assert _agree(keys, others) == whole


def _agree(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    differs = [a != b for a, b in zip(one, other, strict=False)]
    return [*differs, True].index(True)


def test_whole_blocks_round_up() -> None:
    trace = [TraceRequest(0, 513, 5, (1, 2)), TraceRequest(0, 513, 5)]
    exact = prompts_of(trace, 512, reuse=True)
    rounded = prompts_of(trace, 512, reuse=True, whole_blocks=True)
    assert [(p.tokens, p.keys) for p in exact] == [(513, (1,)), (513, ())]
    assert [(p.tokens, p.keys) for p in rounded] == [(1_024, (1, 2)), (513, ())]
    assert not any(prompt.keys for prompt in prompts_of(trace, 512, reuse=False))


@pytest.mark.parametrize("name", SplitName)
def test_every_split_plans_an_extend_of_any_length(name: SplitName) -> None:
    layout = LaneLayout(num_lanes=3, page_size=4, pages_per_lane=2)
    for tokens in range(1, 60):
        request = ExtendRequest(8, 8 + tokens, split_for(name, tokens, layout))
        assert len(page_owners(request, layout)) == -(-tokens // 4)
