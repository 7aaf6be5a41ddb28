"""The built-in workload against the published figures that it is drawn from."""

from __future__ import annotations

import pytest

from ownerlanes.conformance.generator import (
    INPUT_QUANTILES,
    OUTPUT_QUANTILES,
    PREFIX_HIT_BLOCKS,
    draw,
    generate,
)
from ownerlanes.conformance.traces import BLOCK_TOKENS, TraceRequest

PUBLISHED_INPUT = {0.10: 964, 0.50: 6_909, 0.90: 27_367, 0.99: 85_401}
PUBLISHED_OUTPUT = {0.10: 24, 0.50: 350, 0.90: 597, 0.99: 1_120}


@pytest.fixture(scope="module")
def workload() -> list[TraceRequest]:
    return generate(12_000, seed=1)


def unbounded_hit_share(workload: list[TraceRequest]) -> float:
    """Share of blocks that a cache of any size would hold when their request comes."""
    seen: set[int] = set()
    hits = blocks = 0
    for request in workload:
        known = [block in seen for block in request.hash_ids]
        hits += [*known, False].index(False)
        blocks += len(known)
        seen.update(request.hash_ids)
    return hits / blocks


@pytest.mark.parametrize(
    ("field", "published"),
    [("input_length", PUBLISHED_INPUT), ("output_length", PUBLISHED_OUTPUT)],
)
def test_lengths_have_the_published_quantiles(
    workload: list[TraceRequest], field: str, published: dict[float, int]
) -> None:
    lengths = sorted(getattr(request, field) for request in workload)
    for share, length in published.items():
        below = sum(found <= length for found in lengths) / len(lengths)
        assert below == pytest.approx(share, abs=0.01), (field, share)
        assert lengths[int(share * len(lengths))] == pytest.approx(length, rel=0.1), (field, share)


def test_prefixes_hit_as_often_as_published(workload: list[TraceRequest]) -> None:
    assert unbounded_hit_share(workload) == pytest.approx(PREFIX_HIT_BLOCKS, abs=0.02)


def test_a_shared_prefix_is_equal_from_the_first_block_on(workload: list[TraceRequest]) -> None:
    position_and_parent: dict[int, tuple[int, int | None]] = {}
    for request in workload:
        assert len(request.hash_ids) == -(-request.input_length // BLOCK_TOKENS)
        parent = None
        for position, block in enumerate(request.hash_ids):
            assert position_and_parent.setdefault(block, (position, parent)) == (position, parent)
            parent = block


def test_same_seed_same_workload() -> None:
    assert generate(50, seed=3) == generate(80, seed=3)[:50]
    assert generate(50, seed=3) != generate(50, seed=4)
    assert generate(0) == []


@pytest.mark.parametrize("quantiles", [INPUT_QUANTILES, OUTPUT_QUANTILES])
def test_draw_meets_its_quantiles_exactly(quantiles: tuple[tuple[float, int], ...]) -> None:
    for share, length in quantiles[:-1]:
        assert draw(quantiles, share) == length
