"""What `replay --report` leaves behind: one HTML page that stands alone, and each picture twice.

The page holds the summary, the comparison and the pictures themselves, needs no network and no
script, and escapes every text, whatever the trace is called. The pictures are PNG and SVG files
beside it.
"""

from __future__ import annotations

import base64
import importlib.resources
import io
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from ownerlanes.conformance.replay import plots
from ownerlanes.conformance.replay.runs import Outcome
from ownerlanes.conformance.replay.summary import (
    COMPARISON_HEADER,
    comparison_rows,
    pool_title,
    summary_rows,
)

NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
PICTURES: tuple[tuple[str, str, str, Callable[[Sequence[Outcome]], Figure | None]], ...] = (
    (
        "occupancy",
        "Lane occupancy over time. Above, what the pool's pages are used for; below, which lanes "
        "carry more of the requests in flight than others.",
        "No batch was placed.",
        lambda outcomes: plots.occupancy(outcomes[0]),
    ),
    (
        "waits",
        "Each capacity wait, lane by lane: above its free pages, below what it was short of. Short "
        "lanes beside lanes that are not are pressure by lane; all lanes short is a full pool.",
        "No batch had to wait for pages.",
        lambda outcomes: plots.waits(outcomes[0]),
    ),
    (
        "hits",
        "Hit ratio against the same pool without lanes, which is the limit up to chance.",
        "No prefix was reused.",
        plots.hits,
    ),
)
"""File name, caption, what is said when there is nothing to draw, and the drawing."""


def write_report(folder: Path, title: str, outcomes: Sequence[Outcome]) -> Path:
    """Write page and pictures into a folder that exists; the page's path.

    Raises:
        OSError: a file cannot be written.
    """
    sections = []
    for name, caption, nothing, draw in PICTURES:
        figure = draw(outcomes)
        if figure is None:
            sections.append(f"<p>{escape(nothing)}</p>")
            continue
        figure.savefig(folder / f"{name}.png", dpi=120)
        svg = as_svg(figure)
        (folder / f"{name}.svg").write_bytes(svg)
        sections.append(_picture(svg, caption))
    path = folder / "replay.html"
    path.write_text(_page(title, outcomes, sections), encoding="utf-8")
    return path


def as_svg(figure: Figure) -> bytes:
    """The picture as SVG, byte for byte the same for the same figure."""
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "ownerlanes"}):
        figure.savefig(buffer, format="svg", metadata=NO_METADATA)
    return buffer.getvalue()


def _picture(svg: bytes, caption: str) -> str:
    data = base64.b64encode(svg).decode("ascii")
    return (
        f'<figure><img alt="{escape(caption)}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _page(title: str, outcomes: Sequence[Outcome], pictures: Sequence[str]) -> str:
    css = importlib.resources.files("ownerlanes.conformance.report").joinpath("report.css")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{css.read_text(encoding='utf-8')}",
            "figure { margin: 1.5rem 0; } figure img { width: 100%; border-radius: 6px; }",
            "figcaption { color: var(--soft); font-size: .875rem; }",
            "</style></head><body>",
            f"<h1>Replay of {escape(title)}</h1>",
            f'<p class="soft">{escape(pool_title(outcomes[0].settings))}</p>',
            *_summary(outcomes[0]),
            *_comparison(outcomes),
            *pictures,
            "</body></html>\n",
        ]
    )


def _summary(outcome: Outcome) -> Iterator[str]:
    rows = summary_rows(outcome)
    yield "<dl>"
    yield from (f"<dt>{escape(what)}</dt><dd>{escape(value)}</dd>" for what, value in rows)
    yield "</dl>"


def _comparison(outcomes: Sequence[Outcome]) -> Iterator[str]:
    if len(outcomes) == 1:
        return
    yield "<h2>Against pools of the same size</h2><table><thead><tr>"
    yield "".join(_cell("th", column, name) for column, name in enumerate(COMPARISON_HEADER))
    yield "</tr></thead><tbody>"
    for row in comparison_rows(outcomes):
        cells = (_cell("td", column, value) for column, value in enumerate(row))
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table>"


def _cell(tag: str, column: int, value: str) -> str:
    kind = ' class="number"' if column else ""
    return f"<{tag}{kind}>{escape(value)}</{tag}>"
