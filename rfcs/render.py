"""The RFC as one Markdown page, with an anchor for every clause and obligation.

`rfcs/RFC-0001.md` is this page, committed; anchors are made of ids alone, so links into it outlive
rewording. Nothing is left out and nothing is added but headings, anchors and hashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ownerlanes.rfcs.obligations import RFC_ID, Clause, Rfc, load

PAGE = f"{RFC_ID}.md"
REFERENCE = re.compile(r"\[\[(RFC-\d{4}:)?(C-[A-Z0-9-]+)\]\]")
_NUMBER = re.compile(r"(\d+)\. +")
COMMAND = "ownerlanes rfc render"


def anchor(cited: str) -> str:
    """The fragment of a clause or obligation: "RFC-0001:C-RELEASE/2" gives "c-release-2"."""
    return cited.partition(":")[2].replace("/", "-").lower()


def rendered(rfc: Rfc) -> str:
    """The page, ending in a newline."""
    lines = [
        f"<!-- Made by `{COMMAND}` from rfcs/{rfc.id}/; edit the clauses, not this file. -->",
        "",
        f"# {rfc.id}: {rfc.title}",
        "",
        f"Version {rfc.version} · status {rfc.status} · phase {rfc.phase} · "
        f"created {rfc.created} · {len(rfc.obligations)} obligations  ",
        f"SHA-256 of the text: `{rfc.sha256}`",
    ]
    for section in rfc.sections:
        lines += ["", f"## {section.title}"]
        for clause in section.clauses:
            lines += ["", *_clause(clause)]
    lines += ["", "## Changelog"]
    for release in rfc.changelog:
        lines += ["", f"### {release.version} ({release.date})", "", release.notes]
        for category, entries in release.changes.items():
            lines += ["", f"{category.capitalize()}:", "", *(f"- {entry}" for entry in entries)]
    return "\n".join(lines) + "\n"


def is_stale(rfcs: Path) -> bool:
    """Whether the committed page differs from what the clauses give."""
    page = rfcs / PAGE
    return not page.exists() or page.read_text(encoding="utf-8") != rendered(load(rfcs))


def write(rfcs: Path) -> Path:
    """Write the page beside the RFC's folder; return its path."""
    page = rfcs / PAGE
    page.write_text(rendered(load(rfcs)), encoding="utf-8")
    return page


def _clause(clause: Clause) -> Iterator[str]:
    yield f'<a id="{anchor(clause.id)}"></a>'
    yield ""
    yield f"### {clause.title} ({clause.name})"
    yield ""
    about = [clause.kind, clause.status]
    about += [f"since {clause.since}"] if clause.since else []
    about += [f"superseded by {clause.superseded_by}"] if clause.superseded_by else []
    yield f"{', '.join(about)} · SHA-256 `{clause.sha256[:16]}…`"
    yield ""
    numbers = {obligation.number: obligation for obligation in clause.obligations}
    for line in clause.text.splitlines():
        linked = REFERENCE.sub(lambda m: f"[{m[2]}](#{m[2].lower()})", line)
        item = _NUMBER.match(line)
        if item and int(item[1]) in numbers:
            mark = f'<a id="{anchor(numbers[int(item[1])].id)}"></a>'
            linked = f"{item[0]}{mark}{linked[item.end() :]}"
        yield linked
