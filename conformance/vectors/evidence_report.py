"""A verdict on vectors as a conformance report, obligation by obligation.

What a run of vectors found goes into the same report as a run of the suite. It concludes nothing
of its own: an obligation failed when a difference names it, passed when vectors that show it held.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version

from ownerlanes.conformance.difference import Difference
from ownerlanes.conformance.protocol import Candidate
from ownerlanes.conformance.report import Candidate as Reported
from ownerlanes.conformance.report import Report, RfcVersion, TestEvidence, evidence
from ownerlanes.conformance.report.model import verdict as verdict_of
from ownerlanes.conformance.vectors.check import Verdict
from ownerlanes.conformance.vectors.told import failure_text
from ownerlanes.rfcs.obligations import Rfc

NOT_CLAIMED = "only what the candidate does not claim would show it"


@dataclass(frozen=True)
class Run:
    """What a reader needs to repeat a run.

    Attributes:
        vectors: which ones, in words.
        implementation: what the candidate is.
        device: where it ran.
        seed: of the vectors, where they were emitted from one.
        versions: of what the candidate stands on, by name.
        started: when the check began.
    """

    vectors: str
    implementation: str
    device: str = "cpu"
    seed: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    started: datetime = field(default_factory=lambda: datetime.now(UTC))


def vectors_report(verdict: Verdict, candidate: Candidate, rfc: Rfc, run: Run) -> Report:
    """The report on one candidate: what came of checking it, by obligation of `rfc`."""
    rows = evidence(rfc, {o.id: _evidence(o.id, verdict, rfc) for o in rfc.obligations})
    own = {"python": platform.python_version(), "ownerlanes": version("ownerlanes")}
    claims = candidate.capabilities.as_json()
    return Report(
        rfc=RfcVersion(rfc.id, rfc.version, rfc.sha256),
        versions={**own, **run.versions},
        seed=run.seed,
        profile=run.vectors,
        candidate=Reported(candidate.name, run.implementation, run.device, claims),
        obligations=rows,
        verdict=verdict_of(rows),
        started=run.started.isoformat(timespec="seconds"),
        seconds=(datetime.now(UTC) - run.started).total_seconds(),
    )


def _evidence(cited: str, verdict: Verdict, rfc: Rfc) -> list[TestEvidence]:
    failures = [failure for failure in verdict.failures if failure[1].clause == cited]
    found = []
    if failures:
        vector, difference = min(failures, key=lambda failure: _length(failure[1]))
        text = failure_text(vector, difference, rfc)
        found.append(TestEvidence("vectors that fail", "failed", len(failures), message=text))
    if verdict.held[cited]:
        found.append(TestEvidence("vectors that hold", "passed", verdict.held[cited]))
    if not found and cited in verdict.unclaimed:
        found.append(TestEvidence("vectors left out", "not claimed", message=NOT_CLAIMED))
    return found


def _length(difference: Difference) -> tuple[int, int]:
    """How long a failure is to read."""
    return len(difference.history.steps), len(str(difference.history))
