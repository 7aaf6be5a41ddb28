"""`ownerlanes replay`: a workload through oracle and candidate in lock-step.

It reads the options, runs the replay and prints its summary. Exit codes: 0 no difference, 1 the
candidate differs from the oracle, 2 the replay could not run.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from ownerlanes.conformance.device import prepare_triton
from ownerlanes.conformance.generator import generate
from ownerlanes.conformance.protocol import CouldNotRunError, load_candidate
from ownerlanes.conformance.replay.pools import candidate_side, load_cache, oracle_side
from ownerlanes.conformance.replay.runs import Outcome, aggregate_count, lane_blind, run
from ownerlanes.conformance.replay.scheduler import Listener
from ownerlanes.conformance.replay.settings import ReplaySettings
from ownerlanes.conformance.replay.sides import DivergedError, Side
from ownerlanes.conformance.replay.splits import SplitName
from ownerlanes.conformance.replay.summary import comparison_table, summary_table
from ownerlanes.conformance.replay.workload import Prompt, prompts_of
from ownerlanes.conformance.traces import TraceRequest, load_trace
from ownerlanes.reference.contract import InvalidArgumentError, LaneLayout, OwnerLaneError

DEFAULT_ALLOCATOR = "ownerlanes.gpu:TritonAllocator"
DEFAULT_CACHE = "ownerlanes.gpu:LanePrefixCache"
DEFAULT_REQUESTS = 500
MAX_PAGES = 10_000_000
LANE_TOKENS = 262_144
"""Without --pages-per-lane, a lane has allocatable pages for so many tokens."""


class PlacementName(StrEnum):
    """How page ids are numbered."""

    INTERLEAVED = "interleaved"
    BLOCKED = "blocked"


@dataclass(frozen=True)
class Workload:
    """What is replayed.

    Attributes:
        title: where it comes from, for people.
        prompts: the requests' inputs.
    """

    title: str
    prompts: list[Prompt]

    @property
    def reuses(self) -> bool:
        """Whether any page can be shared."""
        return any(prompt.keys for prompt in self.prompts)


def replay(
    trace: Annotated[
        Path | None,
        typer.Argument(
            help="Mooncake JSON Lines or Azure LLM CSV; none: the built-in workload.",
            show_default=False,
        ),
    ] = None,
    requests: Annotated[
        int | None,
        typer.Option(min=0, help=f"First so many; default all, {DEFAULT_REQUESTS} built-in ones."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the built-in workload.")] = 0,
    lanes: Annotated[int, typer.Option(help="Lanes (context-parallel ranks).")] = 8,
    page_size: Annotated[int, typer.Option(help="Tokens a page.")] = 64,
    pages_per_lane: Annotated[
        int | None,
        typer.Option(help=f"With the reserved one; default: {LANE_TOKENS:,} tokens a lane."),
    ] = None,
    placement: Annotated[
        PlacementName, typer.Option(help="How page ids are numbered.")
    ] = PlacementName.INTERLEAVED,
    split: Annotated[
        SplitName, typer.Option(help="Who computes which token of an extend.")
    ] = SplitName.ZIGZAG_PAGES,
    phase: Annotated[
        str, typer.Option(help="choose (once a request), chain (the reused prefix's) or a number.")
    ] = "choose",
    chunk: Annotated[int, typer.Option(help="Most tokens of an extend.")] = 8_192,
    batch_tokens: Annotated[int, typer.Option(help="Most tokens of a batch.")] = 65_536,
    in_flight: Annotated[int, typer.Option(help="Most requests holding pages.")] = 16,
    prefix_reuse: Annotated[bool, typer.Option(help="Cache and reuse shared prefixes.")] = True,
    whole_blocks: Annotated[
        bool, typer.Option(help="Round prompts up to the trace's blocks of 512 tokens.")
    ] = False,
    allocator: Annotated[
        str, typer.Option(help="The candidate, pkg.module:make.")
    ] = DEFAULT_ALLOCATOR,
    cache: Annotated[
        str, typer.Option(help="The candidate's prefix cache, pkg.module:make.")
    ] = DEFAULT_CACHE,
    oracle_only: Annotated[bool, typer.Option(help="No candidate, nothing compared.")] = False,
    compare: Annotated[
        bool, typer.Option(help="Also a lane-blind pool and an aggregate-count evictor.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(help="Write a page and pictures here (needs matplotlib).")
    ] = None,
) -> None:
    """Replay a workload through oracle and candidate, comparing every allocation and state.

    Prompts are placed, in chunks; generated tokens are not. Time is logical: requests are admitted
    in order, as fast as pages and --in-flight allow.
    """
    try:
        layout = LaneLayout(lanes, page_size, _pages(pages_per_lane, page_size), placement.value)
        settings = ReplaySettings(
            layout,
            split=split,
            phase=_phase(phase),
            follow_chain=phase == "chain",
            chunk=chunk,
            batch_tokens=batch_tokens,
            in_flight=in_flight,
        )
        workload = _workload(trace, requests, seed, layout, prefix_reuse, whole_blocks)
        _check_possible(layout, workload, compare, report)
        sides = _sides(settings, workload, None if oracle_only else allocator, cache)
        outcomes = _run(settings, workload, sides, compare)
        _show(workload, outcomes)
        if report is not None:
            _write_report(report, workload, outcomes)
    except DivergedError as diverged:
        typer.echo(
            f"ownerlanes replay: the candidate differs from the oracle\n{diverged}", err=True
        )
        raise typer.Exit(1) from None
    except (CouldNotRunError, OwnerLaneError, OSError) as fault:
        typer.echo(f"ownerlanes replay: could not run: {fault}", err=True)
        raise typer.Exit(2) from None


def _pages(given: int | None, page_size: int) -> int:
    return LANE_TOKENS // max(1, page_size) + 1 if given is None else given


def _phase(given: str) -> int | None:
    if given in ("choose", "chain"):
        return None
    if not given.isdecimal():
        raise InvalidArgumentError(f"--phase: expected choose, chain or a number, found {given!r}")
    return int(given)


def _workload(
    path: Path | None,
    requests: int | None,
    seed: int,
    layout: LaneLayout,
    reuse: bool,
    whole_blocks: bool,
) -> Workload:
    trace: list[TraceRequest]
    if path is None:
        trace = generate(DEFAULT_REQUESTS if requests is None else requests, seed)
        title = f"built-in workload, seed {seed}"
    else:
        trace = load_trace(path, requests)
        title = path.name
    prompts = prompts_of(trace, layout.page_size, reuse=reuse, whole_blocks=whole_blocks)
    return Workload(f"{title}: {len(prompts):,} requests", prompts)


def _check_possible(
    layout: LaneLayout, workload: Workload, compare: bool, report: Path | None
) -> None:
    """Refuse what would fail only later, and pools that the oracle cannot hold."""
    if layout.num_pages > MAX_PAGES:
        raise CouldNotRunError(
            f"the oracle lists every page: expected at most {MAX_PAGES:,} pages in all, "
            f"found {layout.num_pages:,}"
        )
    if compare and not workload.reuses:
        raise CouldNotRunError("--compare needs prefix reuse and a workload with shared prefixes")
    if report is not None:
        if importlib.util.find_spec("matplotlib") is None:
            raise CouldNotRunError(
                "--report needs matplotlib; install it with: pip install 'ownerlanes[plots]'"
            )
        report.mkdir(parents=True, exist_ok=True)


def _sides(
    settings: ReplaySettings, workload: Workload, allocator: str | None, cache: str
) -> list[Side]:
    """The oracle and, unless there is no candidate, the candidate."""
    sides = [oracle_side(settings.layout, reuse=workload.reuses)]
    if allocator is not None:
        prepare_triton()
        candidate = load_candidate(allocator)
        make_cache = load_cache(cache) if workload.reuses else None
        sides.append(candidate_side(candidate, settings, make_cache))
    return sides


def _run(
    settings: ReplaySettings, workload: Workload, sides: Sequence[Side], compare: bool
) -> list[Outcome]:
    """The replay itself and, to compare it with, two other pools; the limit is the last."""
    prompts = workload.prompts
    with _progress("replay", len(prompts)) as left:
        outcomes = [run(settings, prompts, sides, left=left)]
    if compare:
        with _progress("aggregate-count evictor", len(prompts)) as left:
            outcomes.append(aggregate_count(settings, prompts, left))
        with _progress("lane-blind pool", len(prompts)) as left:
            outcomes.append(lane_blind(settings, prompts, left))
    return outcomes


@contextmanager
def _progress(what: str, total: int) -> Iterator[Listener]:
    """A bar on a terminal's standard error; nothing in a pipe."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda left: bar.update(task, completed=left)


def _show(workload: Workload, outcomes: Sequence[Outcome]) -> None:
    console = Console(highlight=False)
    console.print(Text(workload.title))
    console.print(summary_table(outcomes[0]))
    if len(outcomes) > 1:
        console.print()
        console.print(comparison_table(outcomes))


def _write_report(folder: Path, workload: Workload, outcomes: Sequence[Outcome]) -> None:
    from ownerlanes.conformance.replay.page import write_report

    path = write_report(folder, workload.title, outcomes)
    typer.echo(f"report: {path}")
