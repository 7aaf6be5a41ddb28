"""The plan of one request as an SVG picture: lanes as rows, pages as columns.

The file stands alone (no fonts, scripts or links to fetch) and reads on light and dark pages. A
partly filled page shows how much of it the new tokens take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from ownerlanes.conformance.drawing import (
    PlannedPage,
    colour,
    count_tokens,
    heading,
    notes,
    planned_pages,
)
from ownerlanes.reference.contract import ExtendRequest, LaneLayout

CELL = 36
ROW = 38
LEFT = 88
RIGHT = 190
BAND_COLUMNS = 32
GAP = 34
"""Pixels; BAND_COLUMNS is how many pages a band holds."""


def plan_svg(request: ExtendRequest, layout: LaneLayout) -> str:
    """The picture as the text of an SVG file.

    Raises:
        InvalidRequestError, UnsupportedPagePlanError: as page_owners.
    """
    pages = planned_pages(request, layout)
    bands = [pages[at : at + BAND_COLUMNS] for at in range(0, len(pages), BAND_COLUMNS)] or [[]]
    width = LEFT + CELL * max(10, len(bands[0])) + RIGHT
    band_height = layout.num_lanes * ROW + GAP
    told = notes(pages, layout)
    height = 44 + band_height * len(bands) + 20 * len(told) + 8
    body = [_text(12, 26, heading(request, layout), "title")]
    for index, band in enumerate(bands):
        top = 44 + index * band_height
        body.extend(_band(band, layout, top, width))
        if index == len(bands) - 1:
            body.extend(_demand(pages, layout, top, width))
    foot = 44 + band_height * len(bands) + 8
    body.extend(_text(LEFT, foot + 20 * i, note, "note") for i, note in enumerate(told))
    return "\n".join([_opening(width, height, heading(request, layout)), *body, "</svg>", ""])


def _opening(width: int, height: int, title: str) -> str:
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" \
width="{width}" height="{height}" role="img" aria-label="{escape(title)}">
<style>
text {{ font-family: ui-sans-serif, system-ui, "DejaVu Sans", sans-serif; font-size: 13px; \
fill: #1f2328; }}
.title {{ font-size: 15px; font-weight: 600; }}
.note {{ fill: #57606a; font-size: 12px; }}
.page {{ text-anchor: middle; font-weight: 600; }}
.row {{ fill: #f6f8fa; }}
</style>
<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>"""


def _band(pages: Sequence[PlannedPage], layout: LaneLayout, top: int, width: int) -> Iterator[str]:
    """One band: a row for each lane, its pages in it, and token positions below."""
    for lane in range(layout.num_lanes):
        y = top + lane * ROW
        yield (
            f'<rect class="row" x="{LEFT}" y="{y}" width="{width - LEFT - RIGHT}" '
            f'height="{ROW - 4}" rx="4"/>'
        )
        yield _text(12, y + 22, f"lane {lane}", "lane")
    for column, page in enumerate(pages):
        yield from _page(page, layout, LEFT + column * CELL, top + page.lane * ROW)
    yield from _token_axis(pages, top + layout.num_lanes * ROW + 12)


def _token_axis(pages: Sequence[PlannedPage], y: int) -> Iterator[str]:
    """The first token of each run of pages on one lane, as far as the labels have room."""
    yield _text(12, y, "first token", "note")
    free_from = 0
    for column, page in enumerate(pages):
        label = str(page.tokens.start)
        x = LEFT + column * CELL + 2
        if x >= free_from and (column == 0 or pages[column - 1].lane != page.lane):
            yield _text(x, y, label, "note")
            free_from = x + 8 * len(label) + 6


def _page(page: PlannedPage, layout: LaneLayout, x: int, y: int) -> Iterator[str]:
    """One page: outlined as a whole, coloured as far as new tokens fill it."""
    box, high = CELL - 4, ROW - 4
    first = page.tokens.start % layout.page_size
    left = x + 2 + box * first / layout.page_size
    filled = box * len(page.tokens) / layout.page_size
    yield (
        f'<rect x="{left:.1f}" y="{y}" width="{filled:.1f}" height="{high}" rx="3" '
        f'fill="{colour(page.lane)}"/>'
    )
    if page.partial:
        yield (
            f'<rect x="{x + 2}" y="{y}" width="{box}" height="{high}" rx="3" fill="none" '
            'stroke="#57606a" stroke-dasharray="3 2"/>'
        )
    yield _text(x + CELL // 2, y + 22, page.label, "page")


def _demand(
    pages: Sequence[PlannedPage], layout: LaneLayout, top: int, width: int
) -> Iterator[str]:
    """What each lane gets, beside the last band."""
    for lane in range(layout.num_lanes):
        own = [page for page in pages if page.lane == lane]
        new = sum(not page.placed for page in own)
        told = f"{new} new pages, {count_tokens(own)} tokens"
        yield _text(width - RIGHT + 10, top + lane * ROW + 22, told, "note")


def _text(x: int, y: int, text: str, kind: str) -> str:
    return f'<text x="{x}" y="{y}" class="{kind}">{escape(text)}</text>'
