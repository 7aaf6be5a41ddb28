"""What a well-formed request is, one rule after the other.

These checks look at one request and the layout; what needs the pool's state or the rest of the
batch is the allocator's. Nothing here changes anything. Serves [[RFC-0001:C-UNSUPPORTED-PLANS]].
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from ownerlanes.reference.contract import (
    MAX_SEQ_LEN,
    ExplicitOwners,
    ExtendRequest,
    InvalidArgumentError,
    InvalidFreeError,
    InvalidRequestError,
    LaneLayout,
    Split,
    as_index,
    index_in,
    shown,
)


def checked_request(request: object, layout: LaneLayout, request_index: int) -> ExtendRequest:
    """The request with its integers as ints, and last_slot None where it is ignored.

    Raises:
        InvalidRequestError: the request breaks a rule; the first one is told.
    """
    try:
        return _checked(request, layout)
    except InvalidArgumentError as fault:
        raise InvalidRequestError(str(fault), request_index=request_index) from None


def _checked(request: object, layout: LaneLayout) -> ExtendRequest:
    if not isinstance(request, ExtendRequest):
        raise InvalidArgumentError(f"expected an ExtendRequest, found {shown(request)}")
    seq_len = index_in(request.seq_len, "seq_len", 0, MAX_SEQ_LEN + 1)
    prefix_len = index_in(request.prefix_len, "prefix_len", 0, seq_len + 1)
    if type(request.split) not in get_args(Split):
        raise InvalidArgumentError(
            f"split: expected one of the splits, found {shown(request.split)}"
        )
    pages = touched_pages(prefix_len, seq_len, layout)
    if isinstance(request.split, ExplicitOwners):
        phase: int | None = 0
        if request.phase is None or index_in(request.phase, "phase", 0, layout.num_lanes) != 0:
            raise InvalidArgumentError(
                f"phase: ExplicitOwners takes phase 0 only, found {request.phase}"
            )
        _check_owners(request.split, len(pages), layout)
    else:
        phase = request.phase
        if phase is not None:
            phase = index_in(phase, "phase", 0, layout.num_lanes)
    last_slot = None
    if pages and prefix_len % layout.page_size:
        last_slot = _checked_last_slot(request.last_slot, prefix_len, layout)
    return ExtendRequest(prefix_len, seq_len, request.split, last_slot, phase)


def touched_pages(prefix_len: int, seq_len: int, layout: LaneLayout) -> range:
    """The page positions, absolute in the request, that tokens prefix_len ... seq_len-1 touch."""
    if prefix_len == seq_len:
        return range(0)
    return range(prefix_len // layout.page_size, (seq_len - 1) // layout.page_size + 1)


def _check_owners(split: ExplicitOwners, pages: int, layout: LaneLayout) -> None:
    if len(split.owners) != pages:
        raise InvalidArgumentError(
            f"ExplicitOwners.owners: expected one lane for each of the {pages} touched pages, "
            f"found {len(split.owners)}"
        )
    for i, lane in enumerate(split.owners):
        index_in(lane, f"ExplicitOwners.owners[{i}]", 0, layout.num_lanes)


def _checked_last_slot(last_slot: object, prefix_len: int, layout: LaneLayout) -> int:
    if last_slot is None:
        raise InvalidArgumentError(
            f"last_slot: expected the slot of token {prefix_len - 1}, found None "
            f"(prefix_len {prefix_len} ends inside a page of {layout.page_size})"
        )
    slot = index_in(last_slot, "last_slot", 0, layout.num_slots)
    expected, found = (prefix_len - 1) % layout.page_size, slot % layout.page_size
    if expected != found:
        raise InvalidArgumentError(
            f"last_slot: expected offset {expected} in its page for token {prefix_len - 1}, "
            f"found slot {slot} at offset {found}"
        )
    if layout.local_page(layout.page_of_slot(slot)) < layout.reserved_pages:
        raise InvalidArgumentError(
            f"last_slot: expected a slot of an allocated page, found {slot} of a reserved page"
        )
    return slot


def checked_lanes(owners: Iterable[int], layout: LaneLayout) -> tuple[int, ...]:
    """The lanes that alloc_pages was given.

    Raises:
        InvalidArgumentError: not a sequence of lanes of the layout.
    """
    try:
        given = tuple(owners)
    except TypeError:
        raise InvalidArgumentError(
            f"owners: expected a sequence of lanes, found {shown(owners)}"
        ) from None
    return tuple(index_in(o, f"owners[{i}]", 0, layout.num_lanes) for i, o in enumerate(given))


def checked_ids(ids: Iterable[int], name: str) -> tuple[int, ...]:
    """The page or slot ids of a release, as ints; whether they exist is not looked at.

    Raises:
        InvalidFreeError: not a sequence of integers.
    """
    try:
        return tuple(as_index(number, name, i) for i, number in enumerate(ids))
    except TypeError:
        raise InvalidFreeError(f"{name}: expected a sequence of ids, found {shown(ids)}") from None
    except InvalidArgumentError as fault:
        raise InvalidFreeError(str(fault)) from None
