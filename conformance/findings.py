"""What each test of a run found, in plain values that travel between processes.

A violation counts against the obligation that it names; others that the test cites were then not
looked at to the end. Only a failure that names none counts against all of them. Nothing here
formats or decides what to run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ownerlanes.conformance.ledger import KnownFailure, complaints
from ownerlanes.conformance.operations import History, history_to_json
from ownerlanes.conformance.report.model import (
    ObligationEvidence,
    Status,
    TestEvidence,
    evidence,
)
from ownerlanes.rfcs.obligations import Rfc


@dataclass(frozen=True)
class Finding:
    """One test.

    Attributes:
        test: its id.
        cited: the obligations that it cites.
        status: what it found.
        examples: histories that it started on the candidate.
        seconds: how long it took.
        message: why, where it did not pass.
        broken: the obligation that a difference named, or None.
        history: JSON of the shortest failing history, or None.
    """

    test: str
    cited: tuple[str, ...]
    status: Status
    examples: int = 0
    seconds: float = 0.0
    message: str = ""
    broken: str | None = None
    history: dict[str, Any] | None = None

    @classmethod
    def of(
        cls,
        report: Any,
        cited: Sequence[str],
        message: str,
        broken: str | None,
        examples: int,
        history: History | None,
    ) -> Finding:
        """The finding of a pytest report."""
        status: Status = "passed" if report.passed else "failed"
        if report.skipped:
            status = "not claimed" if message.startswith("not claimed") else "not run"
        return cls(
            report.nodeid,
            tuple(cited),
            status,
            examples,
            round(report.duration, 3),
            message,
            broken,
            None if history is None else history_to_json(history),
        )

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Finding:
        """The inverse of as_json."""
        return cls(**{**value, "cited": tuple(value["cited"])})

    def evidence(self) -> Iterator[tuple[str, TestEvidence]]:
        """What this says about each obligation that it is about, by id."""
        told = TestEvidence(self.test, self.status, self.examples, self.seconds, self.message)
        if self.broken is None:
            yield from ((obligation, told) for obligation in self.cited)
            return
        yield self.broken, told
        stopped = replace(told, status="not run", message=f"stopped by {self.broken}")
        yield from ((each, stopped) for each in self.cited if each != self.broken)


@dataclass
class Findings:
    """All findings of a run."""

    tests: list[Finding] = field(default_factory=list)

    def add(self, finding: Finding) -> None:
        """One more test."""
        self.tests.append(finding)

    @property
    def failed(self) -> list[Finding]:
        """Those that failed."""
        return [finding for finding in self.tests if finding.status == "failed"]

    @property
    def ran_out_of_time(self) -> bool:
        """Whether tests were left out because time was up."""
        return any(finding.status == "not run" for finding in self.tests)

    @property
    def examples(self) -> int:
        """Histories that were started on the candidate."""
        return sum(finding.examples for finding in self.tests)

    def evidence(self, rfc: Rfc) -> tuple[ObligationEvidence, ...]:
        """A row for every obligation of the RFC."""
        by_id: dict[str, list[TestEvidence]] = {}
        for finding in self.tests:
            for obligation, told in finding.evidence():
                by_id.setdefault(obligation, []).append(told)
        return evidence(rfc, by_id)

    def complaints(self, rfc: Rfc, ledger: Sequence[KnownFailure]) -> tuple[list[str], list[str]]:
        """Failed obligations that the ledger does not cover, and what is wrong with the ledger."""
        return complaints(ledger, {row.id: row.status for row in self.evidence(rfc)})
