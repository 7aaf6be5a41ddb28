"""From a plan by base owner to one by lane: the phases, and what they require of each lane.

Phases depend on counts of free pages, so they are chosen here, after every plan is known to be
supported; counts come in as plain numbers and nothing here reads or changes a pool.
Serves [[RFC-0001:C-PHASE-SELECTION]] and [[RFC-0001:C-INFEASIBLE-DEMAND]].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ownerlanes.gpu.page_math import Integers
from ownerlanes.gpu.planning import DEMAND, Plan
from ownerlanes.gpu.validation import Batch
from ownerlanes.reference.contract import LaneLayout

INT64_MAX = 2**63 - 1
Counts = npt.NDArray[Any]
"""Counts by lane: int64, or Python integers (dtype object) where int64 could overflow."""


@dataclass(frozen=True, slots=True)
class LanePlan:
    """A plan of R requests on N lanes with its phases.

    Attributes:
        phases: int64 [R].
        turns: int64 [R], the lane of base owner 0.
        tables: int64 [4, R, N], those of the Plan by lane instead of by base owner.
        required: new pages by lane, exact.
    """

    phases: Integers
    turns: Integers
    tables: Integers
    required: list[int]


def choose_phases(
    batch: Batch,
    plan: Plan,
    layout: LaneLayout,
    free: Sequence[int],
    evictable: Callable[[], Sequence[int]] | None,
) -> Integers:
    """The phase of each request, in batch order: the one given, or the one that suits the counts.

    Of the supported phases that which leaves the lanes fullest: free pages less what earlier
    requests and this one take, sorted ascending, lexicographically largest; ties to the smallest
    phase. Where that still leaves a lane below zero, the same over free + evictable.
    """
    if not batch.open_phases:
        return batch.phases
    lanes = layout.num_lanes
    kind = _exact_dtype(batch, free)
    demand = _rotate(plan.tables[DEMAND : DEMAND + 1], plan.rotation + batch.phases)[0]
    demand = demand.astype(kind, copy=False)
    rotations = _rotations(lanes)
    left = np.array(free, dtype=kind)
    extra: Counts | None = None
    phases = batch.phases.copy()
    following = 0
    for index in batch.open_phases:
        if index > following:
            left = left - demand[following:index].sum(axis=0)
        following = index + 1
        choices = _phases_to_try(batch, plan, index, lanes)
        taken = demand[index][rotations[choices]]
        best, after = _fullest(left - taken)
        if len(taken) > 1 and min(after) < 0 and evictable is not None:
            if extra is None:
                extra = _exact_counts(evictable())
            best, _ = _fullest(left + extra - taken)
        phases[index] = choices.start + best
        left = left - taken[best]
    return phases


def _phases_to_try(batch: Batch, plan: Plan, index: int, lanes: int) -> slice:
    """The supported phases of a request that leaves the choice open."""
    if batch.partial[index]:  # only one puts the tail page on the lane where it lies
        phase = int(batch.tail_lanes[index] - plan.first_lane[index]) % lanes
        return slice(phase, phase + 1)
    return slice(0, lanes if batch.touched[index] else 1)


def _fullest(left: Counts) -> tuple[int, list[int]]:
    """Which row sorts to the lexicographically largest list, and that list; the first of equals."""
    rows: list[list[int]] = np.sort(left, axis=1).tolist()
    best = max(rows)
    return rows.index(best), best


def _exact_dtype(batch: Batch, counts: Sequence[int]) -> type[np.int64] | type[object]:
    """int64 where no sum of a batch's pages and these counts can leave it, else object."""
    most = int(batch.touched.max(initial=0)) * len(batch) + max(counts)
    return np.int64 if most <= INT64_MAX // 4 else object


def _exact_counts(counts: Sequence[int]) -> Counts:
    return np.array(counts, dtype=np.int64 if max(counts) <= INT64_MAX // 4 else object)


def _rotations(lanes: int) -> Integers:
    """[phase, lane] -> the lane that `lane` stands for before that phase."""
    lane = np.arange(lanes)
    return (lane - lane[:, None]) % lanes


def _rotate(tables: Integers, turns: Integers) -> Integers:
    """Tables [..., R, N] by base owner, turned to be by lane: base owner 0 to lane `turns`."""
    if not turns.any():
        return tables
    count, lanes = tables.shape[-2:]
    base = (np.arange(lanes) - turns[:, None]) % lanes
    base += (np.arange(count) * lanes)[:, None]
    turned: Integers = tables.reshape(-1, count * lanes).take(base, axis=1)
    return turned


def place_on_lanes(batch: Batch, plan: Plan, phases: Integers, layout: LaneLayout) -> LanePlan:
    """The plan by lane under these phases."""
    turns = (plan.rotation + phases) % layout.num_lanes
    tables = _rotate(plan.tables, turns)
    return LanePlan(phases, turns, tables, column_sums(batch, tables[DEMAND]))


def column_sums(batch: Batch, demand: Integers) -> list[int]:
    """Pages by lane over the whole batch, exact whatever their size."""
    if _exact_dtype(batch, (0,)) is np.int64:
        return demand.sum(axis=0).tolist()  # type: ignore[no-any-return]
    return [sum(column) for column in demand.T.tolist()]


def infeasible_lanes(batch: Batch, plan: Plan, layout: LaneLayout) -> tuple[int, ...]:
    """The lanes short even with every page free, phases chosen anew for that empty pool."""
    phases = choose_phases(batch, plan, layout, [layout.capacity] * layout.num_lanes, None)
    required = place_on_lanes(batch, plan, phases, layout).required
    return tuple(lane for lane, pages in enumerate(required) if pages > layout.capacity)
