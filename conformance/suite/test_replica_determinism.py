"""C-REPLICA-DETERMINISM: the same calls, the same answers and digests, on every rank."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given

from ownerlanes.conformance import session, strategies
from ownerlanes.conformance.clauses import clause
from ownerlanes.conformance.compare import contract_type
from ownerlanes.conformance.difference import ints
from ownerlanes.conformance.intents import Intent, PagesIntent, ReleaseIntent
from ownerlanes.conformance.lockstep import Lockstep
from ownerlanes.conformance.operations import AllocExtend, AllocPages, FreePages
from ownerlanes.conformance.player import Outcome
from ownerlanes.conformance.settings import examples
from ownerlanes.conformance.statements import expect, needs, own_counts, plain_allocation
from ownerlanes.reference.contract import LaneLayout


def told(step: object, outcome: Outcome) -> object:
    """An answer in plain data, to compare two replicas by."""
    if outcome.error is not None:
        return contract_type(outcome.error).__name__
    if outcome.result is None:
        return None
    return plain_allocation(outcome.result) if isinstance(step, AllocExtend) else None


def state(played: Lockstep) -> object:
    claims, allocator = played.candidate.capabilities, played.player.allocator
    return (
        own_counts(played),
        [ints(lane) for lane in allocator.snapshot().free] if claims.snapshot else None,
        allocator.digest() if claims.digest else None,
    )


@clause("RFC-0001:C-REPLICA-DETERMINISM/1", "RFC-0001:C-REPLICA-DETERMINISM/4")
@examples()
@given(strategies.histories(most=8))
def test_two_replicas_stay_equal(history: tuple[LaneLayout, bool, list[Intent]]) -> None:
    """The second replica is made and driven when the first one has long been used."""
    layout, evictor, intents = history
    first = session.direct(layout, intents, evictor=evictor).lockstep
    second = session.lockstep(layout, evictor=evictor)
    third = session.lockstep(layout, evictor=evictor)
    for step in first.steps:
        answers = [told(step, replica.step_both(step)[1]) for replica in (second, third)]
        expect(
            answers[0],
            answers[1],
            clause="C-REPLICA-DETERMINISM/1",
            field=f"the answers of two replicas to {step}",
        )
    expect(state(first), state(second), clause="C-REPLICA-DETERMINISM/1", field="the final state")


@clause("RFC-0001:C-REPLICA-DETERMINISM/2")
@needs("digest", "snapshot")
@examples()
@given(strategies.histories(faults=False, most=5))
def test_the_digest_is_the_hash_of_the_snapshot(
    history: tuple[LaneLayout, bool, list[Intent]],
) -> None:
    """Encoded here once more, bit by bit."""
    layout, evictor, intents = history
    played = session.direct(layout, intents, evictor=evictor).lockstep
    layout, allocator = played.layout, played.player.allocator
    line = (
        f"ownerlanes-state-1|{layout.num_lanes}|{layout.page_size}|{layout.pages_per_lane}|"
        f"{layout.placement}|{layout.reserved_pages}\n"
    )
    encoded = bytearray(line.encode("ascii"))
    for lane in allocator.snapshot().free:
        bits = bytearray(-(-layout.pages_per_lane // 8))
        for local_page in ints(lane):
            bits[local_page // 8] |= 1 << local_page % 8
        encoded += bits
    expect(
        hashlib.sha256(encoded).hexdigest(),
        allocator.digest(),
        clause="C-REPLICA-DETERMINISM/2",
        field="digest()",
    )


@clause("RFC-0001:C-REPLICA-DETERMINISM/3")
@needs("digest", "alloc_pages")
@pytest.mark.parametrize("num_lanes", [1, 3])
def test_equal_counts_of_other_pages_have_another_digest(num_lanes: int) -> None:
    """One page after the other is the only one of the pool that is allocated."""
    layout = LaneLayout(num_lanes, 4, 10)
    played = session.lockstep(layout)
    lanes = tuple(range(num_lanes)) * layout.capacity
    pages = played.step(AllocPages(lanes[: num_lanes * played.layout.capacity])).result
    played.step(FreePages(pages[1:]))
    digests = [played.player.allocator.digest()]
    for page in pages[1:]:
        others = played.step(AllocPages(lanes[1:])).result
        played.step(FreePages(tuple(each for each in (*others, pages[0]) if each != page)))
        digests.append(played.player.allocator.digest())
        played.step(FreePages((page,)))
        played.step(AllocPages((0,)))
    expect(
        len(digests),
        len(set(digests)),
        clause="C-REPLICA-DETERMINISM/3",
        field="distinct digests of pools with one page allocated, another each time",
    )


@clause("RFC-0001:C-REPLICA-DETERMINISM/3")
@needs("digest", "alloc_pages")
@examples(0.5)
@given(strategies.layouts(least_pages=1))
def test_the_digest_changes_with_every_page(layout: LaneLayout) -> None:
    director = session.direct(layout)
    digests = [director.lockstep.player.allocator.digest()]
    for lane in range(layout.num_lanes):
        director.play(PagesIntent((lane,)))
        digests.append(director.lockstep.player.allocator.digest())
    expect(
        len(digests),
        len(set(digests)),
        clause="C-REPLICA-DETERMINISM/3",
        field="distinct digests as one page after the other is taken",
    )
    for _ in range(layout.num_lanes):
        director.play(ReleaseIntent())
    if director.claims.release_checks:
        expect(
            digests[0],
            director.lockstep.player.allocator.digest(),
            clause="C-REPLICA-DETERMINISM/3",
            field="digest() once everything is released",
        )
