"""Reads a batch of requests into columns, and refuses what is not a well-formed batch.

A well-formed batch is recognised by a handful of vectorised tests; only when one of them fails are
the requests looked at one by one (`validation_rules`), to word the first fault. Which pages are
free is for a caller's function to say, and nothing here changes anything.
Serves [[RFC-0001:C-UNSUPPORTED-PLANS]].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from ownerlanes.gpu.page_math import Booleans, Integers, places_of
from ownerlanes.gpu.validation_rules import SPLIT_KINDS, Row, read_one_by_one
from ownerlanes.reference.contract import (
    MAX_SEQ_LEN,
    ExplicitOwners,
    ExtendRequest,
    InvalidArgumentError,
    InvalidRequestError,
    LaneLayout,
    Split,
    index_in,
    shown,
)

FIELDS = attrgetter("prefix_len", "seq_len", "split", "last_slot", "phase")
NO_PAGE = -1


@dataclass(frozen=True, slots=True)
class Batch:
    """A well-formed batch in columns: one entry a request, int64 unless said otherwise.

    Attributes:
        prefix_len, seq_len: as given.
        new_tokens: seq_len - prefix_len.
        first_page, offset: prefix_len // page_size and prefix_len % page_size.
        touched: the pages that the new tokens lie on, a partly filled first one included.
        partial: 1 where the first touched page is partly filled already, else 0.
        splits, kinds: each request's split, and which of SPLIT_KINDS it is.
        phases: the phase asked for, 0 where the choice is open.
        open_phases: indices of the requests with phase=None, ascending.
        tail_pages: the page that last_slot is on where `partial`, else NO_PAGE.
        tail_lanes: the lane of that page, else NO_PAGE.
    """

    prefix_len: Integers
    seq_len: Integers
    new_tokens: Integers
    first_page: Integers
    offset: Integers
    touched: Integers
    partial: Integers
    splits: Sequence[Split]
    kinds: Sequence[type[Split]]
    phases: Integers
    open_phases: list[int]
    tail_pages: Integers
    tail_lanes: Integers

    def __len__(self) -> int:
        return len(self.splits)


def read_batch(
    requests: Iterable[ExtendRequest], layout: LaneLayout
) -> tuple[Batch, InvalidRequestError | None]:
    """The requests in columns, up to the first malformed one, and what is wrong with that one.

    The caller raises the fault once it knows that no earlier request has one of another sort.

    Raises:
        InvalidArgumentError: `requests` is not iterable.
    """
    try:
        given = list(requests)
    except TypeError:
        raise InvalidArgumentError(
            f"requests: expected a sequence of ExtendRequest, found {shown(requests)}"
        ) from None
    if set(map(type, given)) <= {ExtendRequest}:
        batch = _columns(list(map(FIELDS, given)), layout)
        if batch is not None:
            return batch, None
    rows, fault = read_one_by_one(given, layout)
    batch = _columns(rows, layout)
    assert batch is not None, "requests that passed every rule must form a batch"
    return batch, fault


def _columns(rows: list[Row], layout: LaneLayout) -> Batch | None:
    """The columns of plainly typed, well-formed requests; None when any is anything else."""
    prefixes, lengths, splits, last_slots, phases = zip(*rows, strict=True) if rows else ((),) * 5
    kinds = tuple(map(type, splits))
    open_phases = [index for index, phase in enumerate(phases) if phase is None]
    numbers = _numbers(prefixes, lengths, phases, layout)
    if numbers is None or not set(kinds).issubset(SPLIT_KINDS):
        return None
    prefix_len, seq_len, given_phases = numbers
    size = layout.page_size
    new_tokens = seq_len - prefix_len
    first_page = prefix_len // size
    offset = prefix_len - first_page * size
    touched = -(-seq_len // size) - first_page
    empty = new_tokens == 0
    touched[empty] = 0
    partial = (offset > 0) & ~empty
    tails = _tail_pages(partial, offset, last_slots, layout)
    if tails is None or not _owners_fit(splits, kinds, touched, phases, layout):
        return None
    tail_pages, tail_lanes = tails
    return Batch(
        prefix_len=prefix_len,
        seq_len=seq_len,
        new_tokens=new_tokens,
        first_page=first_page,
        offset=offset,
        touched=touched,
        partial=partial.astype(np.int64),
        splits=splits,
        kinds=kinds,
        phases=given_phases,
        open_phases=open_phases,
        tail_pages=tail_pages,
        tail_lanes=tail_lanes,
    )


def _numbers(
    prefixes: Sequence[Any], lengths: Sequence[Any], phases: Sequence[Any], layout: LaneLayout
) -> tuple[Integers, Integers, Integers] | None:
    """prefix_len, seq_len and phase (0 where it is None); None where not all are in range."""
    phase_types = set(map(type, phases))
    if type(None) in phase_types:
        phases = [0 if phase is None else phase for phase in phases]
        phase_types.discard(type(None))
    if not {*phase_types, *map(type, prefixes), *map(type, lengths)} <= {int}:
        return None
    try:
        numbers = np.array((prefixes, lengths, phases), dtype=np.int64)
    except OverflowError:
        return None
    prefix_len, seq_len, phase = numbers
    if phases and not (
        numbers.min() >= 0
        and (seq_len >= prefix_len).all()
        and seq_len.max() <= MAX_SEQ_LEN
        and phase.max() < layout.num_lanes
    ):
        return None
    return prefix_len, seq_len, phase


def _tail_pages(
    partial: Booleans, offset: Integers, last_slots: Sequence[Any], layout: LaneLayout
) -> tuple[Integers, Integers] | None:
    """The pages that last_slot names and their lanes; None when one is not a slot for it."""
    pages = np.full(len(partial), NO_PAGE, dtype=np.int64)
    where = np.flatnonzero(partial)
    if not len(where):
        return pages, pages
    named = [last_slots[index] for index in where.tolist()]
    if not set(map(type, named)) <= {int} or not 0 <= min(named) <= max(named) < layout.num_slots:
        return None
    slots = np.array(named, dtype=np.int64)
    pages[where] = slots // layout.page_size
    lanes, local_pages = places_of(pages, layout)
    if (slots % layout.page_size != offset[where] - 1).any() or (
        local_pages[where] < layout.reserved_pages
    ).any():
        return None
    lanes[~partial] = NO_PAGE
    return pages, lanes


def _owners_fit(
    splits: Sequence[Split],
    kinds: Sequence[type[Split]],
    touched: Integers,
    phases: Sequence[int | None],
    layout: LaneLayout,
) -> bool:
    """Whether every ExplicitOwners has phase 0 and one lane for each touched page."""
    return ExplicitOwners not in kinds or all(
        phase == 0
        and len(split.owners) == pages
        and (not split.owners or 0 <= min(split.owners) <= max(split.owners) < layout.num_lanes)
        for split, pages, phase in zip(splits, touched, phases, strict=True)
        if isinstance(split, ExplicitOwners)
    )


def check_tail_pages(batch: Batch, first_free: Callable[[Integers], int]) -> None:
    """Refuse last slots on pages that are free, or that an earlier request of the batch fills.

    `first_free` finds the first free one of some page ids, or their number.

    Raises:
        InvalidRequestError: for the first request at fault.
    """
    where = np.flatnonzero(batch.partial)
    if not len(where):
        return
    pages = batch.tail_pages[where]
    free = first_free(pages)
    _, first_fills = np.unique(pages, return_index=True)
    repeats = np.ones(len(pages), dtype=np.bool_)
    repeats[first_fills] = False
    repeated = int(np.argmax(repeats)) if repeats.any() else len(pages)
    fault = min(free, repeated)
    if fault == len(pages):
        return
    index, page = int(where[fault]), int(pages[fault])
    problem = "is free" if fault == free else "is being filled by an earlier request of the batch"
    raise InvalidRequestError(
        f"last_slot: expected a slot of an allocated page of this request's own, but page {page} "
        f"{problem}",
        request_index=index,
    )


def read_lanes(owners: Iterable[int], layout: LaneLayout) -> Integers:
    """The lanes that alloc_pages was given.

    Raises:
        InvalidArgumentError: not a sequence of lanes of the layout.
    """
    try:
        given = list(owners)
    except TypeError:
        raise InvalidArgumentError(
            f"owners: expected a sequence of lanes, found {shown(owners)}"
        ) from None
    lanes, end = given, layout.num_lanes
    if set(map(type, given)) - {int} or (given and not 0 <= min(given) <= max(given) < end):
        lanes = [index_in(lane, f"owners[{i}]", 0, end) for i, lane in enumerate(given)]
    return np.array(lanes, dtype=np.int64)
