"""A conformance report as Markdown, for a pull request or a terminal pager.

A row for every obligation, then what failed in full. Everything that comes from a candidate is
escaped or fenced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from ownerlanes.conformance.report.model import ObligationEvidence, Report

MARK = {"passed": "✓", "failed": "✗", "not claimed": "○", "not run": "·"}


def as_markdown(report: Report) -> str:
    """The whole report, ending in a newline."""
    return "\n".join(_lines(report)) + "\n"


def cell(text: object) -> str:
    """Text from anywhere, safe in a table cell: one line, no markup of its own."""
    flat = " ".join(str(text).split())
    return re.sub(r"([\\`*_\[\]|<>#&])", r"\\\1", flat)


def fenced(text: str) -> str:
    """Text from anywhere as a code block that it cannot end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _lines(report: Report) -> Iterator[str]:
    counts = report.counts()
    yield f"# Conformance of {cell(report.candidate.name)}: {report.verdict}"
    yield ""
    if report.message:
        yield fenced(report.message)
        yield ""
    yield ", ".join(f"{number} {status}" for status, number in counts.items())
    yield ""
    yield "| | |"
    yield "|---|---|"
    for name, value in facts(report):
        yield f"| {name} | {cell(value)} |"
    for clause, rows in groupby(report.obligations, key=lambda row: row.clause):
        yield ""
        yield from _clause(clause, list(rows))
    failed = [row for row in report.obligations if row.status == "failed"]
    if failed:
        yield ""
        yield "## What failed"
    for row in failed:
        yield ""
        yield f"### {row.id}"
        yield ""
        yield row.sentence
        for test in row.tests:
            if test.status == "failed":
                yield ""
                yield f"{cell(test.id)}:"
                yield ""
                yield fenced(test.message)


def facts(report: Report) -> list[tuple[str, str]]:
    """What a reader needs to repeat the run: (name, value), in order."""
    candidate = report.candidate
    claims = (f"{name}={value}" for name, value in candidate.capabilities.items())
    return [
        ("candidate", candidate.name),
        ("implementation", candidate.implementation),
        ("device", candidate.device),
        ("capabilities", ", ".join(claims) or "none declared"),
        ("profile", report.profile),
        ("seed", "not fixed" if report.seed is None else str(report.seed)),
        ("RFC", f"{report.rfc.id} {report.rfc.version}, text SHA-256 {report.rfc.sha256}"),
        ("started", report.started),
        ("seconds", f"{report.seconds:.1f}"),
        ("versions", ", ".join(f"{name} {version}" for name, version in report.versions.items())),
    ]


def _clause(clause: str, rows: list[ObligationEvidence]) -> Iterator[str]:
    yield f"## {clause}"
    yield ""
    yield f"Text SHA-256 `{rows[0].clause_sha256}`"
    yield ""
    yield "| | obligation | result | tests | examples | seconds |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        tests = "<br>".join(cell(f"{test.id} ({test.status})") for test in row.tests)
        seconds = sum(test.seconds for test in row.tests)
        sentence = row.sentence.replace("|", "\\|")
        yield (
            f"| {row.id.rpartition('/')[2]} | {sentence} | {MARK[row.status]} {row.status} "
            f"| {tests or 'none'} | {row.examples} | {seconds:.2f} |"
        )
