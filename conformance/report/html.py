"""A conformance report as one HTML page that needs nothing else: no script, no font, no network.

A row for every obligation links to its sentence in the clause, whose whole text is in the page.
Every text goes through `escape`; nothing that a candidate says becomes markup.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterator
from itertools import groupby

from ownerlanes.conformance.report.markdown import MARK, facts
from ownerlanes.conformance.report.model import (
    STATUSES,
    ObligationEvidence,
    Report,
    TestEvidence,
)
from ownerlanes.conformance.report.prose import clause_html, escape, inline
from ownerlanes.rfcs.obligations import Rfc
from ownerlanes.rfcs.render import anchor


def as_html(report: Report, rfc: Rfc) -> str:
    """The page; `rfc` is the text that the report was made against."""
    css = importlib.resources.files("ownerlanes.conformance.report").joinpath("report.css")
    title = escape(f"Conformance of {report.candidate.name}: {report.verdict}")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title>",
            f"<style>\n{css.read_text(encoding='utf-8')}</style></head><body>",
            *_header(report),
            *_failures(report),
            *_overview(report, rfc),
            *_sections(report, rfc),
            "</body></html>\n",
        ]
    )


def _css_class(status: str) -> str:
    return status.replace(" ", "-")


def _header(report: Report) -> Iterator[str]:
    good = {"conforms": "passed", "violates": "failed"}.get(report.verdict, "not-claimed")
    yield f"<h1>Conformance of {escape(report.candidate.name)}</h1>"
    yield (
        f'<p class="verdict {good}">{escape(report.verdict.capitalize())}'
        f" ({escape(report.rfc.id)} {escape(report.rfc.version)})</p>"
    )
    if report.message:
        yield f"<pre>{escape(report.message)}</pre>"
    counts = {status: number for status, number in report.counts().items() if number}
    bar = (
        f'<span class="{_css_class(status)}" style="flex:{number}"></span>'
        for status, number in counts.items()
    )
    yield f'<div class="bar" aria-hidden="true">{"".join(bar)}</div>'
    entries = (
        f'<li class="{_css_class(status)}">{MARK[status]} {number} {status}</li>'
        for status, number in counts.items()
    )
    yield f'<ul class="counts">{"".join(entries)}</ul>'
    listed = (f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts(report))
    yield f"<dl>{''.join(listed)}</dl>"


def _failures(report: Report) -> Iterator[str]:
    failed = [row for row in report.obligations if row.status == "failed"]
    if failed:
        yield "<h2>What failed</h2><ul>"
        for row in failed:
            yield (
                f'<li><a href="#row-{escape(anchor(row.id))}">{escape(row.id)}</a> '
                f"{inline(row.sentence)}</li>"
            )
        yield "</ul>"


def _overview(report: Report, rfc: Rfc) -> Iterator[str]:
    titles = {clause.id: clause.title for clause in rfc.clauses}
    heads = "".join(f'<th class="number">{status}</th>' for status in STATUSES)
    yield f"<h2>Clauses</h2><table><thead><tr><th>clause</th>{heads}</tr></thead><tbody>"
    for clause, rows in groupby(report.obligations, key=lambda row: row.clause):
        found = [row.status for row in rows]
        yield (
            f'<tr><td><a href="#evidence-{escape(anchor(clause))}">'
            f"{escape(clause.partition(':')[2])}</a> {escape(titles.get(clause, ''))}</td>"
            f"{''.join(_number(found.count(status), status) for status in STATUSES)}</tr>"
        )
    yield "</tbody></table>"


def _number(count: int, status: str) -> str:
    return f'<td class="number {_css_class(status) if count else "none"}">{count}</td>'


def _sections(report: Report, rfc: Rfc) -> Iterator[str]:
    rows = {
        clause: list(group)
        for clause, group in groupby(report.obligations, key=lambda row: row.clause)
    }
    for clause in sorted(rfc.clauses, key=lambda clause: clause.id not in rows):
        yield f'<section id="evidence-{anchor(clause.id)}">'
        yield f"<h2>{escape(clause.title)}</h2>"
        yield f'<p class="soft">{escape(clause.id)} · text SHA-256 {clause.sha256}</p>'
        yield from _table(rows.get(clause.id, []))
        yield f'<details id="{anchor(clause.id)}"><summary>Text of the clause</summary>'
        yield f'<div class="text">{clause_html(clause)}</div></details></section>'


def _table(rows: list[ObligationEvidence]) -> Iterator[str]:
    if not rows:
        return
    yield '<table class="obligations"><thead><tr><th class="id">no.</th><th>obligation</th>'
    yield '<th class="status">result</th><th class="tests">evidence</th></tr></thead><tbody>'
    for row in rows:
        here = escape(anchor(row.id))
        number = escape(row.id.rpartition("/")[2])
        yield (
            f'<tr id="row-{here}"><td class="id"><a href="#{here}" title="{escape(row.id)}">'
            f"/{number}</a></td>"
            f'<td class="sentence">{inline(row.sentence)}</td>'
            f'<td class="status {_css_class(row.status)}">{MARK[row.status]} {row.status}</td>'
            f'<td class="tests">{"".join(_tests(row))}</td></tr>'
        )
        yield from _messages(row)
    yield "</tbody></table>"


def _tests(row: ObligationEvidence) -> Iterator[str]:
    if not row.tests:
        yield '<span class="soft">no test in this run</span>'
        return
    seconds = sum(test.seconds for test in row.tests)
    plural = "" if len(row.tests) == 1 else "s"
    ran = "" if row.status == "not run" else f", {row.examples} examples, {seconds:.2f} s"
    yield f"<details{' open' if row.status == 'failed' else ''}><summary>"
    yield f"{len(row.tests)} test{plural}{ran}</summary><ul>"
    yield from (f"<li>{_test(test)}</li>" for test in row.tests)
    yield "</ul></details>"


def _test(test: TestEvidence) -> str:
    ran = "" if test.status == "not run" else f" · {test.examples} examples, {test.seconds:.2f} s"
    why = "" if test.status == "failed" or not test.message else f": {escape(test.message)}"
    return (
        f'<span class="{_css_class(test.status)}">{MARK[test.status]} {test.status}</span> '
        f"{escape(test.id)}{ran}{why}"
    )


def _messages(row: ObligationEvidence) -> Iterator[str]:
    """What the failed tests said, over the whole width of the table."""
    for test in row.tests:
        if test.status == "failed":
            yield (
                f'<tr class="message"><td colspan="4">{escape(test.id)}'
                f"<pre>{escape(test.message)}</pre></td></tr>"
            )
