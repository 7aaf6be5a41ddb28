"""The tables at the end of a replay, for a terminal or a pipe.

Every number comes from the tally; nothing is computed here but shares and means.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from rich.table import Table

from ownerlanes.conformance.replay.runs import Outcome
from ownerlanes.conformance.replay.settings import ReplaySettings
from ownerlanes.conformance.replay.tally import Tally


def summary_rows(outcome: Outcome) -> list[tuple[str, str]]:
    """What happened, as (what, value) in reading order."""
    tally = outcome.tally
    rows = [
        ("requests", f"{tally.requests_left:,} ({tally.infeasible:,} infeasible, refused)"),
        ("prompt tokens", f"{tally.tokens:,} ({tally.reused:,} reused)"),
        ("hit ratio", f"{tally.hit_ratio:.4f}"),
        ("batches", f"{len(tally.samples):,} ({tally.extends:,} extends)"),
        ("tokens placed", f"{tally.computed:,}"),
        ("evicted pages", f"{tally.evicted:,} ({tally.collateral:,} of lanes not short)"),
        ("capacity waits", f"{len(tally.waits):,}"),
        ("requeued requests", f"{tally.requeued:,}"),
        ("lanes held by requests", _lanes(live_shares(tally))),
        ("lanes used, with cache", _lanes(used_shares(tally))),
        ("effective capacity", _effective(tally)),
    ]
    for side in outcome.sides:
        rows.append(
            (f"seconds, {'oracle' if side.is_oracle else 'candidate'}", f"{side.seconds:.1f}")
        )
    rows += [("candidate", side.name) for side in outcome.sides if not side.is_oracle]
    if len(outcome.sides) > 1:
        rows.append(("differences", f"0 in {outcome.compared:,} calls compared"))
    return rows


def pool_title(settings: ReplaySettings) -> str:
    """Pool, split and phase, in one line."""
    layout = settings.layout
    return (
        f"{layout.num_lanes} lanes x {layout.capacity:,} pages of {layout.page_size} tokens, "
        f"{settings.split}, phase {settings.phase_name}"
    )


def summary_table(outcome: Outcome) -> Table:
    """The summary of one replay."""
    table = Table(
        title=pool_title(outcome.settings),
        title_justify="left",
        show_header=False,
        box=None,
        pad_edge=False,
    )
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for what, value in summary_rows(outcome):
        table.add_row(what, value)
    return table


COMPARISON_HEADER = (
    "pool",
    "hits",
    "of limit",
    "evicted",
    "collateral",
    "waits",
    "requeued",
    "effective",
)


def comparison_rows(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """One row for each pool; the limit is the last outcome."""
    limit = outcomes[-1].tally.hit_ratio
    return [
        (
            outcome.name,
            f"{outcome.tally.hit_ratio:.4f}",
            f"{outcome.tally.hit_ratio / limit:.4f}" if limit else "-",
            f"{outcome.tally.evicted:,}",
            f"{outcome.tally.collateral:,}",
            f"{len(outcome.tally.waits):,}",
            f"{outcome.tally.requeued:,}",
            f"{fmean(outcome.tally.effective_capacity() or [1.0]):.3f}",
        )
        for outcome in outcomes
    ]


def comparison_table(outcomes: Sequence[Outcome]) -> Table:
    """Pools of the same total size side by side; the limit is the last outcome."""
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    for column, name in enumerate(COMPARISON_HEADER):
        table.add_column(name, justify="right" if column else "left", no_wrap=True)
    for row in comparison_rows(outcomes):
        table.add_row(*row)
    return table


def live_shares(tally: Tally) -> list[float]:
    """Mean share of each lane's pages that requests in flight held after a batch."""
    return _means([sample.live for sample in tally.samples], tally)


def used_shares(tally: Tally) -> list[float]:
    """Mean share of each lane's pages that were not free after a batch."""
    used = [tuple(tally.layout.capacity - free for free in sample.free) for sample in tally.samples]
    return _means(used, tally)


def _means(counts: Sequence[tuple[int, ...]], tally: Tally) -> list[float]:
    lanes = tally.layout.num_lanes
    if not counts or not tally.layout.capacity:
        return [0.0] * lanes
    return [fmean(row[lane] for row in counts) / tally.layout.capacity for lane in range(lanes)]


def _lanes(shares: Sequence[float]) -> str:
    return f"{min(shares):.1%} to {max(shares):.1%} of a lane, mean over batches"


def _effective(tally: Tally) -> str:
    shares = tally.effective_capacity()
    if not shares:
        return "-"
    return (
        f"{fmean(shares):.4f} of what is to be had, worst {min(shares):.4f} "
        "(num_lanes x shortest lane)"
    )
