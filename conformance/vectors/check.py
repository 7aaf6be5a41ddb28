"""Holds a candidate to recorded vectors, as far as its claims reach.

A step that needs what the candidate does not claim is left out and counted; where such a step
would have changed the state, the rest of its vector is left out too. Nothing here prints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ownerlanes.conformance.difference import Difference
from ownerlanes.conformance.lockstep import Lockstep
from ownerlanes.conformance.protocol import Candidate, Capabilities
from ownerlanes.conformance.vectors.evidence import start_evidence, step_evidence, visible
from ownerlanes.conformance.vectors.recorded import Recorded, RecordedHistory, RecordedOracle


@dataclass
class Verdict:
    """What came of checking many vectors.

    Attributes:
        playing: name of the vector at hand, for when the engine is lost over it.
        vectors: how many held, as far as they were put to the candidate.
        steps: how many steps were compared.
        held: for each obligation, the vectors that give evidence for it and held.
        failures: vector and difference, in the order found.
        not_claimed: for each capability that is not claimed, the steps left out for it.
        unclaimed: the obligations that only what was left out would have shown.
        untouched: the vectors of which nothing could be put to the candidate.
    """

    playing: str = ""
    vectors: int = 0
    steps: int = 0
    held: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[RecordedHistory, Difference]] = field(default_factory=list)
    not_claimed: Counter[str] = field(default_factory=Counter)
    unclaimed: set[str] = field(default_factory=set)
    untouched: int = 0


def check(vectors: Iterable[RecordedHistory], candidate: Candidate, verdict: Verdict) -> None:
    """Put every vector to the candidate and note in `verdict` what comes of it."""
    for vector in vectors:
        verdict.playing = vector.name
        claims = candidate.capabilities
        claimed = _claimed(vector, claims, verdict)
        shown = visible(_shown(vector, claimed), claims) if claimed else set()
        verdict.unclaimed |= set(vector.clauses) - shown
        if vector.steps and not claimed:
            verdict.untouched += 1
            continue
        try:
            verdict.steps += play(vector, claimed, candidate)
        except Difference as difference:
            verdict.failures.append((vector, difference))
        else:
            verdict.vectors += 1
            verdict.held.update(shown)
    failed = {difference.clause for _, difference in verdict.failures}
    verdict.unclaimed -= failed | verdict.held.keys()


def _shown(vector: RecordedHistory, played: Iterable[Recorded]) -> set[str]:
    """The obligations that the played part of a vector gives evidence for."""
    shown = start_evidence()
    for recorded in played:
        shown |= step_evidence(
            recorded.step,
            recorded.outcome,
            vector.layout,
            has_evictor=vector.history.evictor,
        )
    return shown


def play(vector: RecordedHistory, claimed: Iterable[Recorded], candidate: Candidate) -> int:
    """Play the claimed steps on a new allocator; how many there were.

    Raises:
        Difference: the candidate answers otherwise than the vector.
    """
    lockstep = Lockstep(candidate, vector.layout, evictor=vector.history.evictor)
    oracle = RecordedOracle(vector.layout)
    lockstep.oracle = oracle
    steps = 0
    for recorded in claimed:
        oracle.lay(recorded)
        lockstep.step(recorded.step)
        steps += 1
    return steps


def lacks_layout(vector: RecordedHistory, claims: Capabilities) -> str | None:
    """What of the layout or of having an evictor is not claimed, or None."""
    layout = vector.layout
    if layout.placement not in claims.placements:
        return layout.placement
    if claims.reserved_pages is not None and layout.reserved_pages not in claims.reserved_pages:
        return f"reserved_pages {layout.reserved_pages}"
    return "eviction" if vector.history.evictor and not claims.eviction else None


def _claimed(vector: RecordedHistory, claims: Capabilities, verdict: Verdict) -> list[Recorded]:
    """The steps that can be put to the candidate; the others are noted in the verdict."""
    lacking = lacks_layout(vector, claims)
    if lacking:
        verdict.not_claimed[lacking] += len(vector.steps)
        return []
    claimed: list[Recorded] = []
    for index, recorded in enumerate(vector.steps):
        missing = claims.lacks(*recorded.needs)
        if not missing:
            claimed.append(recorded)
            continue
        left_out = len(vector.steps) - index if recorded.changes else 1
        verdict.not_claimed[missing[0]] += left_out
        if recorded.changes:
            break
    return claimed
