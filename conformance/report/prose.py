"""The few forms of Markdown that clauses use, as HTML: paragraphs, lists, code, bold, italics.

Everything is escaped before it is marked up, so no text can bring a tag of its own. It is not a
Markdown processor and knows nothing that the RFC does not use.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from ownerlanes.rfcs.obligations import KEYWORDS, Clause
from ownerlanes.rfcs.render import REFERENCE, anchor

_MARKS = (
    (re.compile(r"\*\*([^*]+)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])"), r"<em>\1</em>"),
)
_CODE = re.compile(r"`([^`]+)`")
_ITEM = re.compile(r"(?:(\d+)\.|-) +(.+)")


def escape(text: object) -> str:
    """Text from anywhere, safe between tags and in quoted attributes."""
    return html.escape(str(text), quote=True)


def inline(markdown: str) -> str:
    """One run of text: code spans are kept as they are, the rest is marked up."""
    parts = _CODE.split(markdown)
    return "".join(
        f"<code>{escape(part)}</code>" if index % 2 else _marked(part)
        for index, part in enumerate(parts)
    )


def clause_html(clause: Clause) -> str:
    """The text of a clause, its obligations with the anchors of the rendered RFC."""
    return "\n".join(_blocks(clause))


def _marked(text: str) -> str:
    marked = escape(text)
    for pattern, replacement in _MARKS:
        marked = pattern.sub(replacement, marked)
    marked = KEYWORDS.sub(r"<b>\1</b>", marked)
    return REFERENCE.sub(lambda m: f'<a href="#{m[2].lower()}">{m[2]}</a>', marked)


def _blocks(clause: Clause) -> Iterator[str]:
    for block in re.split(r"\n\s*\n", clause.text):
        lines: list[str] = []
        for line in block.splitlines():
            if line.startswith(" ") and lines:
                lines[-1] += f" {line.strip()}"
            else:
                lines.append(line)
        found = [_ITEM.fullmatch(line) for line in lines]
        items = [match for match in found if match]
        if len(items) < len(lines):
            yield f"<p>{inline(' '.join(lines))}</p>"
        elif items[0][1]:
            entries = "".join(
                f'<li id="{anchor(f"{clause.id}/{m[1]}")}" value="{m[1]}">{inline(m[2])}</li>'
                for m in items
            )
            yield f"<ol>{entries}</ol>"
        else:
            yield "<ul>" + "".join(f"<li>{inline(m[2])}</li>" for m in items) + "</ul>"
