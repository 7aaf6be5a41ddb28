"""Reads a batch of requests into columns, and refuses what is not a well-formed request.

A well-formed batch is recognised by a handful of vectorised tests; only when one of them fails are
the requests looked at one by one, to word the first fault. Nothing here looks at which pages are
free, and nothing changes. Serves [[RFC-0001:C-UNSUPPORTED-PLANS]].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from ownerlanes.reference.contract import (
    MAX_SEQ_LEN,
    ExplicitOwners,
    ExtendRequest,
    InvalidArgumentError,
    InvalidRequestError,
    LaneLayout,
    Split,
    as_index,
    index_in,
)

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
Row = tuple[Any, Any, Any, Any, Any]
"""The fields of a request, in the order of FIELDS."""

FIELDS = attrgetter("prefix_len", "seq_len", "split", "last_slot", "phase")
SPLIT_KINDS: tuple[type[Split], ...] = get_args(Split)
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
            f"requests: expected a sequence of ExtendRequest, found {requests!r}"
        ) from None
    if set(map(type, given)) <= {ExtendRequest}:
        batch = _columns(list(map(FIELDS, given)), layout)
        if batch is not None:
            return batch, None
    rows, fault = _read_one_by_one(given, layout)
    batch = _columns(rows, layout)
    assert batch is not None, "requests that passed every rule must form a batch"
    return batch, fault


def _columns(rows: list[Row], layout: LaneLayout) -> Batch | None:
    """The columns of plainly typed, well-formed requests; None when any is anything else."""
    prefixes, lengths, splits, last_slots, phases = zip(*rows, strict=True) if rows else ((),) * 5
    kinds = tuple(map(type, splits))
    phase_types = set(map(type, phases))
    if not (
        set(map(type, prefixes)) <= {int}
        and set(map(type, lengths)) <= {int}
        and phase_types <= {int, type(None)}
        and set(kinds).issubset(SPLIT_KINDS)
    ):
        return None
    open_phases: list[int] = []
    if type(None) in phase_types:
        open_phases = [index for index, phase in enumerate(phases) if phase is None]
        phases = tuple(phase or 0 for phase in phases)
    try:
        prefix_len, seq_len, phase = np.array((prefixes, lengths, phases), dtype=np.int64)
    except OverflowError:
        return None
    new_tokens = seq_len - prefix_len
    if rows and not (
        prefix_len.min() >= 0
        and new_tokens.min() >= 0
        and seq_len.max() <= MAX_SEQ_LEN
        and phase.min() >= 0
        and phase.max() < layout.num_lanes
    ):
        return None
    size = layout.page_size
    first_page = prefix_len // size
    offset = prefix_len - first_page * size
    touched = -(-seq_len // size) - first_page
    empty = new_tokens == 0
    touched[empty] = 0
    partial = (offset > 0) & ~empty
    tails = _tail_pages(partial, offset, last_slots, layout)
    if tails is None or not _owners_fit(splits, kinds, touched, open_phases, phase, layout):
        return None
    return Batch(
        prefix_len,
        seq_len,
        new_tokens,
        first_page,
        offset,
        touched,
        partial.astype(np.int64),
        splits,
        kinds,
        phase,
        open_phases,
        *tails,
    )


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
    local_pages, lanes = places_of(pages, layout)
    if (slots % layout.page_size != offset[where] - 1).any() or (
        local_pages[where] < layout.reserved_pages
    ).any():
        return None
    lanes[~partial] = NO_PAGE
    return pages, lanes


def places_of(pages: Integers, layout: LaneLayout) -> tuple[Integers, Integers]:
    """The local page and the lane of each page id of the layout."""
    if layout.placement == "interleaved":
        return np.divmod(pages, layout.num_lanes)
    lanes, local_pages = np.divmod(pages, max(layout.pages_per_lane, 1))
    return local_pages, lanes


def count_by_lane(pages: Integers, layout: LaneLayout) -> list[int]:
    """How many of these pages each lane has."""
    _, lanes = places_of(pages, layout)
    return np.bincount(lanes, minlength=layout.num_lanes).tolist()  # type: ignore[no-any-return]


def _owners_fit(
    splits: Sequence[Split],
    kinds: Sequence[type[Split]],
    touched: Integers,
    open_phases: list[int],
    phases: Integers,
    layout: LaneLayout,
) -> bool:
    """Whether every ExplicitOwners has phase 0 and one lane for each touched page."""
    if ExplicitOwners not in kinds:
        return True
    undecided = set(open_phases)
    return all(
        index not in undecided
        and not phases[index]
        and len(split.owners) == touched[index]
        and (not split.owners or 0 <= min(split.owners) <= max(split.owners) < layout.num_lanes)
        for index, split in enumerate(splits)
        if isinstance(split, ExplicitOwners)
    )


def _read_one_by_one(
    given: Sequence[object], layout: LaneLayout
) -> tuple[list[Row], InvalidRequestError | None]:
    """The requests before the first malformed one, as plain integers, and that one's fault."""
    rows: list[Row] = []
    for index, request in enumerate(given):
        try:
            rows.append(_read(request, layout))
        except InvalidArgumentError as fault:
            return rows, InvalidRequestError(str(fault), request_index=index)
    return rows, None


def _read(request: object, layout: LaneLayout) -> Row:
    """The fields of one request, or InvalidArgumentError for the first rule that it breaks."""
    if not isinstance(request, ExtendRequest):
        raise InvalidArgumentError(f"expected an ExtendRequest, found {request!r}")
    prefix_len = as_index(request.prefix_len, "prefix_len")
    seq_len = as_index(request.seq_len, "seq_len")
    if not 0 <= prefix_len <= seq_len <= MAX_SEQ_LEN:
        raise InvalidArgumentError(
            f"prefix_len, seq_len: expected 0 <= prefix_len <= seq_len <= {MAX_SEQ_LEN}, "
            f"found {prefix_len} and {seq_len}"
        )
    split = _plain_split(request.split)
    touched = -(-seq_len // layout.page_size) - prefix_len // layout.page_size
    if prefix_len == seq_len:
        touched = 0
    phase: int | None = request.phase
    if isinstance(split, ExplicitOwners):
        if phase is None or as_index(phase, "phase") != 0:
            raise InvalidArgumentError(f"phase: expected 0 with ExplicitOwners, found {phase}")
        _check_owners(split.owners, touched, layout)
    if phase is not None:
        phase = index_in(phase, "phase", 0, layout.num_lanes)
    last_slot: int | None = None
    if touched and prefix_len % layout.page_size:
        last_slot = _read_last_slot(request.last_slot, prefix_len, layout)
    return prefix_len, seq_len, split, last_slot, phase


def _plain_split(split: object) -> Split:
    """The split as one of SPLIT_KINDS itself, where it is of a class derived from one."""
    for kind in SPLIT_KINDS:
        if type(split) is kind:
            return split
        if isinstance(split, kind):
            return kind(*(getattr(split, name) for name in kind.__dataclass_fields__))
    names = ", ".join(kind.__name__ for kind in SPLIT_KINDS)
    raise InvalidArgumentError(f"split: expected one of {names}, found {split!r}")


def _check_owners(owners: Sequence[int], touched: int, layout: LaneLayout) -> None:
    if len(owners) != touched:
        raise InvalidArgumentError(
            f"ExplicitOwners.owners: expected {touched} lanes, one for each touched page, "
            f"found {len(owners)}"
        )
    for position, lane in enumerate(owners):
        index_in(lane, f"ExplicitOwners.owners[{position}]", 0, layout.num_lanes)


def _read_last_slot(last_slot: object, prefix_len: int, layout: LaneLayout) -> int:
    if last_slot is None:
        raise InvalidArgumentError(
            f"last_slot: expected the slot of token {prefix_len - 1}, because prefix_len "
            f"{prefix_len} ends inside a page of {layout.page_size} tokens; found None"
        )
    slot = index_in(last_slot, "last_slot", 0, layout.num_slots)
    expected, found = (prefix_len - 1) % layout.page_size, slot % layout.page_size
    if expected != found:
        raise InvalidArgumentError(
            f"last_slot: expected a slot at offset {expected} of its page, as token "
            f"{prefix_len - 1} is; found slot {slot} at offset {found}"
        )
    if layout.local_page(slot // layout.page_size) < layout.reserved_pages:
        raise InvalidArgumentError(
            f"last_slot: expected a slot of an allocated page, found slot {slot} of a reserved one"
        )
    return slot


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
            f"owners: expected a sequence of lanes, found {owners!r}"
        ) from None
    lanes = [
        index_in(lane, f"owners[{place}]", 0, layout.num_lanes) for place, lane in enumerate(given)
    ]
    return np.array(lanes, dtype=np.int64)
