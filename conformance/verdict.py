"""The verdict of a run in a few lines: clause by clause, with what is not claimed.

Text only; the report has every obligation and every test.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from ownerlanes.conformance.check import Check
from ownerlanes.conformance.report.model import STATUSES

SHORT = {
    "failed": "VIOLATED",
    "passed": "holds",
    "not claimed": "not claimed",
    "not run": "not run",
}
WORDS = {0: "conforms", 1: "violates", 2: "could not run to the end"}


def verdict_lines(check: Check) -> Iterator[str]:
    """One line for each clause, then what is not claimed, then the verdict."""
    rows = check.findings.evidence(check.rfc)
    yield (
        f"{'clause':34} {'verdict':12} {'holds':>6} {'violated':>9} {'not claimed':>12} "
        f"{'not run':>8}"
    )
    for clause, group in groupby(rows, key=lambda row: row.clause):
        found = [row.status for row in group]
        counts = {status: found.count(status) for status in STATUSES}
        word = next(SHORT[status] for status in STATUSES if counts[status])
        yield (
            f"{clause.partition(':')[2]:34} {word:12} {counts['passed']:6} {counts['failed']:9} "
            f"{counts['not claimed']:12} {counts['not run']:8}"
        )
    yield ""
    not_claimed = check.candidate.capabilities.not_claimed()
    if not_claimed:
        yield f"not claimed: {', '.join(not_claimed)}"
    unknown, wrong = check.complaints
    yield from (f"violated: {obligation}" for obligation in unknown)
    yield from wrong
    seed = f"seed {check.seed}"
    if check.seed is None:
        seed = "derandomised" if check.profile.derandomize else "no fixed seed"
    status = check.exit_status(1 if check.findings.failed else 0)
    yield (
        f"{check.candidate.name} {WORDS[status]} ({check.rfc.id} {check.rfc.version}): "
        f"{len(check.findings.tests)} tests, {check.findings.examples} histories, "
        f"{check.seconds:.1f} s, profile {check.profile.name}, {seed}"
    )
