"""Which lane owns which page of a batch, in closed form: by request and lane, never by page.

Every split deals a request's touched pages to a lane in *runs* of consecutive pages, so that four
integers a request and lane say which pages the lane gets; ExplicitOwners lists them instead. All
of it is computed by base owner, before any phase, and nothing here knows which pages are free.
Serves [[RFC-0001:C-PAGE-OWNERSHIP]] and [[RFC-0001:C-REQUEST-LOCAL-PLANNING]].

Terms, for one request: its touched pages are numbered j = 0, 1, ... from the one that token
prefix_len lies on. Page 0 is the *tail page* when the prefix ends inside it: it is placed already
and takes no new page. The k-th new page of base owner l is touched page

    j = start + K + (K // run) * gap,   K = k + skip,

where `skip` is what base owner 0 holds of its run before its first new page, and 0 on the other
lanes. Where `gap` is LISTED, j is entry start + K of the list instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import TypeVar

import numpy as np

from ownerlanes.gpu.page_math import Booleans, Integers
from ownerlanes.gpu.planning_faults import plan_fault
from ownerlanes.gpu.validation import Batch
from ownerlanes.reference.contract import (
    ContiguousPages,
    ExplicitOwners,
    LaneLayout,
    RoundRobinPages,
    RoundRobinTokens,
    Split,
    ZigzagPages,
    ZigzagTokens,
)

Item = TypeVar("Item")
DEMAND, START, RUN, GAP = range(4)
LISTED = -1
NOTHING_LISTED: Integers = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of R requests on N lanes, by base owner.

    Attributes:
        tables: int64 [4, R, N]: DEMAND (new pages), START, RUN and GAP.
        skip: [R], of base owner 0.
        rotation: [R], what the split adds to a base owner; the phase comes on top.
        first_lane: [R], the owner of touched page 0 before the phase.
        whole: bool [R], whether every page has one owner over its new tokens.
        listed: touched pages of all requests with ExplicitOwners: by request, lane and j.
    """

    tables: Integers
    skip: Integers
    rotation: Integers
    first_lane: Integers
    whole: Booleans
    listed: Integers


@dataclass(frozen=True, slots=True)
class Rows:
    """Some requests of a batch: those whose splits are planned by one formula."""

    batch: Batch
    indices: Sequence[int]
    where: slice | Integers
    layout: LaneLayout

    def parameter(self, name: str) -> Integers:
        """`run` or `pad` of each split."""
        return np.array(list(map(attrgetter(name), self._own(self.batch.splits))), dtype=np.int64)

    def kinds(self) -> set[type[Split]]:
        """The kinds of split among them."""
        return set(self._own(self.batch.kinds))

    def of_kind(self, kind: type[Split]) -> Booleans:
        """Which requests have that kind of split."""
        return np.array([own is kind for own in self._own(self.batch.kinds)], dtype=np.bool_)

    def _own(self, column: Sequence[Item]) -> Sequence[Item]:
        whole = isinstance(self.where, slice)
        return column if whole else [column[index] for index in self.indices]

    def take(self, column: Integers) -> Integers:
        """A column of the batch for these requests."""
        return column[self.where]


def plan_batch(batch: Batch, layout: LaneLayout) -> Plan:
    """The plan of every request.

    Raises:
        UnsupportedPagePlanError: for the first request with a page of several owners, or with a
            tail page that is not on its owner's lane.
    """
    formulas = dict.fromkeys(_FORMULAS[kind] for kind in set(batch.kinds))
    if len(formulas) == 1:
        (formula,) = formulas
        plan = formula(Rows(batch, range(len(batch)), slice(None), layout))
    else:
        plan = _merged(batch, layout, formulas)
    _refuse_unsupported(batch, plan, layout)
    return plan


def _merged(batch: Batch, layout: LaneLayout, formulas: Iterable[Callable[[Rows], Plan]]) -> Plan:
    """One plan for a batch whose splits need several formulas, or none."""
    count = len(batch)
    tables = np.empty((4, count, layout.num_lanes), dtype=np.int64)
    skip, rotation, first_lane = np.empty((3, count), dtype=np.int64)
    whole = np.empty(count, dtype=np.bool_)
    listed = NOTHING_LISTED
    for formula in formulas:
        indices = [i for i, kind in enumerate(batch.kinds) if _FORMULAS[kind] is formula]
        where = np.array(indices)
        part = formula(Rows(batch, indices, where, layout))
        tables[:, where] = part.tables
        skip[where], rotation[where] = part.skip, part.rotation
        first_lane[where], whole[where] = part.first_lane, part.whole
        if len(part.listed):
            listed = part.listed
    return Plan(tables, skip, rotation, first_lane, whole, listed)


def _refuse_unsupported(batch: Batch, plan: Plan, layout: LaneLayout) -> None:
    supported = plan.whole
    if batch.partial.any():
        misplaced = (plan.first_lane + batch.phases) % layout.num_lanes != batch.tail_lanes
        misplaced &= batch.partial > 0
        misplaced[batch.open_phases] = False  # an open phase can put the tail page right
        supported = supported & ~misplaced
    if not supported.all():
        index = int(np.argmin(supported))
        raise plan_fault(batch, index, int(plan.first_lane[index]), layout)


def _blocks(rows: Rows) -> Plan:
    """ZigzagPages, ZigzagTokens, ContiguousPages: items dealt in 2N or N consecutive blocks.

    Block b starts at item b*q + min(b, r), for q, r = divmod(items + pad, blocks). A lane gets
    block l and, with zigzag, block 2N-1-l, which is never larger: two runs, one gap.
    """
    lanes, batch = rows.layout.num_lanes, rows.batch
    kinds = rows.kinds()
    touched, partial = rows.take(batch.touched), rows.take(batch.partial)
    number: Integers = np.arange(2 * lanes + 1)
    blocks: int | Integers = 2 * lanes
    if ContiguousPages in kinds:
        blocks = np.where(rows.of_kind(ContiguousPages), lanes, 2 * lanes)
        number = np.minimum(number, blocks[:, None])
    items = touched
    if ZigzagTokens in kinds:
        by_token = rows.of_kind(ZigzagTokens)
        items = np.where(by_token, rows.take(batch.new_tokens), touched)
    size, larger = np.divmod(items + rows.parameter("pad"), blocks)
    begin = number * size[:, None]
    begin += np.minimum(number, larger[:, None])
    begin = np.minimum(begin, items[:, None], out=begin)
    whole = np.ones(len(items), dtype=np.bool_)
    if ZigzagTokens in kinds:
        unit = np.where(by_token, rows.layout.page_size, 1)[:, None]
        place = begin + np.where(by_token & (items > 0), rows.take(batch.offset), 0)[:, None]
        cut = (place % unit != 0) & (begin < items[:, None])
        cut[:, 0] = cut[:, lanes] = False  # a request's start, and two blocks of one lane
        whole = ~cut.any(axis=1)
        begin = -(-place // unit)
        begin[:, 0] = 0
    extent = begin[:, 1:] - begin[:, :-1]
    tables = np.empty((4, len(items), lanes), dtype=np.int64)
    np.add(extent[:, :lanes], extent[:, : lanes - 1 : -1], out=tables[DEMAND])
    tables[DEMAND, :, 0] -= partial
    tables[START] = begin[:, :lanes]
    np.maximum(extent[:, :lanes], 1, out=tables[RUN])
    np.subtract(begin[:, 2 * lanes - 1 : lanes - 1 : -1], tables[START], out=tables[GAP])
    tables[GAP] -= tables[RUN]
    unrotated = np.zeros_like(items)
    return Plan(tables, partial, unrotated, unrotated, whole, NOTHING_LISTED)


def _turns(rows: Rows) -> Plan:
    """RoundRobinPages, RoundRobinTokens: runs of `run` pages, one lane after the other.

    Page j is page `head` + j of endless runs that start on base owner 0.
    """
    lanes, batch = rows.layout.num_lanes, rows.batch
    touched, partial = rows.take(batch.touched), rows.take(batch.partial)
    run, head, rotation, whole = _page_runs(rows)
    cycle = run * lanes
    end = head + touched
    rounds = end // cycle
    before = np.arange(lanes) * run[:, None]
    tables = np.empty((4, len(run), lanes), dtype=np.int64)
    held = np.subtract((end - rounds * cycle)[:, None], before, out=tables[DEMAND])
    np.minimum(np.maximum(held, 0, out=held), run[:, None], out=held)
    held += (rounds * run)[:, None]
    skip = head + partial
    held[:, 0] -= skip
    np.subtract(before, head[:, None], out=tables[START])
    tables[RUN] = run[:, None]
    tables[GAP] = (cycle - run)[:, None]
    return Plan(tables, skip, rotation, rotation % lanes, whole, NOTHING_LISTED)


def _page_runs(rows: Rows) -> tuple[Integers, Integers, Integers, Booleans]:
    """Pages in a run, pages of the first run that lie before page 0, rotation, and support.

    Runs of tokens are runs of pages when pages divide them. Otherwise no page is cut only if the
    new tokens cross no end of a run, or one that is page-aligned: then there are one or two runs.
    """
    batch, size = rows.batch, rows.layout.page_size
    run, first_page = rows.parameter("run"), rows.take(batch.first_page)
    whole = np.ones(len(run), dtype=np.bool_)
    if RoundRobinTokens not in rows.kinds():
        rotation, head = np.divmod(first_page, run)
        return run, head, rotation, whole
    by_token = rows.of_kind(RoundRobinTokens)
    uneven = by_token & (run % size != 0)
    pages = np.where(by_token & ~uneven, run // size, run)
    rotation, head = np.divmod(first_page, pages)
    if not uneven.any():
        return pages, head, rotation, whole
    prefix_len, touched = rows.take(batch.prefix_len), rows.take(batch.touched)
    turn, last_turn = prefix_len // run, (rows.take(batch.seq_len) - 1) // run
    edge = last_turn * run
    crossed = last_turn - turn
    two_runs = (crossed == 1) & (edge % size == 0)
    if rows.layout.num_lanes > 1:
        whole = ~uneven | (crossed <= 0) | two_runs
    in_first = np.where(two_runs, edge // size - first_page, touched)
    longer = np.maximum(np.maximum(in_first, touched - in_first), 1)
    return (
        np.where(uneven, longer, pages),
        np.where(uneven, longer - in_first, head),
        np.where(uneven, turn, rotation),
        whole,
    )


def _explicit(rows: Rows) -> Plan:
    """ExplicitOwners: the new pages of each lane, listed."""
    lanes, batch = rows.layout.num_lanes, rows.batch
    partial = rows.take(batch.partial)
    new_pages = rows.take(batch.touched) - partial
    owners = [batch.splits[i].owners for i in rows.indices]  # type: ignore[union-attr]
    new_owners = chain.from_iterable(o[tail:] for o, tail in zip(owners, partial, strict=True))
    ends = np.cumsum(new_pages)
    total = int(ends[-1])
    request = np.repeat(np.arange(len(owners)), new_pages)
    cell = request * lanes + np.fromiter(new_owners, dtype=np.int64, count=total)
    page = np.arange(total) - (ends - new_pages - partial)[request]
    tables = np.empty((4, len(owners), lanes), dtype=np.int64)
    demand = np.bincount(cell, minlength=tables[DEMAND].size)
    tables[DEMAND] = demand.reshape(tables[DEMAND].shape)
    tables[START] = (np.cumsum(demand) - demand).reshape(tables[START].shape)
    tables[RUN] = 1
    tables[GAP] = LISTED
    nothing = np.zeros_like(partial)
    first_lane = np.array([o[0] if o else 0 for o in owners], dtype=np.int64)
    whole = np.ones(len(owners), dtype=np.bool_)
    return Plan(tables, nothing, nothing, first_lane, whole, page[np.argsort(cell, kind="stable")])


_FORMULAS: dict[type[Split], Callable[[Rows], Plan]] = {
    ZigzagPages: _blocks,
    ZigzagTokens: _blocks,
    ContiguousPages: _blocks,
    RoundRobinPages: _turns,
    RoundRobinTokens: _turns,
    ExplicitOwners: _explicit,
}
