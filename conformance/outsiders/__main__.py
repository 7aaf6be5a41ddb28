"""`python -m ownerlanes.conformance.outsiders`: SGLang's pool, obligation by obligation.

Histories that ask for what the adapter claims and nothing else are recorded on the oracle and put
to the published allocator. The report says what was seen; whatever that is, the exit status is 0,
or 2 when the published class could not be run at all.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ownerlanes.conformance.outsiders.sglang_pool import (
    DERIVED,
    MODULE,
    PageInterleaveCandidate,
    published_class,
)
from ownerlanes.conformance.protocol import (
    Candidate,
    Capabilities,
    CouldNotRunError,
    candidate_from,
)
from ownerlanes.conformance.report import Report, write_report
from ownerlanes.conformance.report.model import Status
from ownerlanes.conformance.vectors.check import Verdict, check
from ownerlanes.conformance.vectors.evidence_report import Run, vectors_report
from ownerlanes.conformance.vectors.histories import histories
from ownerlanes.conformance.vectors.record import record
from ownerlanes.conformance.vectors.recorded import RecordedHistory, read_vector
from ownerlanes.conformance.vectors.themes import THEMES
from ownerlanes.rfcs import obligations

SEEN: tuple[Status, ...] = ("passed", "failed", "not claimed")
SEED = 0
ROUNDS = 30


def main(arguments: list[str]) -> int:
    """Check, print, and write the report to the folder named, where one is."""
    try:
        published_class()
        candidate = candidate_from(PageInterleaveCandidate, f"{MODULE}.PageInterleavePoolAllocator")
    except CouldNotRunError as fault:
        print(f"outsiders: could not run: {fault}", file=sys.stderr)
        return 2
    run = Run(
        f"{ROUNDS} rounds of histories within its claims, and as many of any kind",
        f"sglang {version('sglang')}, behind an adapter",
        seed=SEED,
        versions={name: version(name) for name in ("sglang", "torch")},
    )
    verdict = Verdict()
    check(asked(candidate), candidate, verdict)
    for cited in DERIVED:  # the adapter's own work says nothing of the published class
        del verdict.held[cited]
    verdict.unclaimed |= DERIVED
    report = vectors_report(verdict, candidate, obligations.load(), run)
    tell(report)
    for folder in arguments[:1]:
        write_report(report, Path(folder))
    return 0


def asked(candidate: Candidate) -> Iterator[RecordedHistory]:
    """The histories: those within its claims, and the same themes as they are for everybody."""
    for claims in (candidate.capabilities, Capabilities()):
        for theme in THEMES:
            for index, history in enumerate(histories(theme, SEED, ROUNDS, claims)):
                yield read_vector(record(history, f"{theme.name}/{index}", theme.about))


def tell(report: Report) -> None:
    """Print what was seen of every clause, and the shortest history for each violation."""
    console = Console(highlight=False)
    console.print(f"{report.candidate.name} ({report.candidate.implementation})", markup=False)
    table = Table("clause", "holds", "violated", "not claimed")
    table.columns[0].no_wrap = True
    for clause, rows in groupby(report.obligations, key=lambda row: row.clause):
        by_status = defaultdict(list)
        for row in rows:
            by_status[row.status].append(row.id.rpartition("/")[2])
        if set(by_status) != {"not run"}:
            numbers = [", ".join(by_status[status]) for status in SEEN]
            table.add_row(clause.removeprefix("RFC-0001:"), *numbers)
    console.print(table)
    for row in report.obligations:
        for test in row.tests:
            if test.status == "failed":
                console.print(f"\n{row.id}: {test.examples} vectors fail, such as", markup=False)
                console.print(test.message, markup=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
