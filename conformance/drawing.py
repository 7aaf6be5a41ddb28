"""One request's plan as a picture: which lane gets which page, in the terminal or as SVG.

The owners come from the oracle's page_owners; this module only draws them, and every drawing can
be read without colour. It allocates nothing and knows nothing of which pages are free.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ownerlanes.reference.contract import ExtendRequest, LaneLayout
from ownerlanes.reference.planning import page_owners

LANE_COLOURS = (
    "#56b4e9",
    "#e69f00",
    "#2fb58a",
    "#f0e442",
    "#cc79a7",
    "#ff8a5c",
    "#9fa8f5",
    "#b0b8bf",
)
"""Told apart by most colour-blind readers too; lane 8 has the colour of lane 0."""


@dataclass(frozen=True)
class PlannedPage:
    """A page that the new tokens touch.

    Attributes:
        position: the page's position in the request.
        lane: its owner lane.
        tokens: positions of the new tokens on it.
        placed: whether it holds tokens of the prefix, so that no new page is taken for it.
        full: whether its last slot is used.
    """

    position: int
    lane: int
    tokens: range
    placed: bool
    full: bool

    @property
    def partial(self) -> bool:
        """Whether the new tokens do not fill the whole page."""
        return self.placed or not self.full

    @property
    def label(self) -> str:
        """The position, marked + when placed already, * when its end stays empty."""
        mark = "+" if self.placed else "" if self.full else "*"
        return f"{self.position}{mark}"


def planned_pages(request: ExtendRequest, layout: LaneLayout) -> list[PlannedPage]:
    """The touched pages in order, with their owners.

    Raises:
        InvalidRequestError, UnsupportedPagePlanError: as page_owners.
    """
    size = layout.page_size
    first = request.prefix_len // size
    pages = []
    for position, lane in enumerate(page_owners(request, layout), start=first):
        start = max(request.prefix_len, position * size)
        end = min(request.seq_len, (position + 1) * size)
        placed = start % size != 0
        pages.append(PlannedPage(position, lane, range(start, end), placed, end % size == 0))
    return pages


def colour(lane: int) -> str:
    """The lane's colour, as #rrggbb."""
    return LANE_COLOURS[lane % len(LANE_COLOURS)]


def heading(request: ExtendRequest, layout: LaneLayout) -> str:
    """What is drawn, in one line."""
    new_tokens = request.seq_len - request.prefix_len
    span = f"tokens {request.prefix_len} to {request.seq_len - 1}" if new_tokens else "no tokens"
    phase = "" if not request.phase else f", phase {request.phase}"
    return (
        f"{request.split}{phase}: {span} on {layout.num_lanes} lanes, "
        f"{layout.page_size} tokens a page"
    )


def page_ranges(pages: Sequence[PlannedPage]) -> str:
    """Positions in order, neighbours joined: "0-2, 15-18"."""
    runs: list[str] = []
    for _, group in groupby(enumerate(pages), key=lambda pair: pair[1].position - pair[0]):
        run = [page.position for _, page in group]
        runs.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return ", ".join(runs)


def count_tokens(pages: Sequence[PlannedPage]) -> int:
    """The new tokens on these pages."""
    return sum(len(page.tokens) for page in pages)


def draw_plan(console: Console, request: ExtendRequest, layout: LaneLayout) -> None:
    """Print the plan: a grid of lanes by pages in bands as wide as the console, and the demand.

    Raises:
        InvalidRequestError, UnsupportedPagePlanError: as page_owners; nothing is printed.
    """
    pages = planned_pages(request, layout)
    console.print(Text(heading(request, layout), style="bold"))
    for band in _bands(pages, layout, console.width):
        console.print()
        console.print(band, no_wrap=True, overflow="crop")
    for note in notes(pages, layout):
        console.print(Text(note, style="dim"))
    console.print()
    console.print(_demand_table(pages, layout))


def _bands(pages: Sequence[PlannedPage], layout: LaneLayout, width: int) -> Iterator[Text]:
    """The grid, cut into bands that fit; each cell shows the page's position on its lane's row."""
    if not pages:
        return
    label = len(f"lane {layout.num_lanes - 1}")
    cell = len(str(pages[-1].position)) + 1
    columns = max(1, (width - label - 2) // cell)
    for start in range(0, len(pages), columns):
        band = Text()
        for lane in range(layout.num_lanes):
            band.append(f"lane {lane}".ljust(label) + " |")
            for page in pages[start : start + columns]:
                _append_cell(band, page, lane, cell)
            if lane < layout.num_lanes - 1:
                band.append("\n")
        yield band


def _append_cell(band: Text, page: PlannedPage, lane: int, width: int) -> None:
    if page.lane != lane:
        band.append(".".rjust(width - 1) + " ", style="dim")
        return
    label = page.label if page.partial else f"{page.label} "
    band.append(label.rjust(width), style=f"black on {colour(lane)}")


def notes(pages: Sequence[PlannedPage], layout: LaneLayout) -> list[str]:
    """What the marks of partial pages mean, with their numbers."""
    size = layout.page_size
    told = []
    for page in pages:
        if page.placed:
            told.append(
                f"{page.label} holds tokens of the prefix already: "
                f"{len(page.tokens)} of its {size} slots are filled now, no new page"
            )
        elif not page.full:
            told.append(f"{page.label} is partly filled: {len(page.tokens)} of its {size} slots")
    return told


def _demand_table(pages: Sequence[PlannedPage], layout: LaneLayout) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("lane", justify="right")
    table.add_column("new pages", justify="right")
    table.add_column("new tokens", justify="right")
    table.add_column("page positions", overflow="fold")
    for lane in range(layout.num_lanes):
        own = [page for page in pages if page.lane == lane]
        new = sum(not page.placed for page in own)
        style = f"black on {colour(lane)}"
        table.add_row(
            Text(f" {lane} ", style=style), str(new), str(count_tokens(own)), page_ranges(own)
        )
    total = sum(not page.placed for page in pages)
    table.add_row("all", str(total), str(count_tokens(pages)), "", style="bold")
    return table
