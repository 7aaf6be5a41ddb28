"""What a well-formed request is, rule by rule: the slow way, which words the first fault.

Requests with unusual but legal integers (anything with `__index__`) come this way too and leave
with plain ones. These rules look at one request and the layout; whether pages are free
or filled twice is not known here. Serves [[RFC-0001:C-UNSUPPORTED-PLANS]].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

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
    shown,
)

SPLIT_KINDS: tuple[type[Split], ...] = get_args(Split)
Row = tuple[Any, Any, Any, Any, Any]
"""prefix_len, seq_len, split, last_slot and phase of a request."""


def read_one_by_one(
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
        raise InvalidArgumentError(f"expected an ExtendRequest, found {shown(request)}")
    prefix_len = as_index(request.prefix_len, "prefix_len")
    seq_len = as_index(request.seq_len, "seq_len")
    if not 0 <= prefix_len <= seq_len <= MAX_SEQ_LEN:
        raise InvalidArgumentError(
            f"prefix_len, seq_len: expected 0 <= prefix_len <= seq_len <= {MAX_SEQ_LEN}, "
            f"found {shown(prefix_len)} and {shown(seq_len)}"
        )
    split = request.split
    if type(split) not in SPLIT_KINDS:
        names = ", ".join(kind.__name__ for kind in SPLIT_KINDS)
        raise InvalidArgumentError(f"split: expected one of {names}, found {shown(split)}")
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
