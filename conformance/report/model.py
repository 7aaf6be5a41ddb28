"""A conformance report as data, and the one JSON shape that it is kept in.

A report says for every obligation of the RFC which tests looked at it and what they found. The
model draws the obvious conclusions (status of an obligation, verdict) and never runs anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from ownerlanes.rfcs.coverage import repository_tests
from ownerlanes.rfcs.obligations import Rfc

FORMAT = "ownerlanes-report-1"
Status = Literal["passed", "failed", "not claimed", "not run"]
Verdict = Literal["conforms", "violates", "could not run"]
STATUSES: tuple[Status, ...] = ("failed", "passed", "not claimed", "not run")
"""Strongest first: an obligation has the first of these that one of its tests has."""

ELSEWHERE = "one of the repository's own tests, not part of a conformance run"


@dataclass(frozen=True)
class RfcVersion:
    """The text that was tested against; `sha256` is that of `Rfc.sha256`."""

    id: str
    version: str
    sha256: str


@dataclass(frozen=True)
class Candidate:
    """The allocator under test.

    Attributes:
        name: how it was named, such as "pkg.module:make".
        implementation: what it is, such as "TritonAllocator" or a package with its version.
        device: where it ran, such as "Triton interpreter on CPU" or a GPU's name.
        capabilities: what it claims, by name.
    """

    name: str
    implementation: str
    device: str
    capabilities: Mapping[str, object]


@dataclass(frozen=True)
class TestEvidence:
    """One test's result.

    Attributes:
        id: such as "conformance/suite/test_order.py::test_flattened_order".
        status: what it found.
        examples: how many examples ran.
        seconds: how long they took.
        message: why, where it did not pass; may be many lines.
    """

    __test__ = False  # not a test itself, whatever pytest makes of its name

    id: str
    status: Status
    examples: int = 0
    seconds: float = 0.0
    message: str = ""


@dataclass(frozen=True)
class ObligationEvidence:
    """One obligation and the tests that cite it."""

    id: str
    sentence: str
    clause: str
    clause_sha256: str
    status: Status
    tests: tuple[TestEvidence, ...]

    @property
    def examples(self) -> int:
        """Examples of all its tests together."""
        return sum(test.examples for test in self.tests)


@dataclass(frozen=True)
class Report:
    """A whole run.

    Attributes:
        rfc: the text that was tested against.
        versions: of everything that matters, by name ("python", "torch", ...).
        seed: the run's seed, None where it was not fixed.
        profile: such as "ci".
        candidate: the allocator under test.
        obligations: a row for every obligation in force, in the RFC's order.
        verdict: conforms, violates, or could not run.
        started: ISO 8601, UTC.
        seconds: the whole run.
        message: what the rows do not say, such as known failures; may be empty.
    """

    rfc: RfcVersion
    versions: Mapping[str, str]
    seed: int | None
    profile: str
    candidate: Candidate
    obligations: tuple[ObligationEvidence, ...]
    verdict: Verdict
    started: str
    seconds: float
    message: str = ""

    def counts(self) -> dict[Status, int]:
        """Obligations by status, in the order of STATUSES."""
        found = [row.status for row in self.obligations]
        return {status: found.count(status) for status in STATUSES}


def strongest(statuses: Iterable[Status]) -> Status:
    """The status of an obligation whose tests have these; "not run" when it has none."""
    found = set(statuses)
    return next((status for status in STATUSES if status in found), "not run")


def evidence(
    rfc: Rfc,
    tests: Mapping[str, Sequence[TestEvidence]],
    elsewhere: Mapping[str, Sequence[str]] | None = None,
) -> tuple[ObligationEvidence, ...]:
    """A row for every obligation of the RFC, from the results by id of obligation or clause.

    A test that cites a whole clause is listed under each of its obligations.

    Args:
        rfc: the text that was tested against.
        tests: the results of this run.
        elsewhere: by id of obligation, tests that are not part of such a run; they are named,
            as not run, where the run has none. By default those of the repository's own tests.

    Raises:
        RfcError: an id is not in the RFC.
    """
    for cited in tests:
        rfc.find(cited)
    elsewhere = repository_tests() if elsewhere is None else elsewhere
    hashes = {clause.id: clause.sha256 for clause in rfc.clauses}
    rows = []
    for obligation in rfc.obligations:
        own = (*tests.get(obligation.id, ()), *tests.get(obligation.clause, ()))
        if not own:
            own = tuple(
                TestEvidence(test, "not run", message=ELSEWHERE)
                for test in elsewhere.get(obligation.id, ())
            )
        rows.append(
            ObligationEvidence(
                id=obligation.id,
                sentence=obligation.sentence,
                clause=obligation.clause,
                clause_sha256=hashes[obligation.clause],
                status=strongest(test.status for test in own),
                tests=own,
            )
        )
    return tuple(rows)


def verdict(rows: Iterable[ObligationEvidence]) -> Verdict:
    """Violates when any obligation failed; a run that never got here could not run."""
    return "violates" if any(row.status == "failed" for row in rows) else "conforms"


def as_json(report: Report) -> str:
    """The report as indented JSON with a newline."""
    return json.dumps({"format": FORMAT, **asdict(report)}, indent=2, ensure_ascii=False) + "\n"


def load_report(path: Path) -> Report:
    """Read a report.json.

    Raises:
        ValueError: the file is not a report of this format; the message says what it is.
    """
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        found = raw.pop("format", None) if isinstance(raw, dict) else type(raw).__name__
        if found != FORMAT:
            raise ValueError(f"expected the format {FORMAT!r}, found {found!r}")
        rows = tuple(
            ObligationEvidence(**{**row, "tests": tuple(TestEvidence(**t) for t in row["tests"])})
            for row in raw.pop("obligations")
        )
        return Report(
            rfc=RfcVersion(**raw.pop("rfc")),
            candidate=Candidate(**raw.pop("candidate")),
            obligations=rows,
            **raw,
        )
    except (KeyError, TypeError, ValueError) as fault:
        raise ValueError(f"{path}: not a conformance report: {fault}") from fault
