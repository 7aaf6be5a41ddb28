"""The pictures of a replay, drawn with matplotlib: occupancy, waits, and hits against the limit.

Each function takes outcomes and gives a figure, or None when there is nothing to show. Nothing is
measured here; where there are more batches than pixels, neighbours are averaged.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from ownerlanes.conformance.replay.runs import Outcome
from ownerlanes.conformance.replay.tally import Sample

COLUMNS = 600
"""Points along an axis; more would not be seen."""

LIVE, CACHED, FREE = "#2a6fbb", "#8fc1e3", "#eceff3"
POOL_STYLES = ((LIVE, "-"), ("#d9822b", "--"), ("#3b4654", ":"))
"""Of owner lanes, the aggregate count and the limit, told apart without colour too."""

Table = npt.NDArray[np.float64]


def occupancy(outcome: Outcome) -> Figure | None:
    """Lane occupancy over time: the pool as a whole, and how far each lane is from the mean."""
    samples = outcome.tally.samples
    capacity = outcome.settings.layout.capacity
    if not samples or not capacity:
        return None
    live = thinned(np.array([sample.live for sample in samples], dtype=float))
    free = thinned(np.array([sample.free for sample in samples], dtype=float))
    batches = np.linspace(1, len(samples), len(live))
    figure = Figure(figsize=(9, 6), layout="constrained")
    whole, lanes = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    shares = [live.mean(axis=1), (capacity - live - free).mean(axis=1), free.mean(axis=1)]
    whole.stackplot(
        batches,
        [share / capacity for share in shares],
        labels=("requests in flight", "cached only", "free"),
        colors=(LIVE, CACHED, FREE),
    )
    whole.set(title="Pages of all lanes", ylabel="share of the pool", ylim=(0, 1))
    whole.yaxis.set_major_formatter(PercentFormatter(1))
    whole.legend(loc="upper center", bbox_to_anchor=(0.5, -0.03), ncols=3, frameon=False)
    _draw_imbalance(figure, lanes, live, len(samples))
    return figure


def _draw_imbalance(figure: Figure, axes: Axes, live: Table, batches: int) -> None:
    off_mean = live - live.mean(axis=1, keepdims=True)
    reach = max(1.0, float(np.abs(off_mean).max()))
    _draw_lanes(figure, axes, off_mean, batches, "RdBu_r", (-reach, reach), "pages off the mean")
    axes.set(title="Pages in flight, by lane, above or below the lanes' mean")
    axes.set(xlabel="batches placed")


def waits(outcome: Outcome) -> Figure | None:
    """Free pages of each lane at each capacity wait, and below what each lane was short of."""
    listed = outcome.tally.waits
    if not listed:
        return None
    free = thinned(np.array([wait.free for wait in listed], dtype=float))
    deficit = thinned(np.array([wait.deficit for wait in listed], dtype=float))
    figure = Figure(figsize=(9, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    for axes, values, colours, label in (
        (above, free, "Blues", "free pages"),
        (below, deficit, "Reds", "pages short"),
    ):
        most = max(1.0, float(values.max()))
        _draw_lanes(figure, axes, values, len(listed), colours, (0, most), label)
    above.set(title="Free pages of each lane at each capacity wait")
    below.set(title="What each lane was short of", xlabel="capacity wait, in order")
    below.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


def _draw_lanes(
    figure: Figure,
    axes: Axes,
    values: Table,
    columns: int,
    colours: str,
    limits: tuple[float, float],
    label: str,
) -> None:
    """One row of colour for each lane, one column for each row of `values`."""
    image = axes.imshow(
        values.T,
        aspect="auto",
        cmap=colours,
        vmin=limits[0],
        vmax=limits[1],
        interpolation="nearest",
        extent=(0.5, columns + 0.5, values.shape[1] - 0.5, -0.5),
    )
    axes.set(ylabel="lane")
    axes.yaxis.set_major_locator(MaxNLocator(min(8, values.shape[1]), integer=True))
    bar = figure.colorbar(image, ax=axes, label=label, pad=0.01)
    bar.locator = MaxNLocator(5, integer=True)


def hits(outcomes: Sequence[Outcome]) -> Figure | None:
    """Hit ratio over the requests served; with a limit among the outcomes, its share as well."""
    drawn = [outcome for outcome in outcomes if outcome.tally.reused]
    if not drawn:
        return None
    compared = len(drawn) > 1
    figure = Figure(figsize=(9, 5.5 if compared else 4), layout="constrained")
    panels = figure.subplots(2 if compared else 1, 1, sharex=True, squeeze=False)[:, 0]
    for outcome, (colour, line) in zip(drawn, POOL_STYLES, strict=False):
        served, ratio = _hit_curve(outcome.tally.samples)
        label = f"{outcome.name}: {outcome.tally.hit_ratio:.4f}"
        panels[0].plot(served, ratio, line, color=colour, label=label)
    panels[0].set(title="Prompt tokens that were cached, of those served so far")
    panels[0].set(ylabel="hit ratio", ylim=(0, None))
    panels[0].legend(frameon=False, loc="lower right")
    if compared:
        _draw_share_of_limit(panels[1], drawn)
    panels[-1].set(xlabel="requests served")
    for axes in panels:
        axes.grid(alpha=0.3)
    return figure


def _draw_share_of_limit(axes: Axes, outcomes: Sequence[Outcome]) -> None:
    """Each pool's hit ratio over the limit's; the first tenth is left out, as it says little."""
    limit_served, limit = _hit_curve(outcomes[-1].tally.samples)
    at = np.linspace(limit_served[-1] / 10, limit_served[-1], COLUMNS)
    below = np.interp(at, limit_served, limit)
    for outcome, (colour, line) in zip(outcomes[:-1], POOL_STYLES, strict=False):
        share = np.interp(at, *_hit_curve(outcome.tally.samples)) / np.maximum(below, 1e-9)
        axes.plot(at, share, line, color=colour, label=outcome.name)
    axes.axhline(1, color=POOL_STYLES[-1][0], linestyle=":")
    axes.set(title="As a share of the pool without lanes", ylabel="share of the limit")
    axes.legend(frameon=False, loc="lower right")


def _hit_curve(samples: Sequence[Sample]) -> tuple[Table, Table]:
    """Hit ratios at up to COLUMNS of the samples, the first and the last among them."""
    shown = np.unique(np.linspace(0, len(samples) - 1, COLUMNS).astype(int))
    served = np.array([samples[i].served for i in shown], dtype=float)
    ratio = np.array([samples[i].hit_ratio for i in shown])
    return served, ratio


def thinned(rows: Table) -> Table:
    """At most COLUMNS rows: means over equal stretches."""
    if len(rows) <= COLUMNS:
        return rows
    edges = np.linspace(0, len(rows), COLUMNS + 1).astype(int)
    return np.add.reduceat(rows, edges[:-1]) / np.diff(edges)[:, None]
