"""`ownerlanes plan`: the owner-lane plan of one request, drawn in the terminal.

It asks the oracle who owns which page and draws the answer; no pool is touched and neither torch
nor triton is needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ownerlanes.conformance.drawing import draw_plan
from ownerlanes.conformance.drawing_svg import plan_svg
from ownerlanes.conformance.replay.splits import SplitName
from ownerlanes.reference.contract import (
    ContiguousPages,
    ExplicitOwners,
    ExtendRequest,
    InvalidArgumentError,
    LaneLayout,
    OwnerLaneError,
    RoundRobinPages,
    RoundRobinTokens,
    Split,
    UnsupportedPagePlanError,
    ZigzagPages,
    ZigzagTokens,
)
from ownerlanes.reference.planning import page_owners

MAX_PAGES = 10_000
"""More than anyone looks at; the oracle enumerates what it plans."""


def plan(
    lanes: Annotated[int, typer.Option(help="Lanes (context-parallel ranks) of the group.")] = 4,
    page_size: Annotated[int, typer.Option(help="Tokens a page.")] = 16,
    prefix: Annotated[int, typer.Option(help="Tokens placed already.")] = 0,
    seq: Annotated[int, typer.Option(help="Tokens after this extend.")] = 300,
    split: Annotated[
        SplitName, typer.Option(help="Who computes which token.")
    ] = SplitName.ZIGZAG_PAGES,
    phase: Annotated[int, typer.Option(help="Rotates the lanes.")] = 0,
    pad: Annotated[
        int | None, typer.Option(help="Padding of a zigzag or contiguous split.")
    ] = None,
    run: Annotated[int | None, typer.Option(help="Run length of a round-robin split.")] = None,
    owners: Annotated[
        str | None, typer.Option(help="Explicit owners, such as 0,1,1,0; instead of --split.")
    ] = None,
    tail_lane: Annotated[
        int | None,
        typer.Option(
            help="Lane of the partly filled page a prefix ends in; default: any that fits."
        ),
    ] = None,
    svg: Annotated[Path | None, typer.Option(help="Also write the picture to this file.")] = None,
) -> None:
    """Draw the plan of one request: which lane gets which page."""
    try:
        layout = _layout(lanes, page_size, prefix, seq)
        chosen = _split(split, pad, run, owners)
        request = _request(prefix, seq, chosen, phase, tail_lane, layout)
        if svg is not None:
            svg.write_text(plan_svg(request, layout), encoding="utf-8")
        draw_plan(Console(highlight=False), request, layout)
    except (OwnerLaneError, OSError) as fault:
        typer.echo(f"ownerlanes plan: {fault}", err=True)
        raise typer.Exit(2) from None


def _layout(lanes: int, page_size: int, prefix: int, seq: int) -> LaneLayout:
    """A pool in which page 1 of any lane can hold the end of the prefix."""
    layout = LaneLayout(lanes, page_size, pages_per_lane=2)
    if seq - prefix > MAX_PAGES * page_size or lanes > MAX_PAGES:
        raise InvalidArgumentError(
            f"--seq, --lanes: expected at most {MAX_PAGES} new pages and lanes to draw, "
            f"found {seq - prefix} tokens of {page_size} a page and {lanes} lanes"
        )
    return layout


def _split(name: SplitName, pad: int | None, run: int | None, owners: str | None) -> Split:
    """The split that the options describe.

    Raises:
        InvalidArgumentError: an option does not belong to the split, or is out of range.
    """
    if owners is not None:
        _refuse("--owners", pad=pad, run=run)
        return ExplicitOwners(_lane(cell) for cell in owners.split(",") if cell.strip())
    match name:
        case SplitName.ROUND_ROBIN_PAGES | SplitName.ROUND_ROBIN_TOKENS:
            _refuse(f"--split {name}", pad=pad)
            kind = RoundRobinPages if name is SplitName.ROUND_ROBIN_PAGES else RoundRobinTokens
            return kind(run=1 if run is None else run)
        case SplitName.ZIGZAG_PAGES:
            _refuse(f"--split {name}", run=run)
            return ZigzagPages(pad=pad or 0)
        case SplitName.ZIGZAG_TOKENS:
            _refuse(f"--split {name}", run=run)
            return ZigzagTokens(pad=pad or 0)
        case SplitName.CONTIGUOUS_PAGES:
            _refuse(f"--split {name}", run=run)
            return ContiguousPages(pad=pad or 0)


def _refuse(chosen: str, **options: int | None) -> None:
    for name, value in options.items():
        if value is not None:
            raise InvalidArgumentError(f"--{name}: expected none with {chosen}, found {value}")


def _lane(cell: str) -> int:
    try:
        return int(cell)
    except ValueError:
        raise InvalidArgumentError(
            f"--owners: expected lanes with commas between, found {cell!r}"
        ) from None


def _request(
    prefix: int, seq: int, split: Split, phase: int, tail_lane: int | None, layout: LaneLayout
) -> ExtendRequest:
    """The request to draw; where the prefix ends inside a page, that page is put on a lane.

    Raises:
        InvalidArgumentError, UnsupportedPagePlanError: no lane of the tail page supports the plan.
    """
    aligned = prefix % layout.page_size == 0
    if aligned and tail_lane is not None:
        raise InvalidArgumentError(
            f"--tail-lane: expected none, as --prefix {prefix} ends with a page of "
            f"{layout.page_size}"
        )
    tried = range(layout.num_lanes) if tail_lane is None else [tail_lane]
    fault: UnsupportedPagePlanError | None = None
    for lane in tried:
        slot = None
        if not aligned:
            slot = layout.page(lane, 1) * layout.page_size + (prefix - 1) % layout.page_size
        request = ExtendRequest(prefix, seq, split, slot, phase)
        try:
            page_owners(request, layout)
        except UnsupportedPagePlanError as unsupported:
            fault = fault or unsupported
        else:
            return request
    assert fault is not None
    raise fault
