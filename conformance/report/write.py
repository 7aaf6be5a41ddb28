"""Puts a report into a folder, in the three forms that its readers use.

JSON for programs, Markdown for a review, HTML for people. Nothing is fetched and nothing outside
the folder is touched.
"""

from __future__ import annotations

from pathlib import Path

from ownerlanes.conformance.report.html import as_html
from ownerlanes.conformance.report.markdown import as_markdown
from ownerlanes.conformance.report.model import Report, as_json
from ownerlanes.rfcs.obligations import Rfc, load


def write_report(report: Report, directory: Path, rfc: Rfc | None = None) -> None:
    """Write report.json, report.md and report.html into `directory`, which is made if needed.

    Args:
        report: the evidence.
        directory: where to put it.
        rfc: the text that the report was made against; the installed one when not given.
    """
    rfc = load() if rfc is None else rfc
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("report.json", as_json(report)),
        ("report.md", as_markdown(report)),
        ("report.html", as_html(report, rfc)),
    ):
        (directory / name).write_text(text, encoding="utf-8")
