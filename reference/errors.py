"""Every error of the contract, for any allocator to raise.

An error carries the numbers a caller acts on as attributes and says the same in its message, so
that a scheduler never parses text. Errors are built by keyword from those attributes and survive
pickling; raising one never goes with a change of the allocator's state, except where
CapacityWaitError.evicted says what eviction released before it.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from functools import partial
from typing import Any

_SHORT = reprlib.Repr()
_SHORT.maxlist = _SHORT.maxtuple = 20
_SHORT.maxstring = _SHORT.maxother = 200


def shown(value: object) -> str:
    """A value as an error message shows it: its repr, never longer than a message should be."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # an integer of more digits than Python writes out
        return f"an {type(value).__name__} too large to write out"


class OwnerLaneError(Exception):
    """Base of every error that ownerlanes raises."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by attributes: a keyword-only constructor cannot be replayed from `args`."""
        return partial(_rebuild, type(self), str(self)), (), self.__dict__


def _rebuild(kind: type[OwnerLaneError], message: str) -> OwnerLaneError:
    error = kind.__new__(kind)
    error.args = (message,)
    return error


class InvalidArgumentError(OwnerLaneError, ValueError):
    """An argument is outside what the contract allows; nothing has changed."""


class InvalidRequestError(InvalidArgumentError):
    """A request of a batch is malformed. Serves [[RFC-0001:C-UNSUPPORTED-PLANS]].

    Attributes:
        request_index: index in the batch of the first request at fault.
    """

    def __init__(self, message: str, *, request_index: int) -> None:
        super().__init__(f"request {request_index}: {message}")
        self.request_index = request_index


class InvalidFreeError(InvalidArgumentError):
    """A release names a page that is free, reserved or out of range; nothing was released.

    Serves [[RFC-0001:C-RELEASE]].
    """


class PinError(InvalidArgumentError):
    """An unpin without a matching pin."""


class StalePrefixError(InvalidArgumentError):
    """A prefix of which some page has since left the cache."""


class UnsupportedPagePlanError(OwnerLaneError):
    """A touched page would have more than one owner lane; nothing has changed.

    Serves [[RFC-0001:C-UNSUPPORTED-PLANS]].

    Attributes:
        request_index: index in the batch of the first request at fault.
        page_position: lowest page position at fault, absolute in the request.
        owners: the distinct lanes found there, ascending; a partly filled first page counts the
            lane that it already lies on.
    """

    def __init__(self, *, request_index: int, page_position: int, owners: Sequence[int]) -> None:
        self.request_index = request_index
        self.page_position = page_position
        self.owners = tuple(owners)
        super().__init__(
            f"request {request_index}: page position {page_position} has owner lanes "
            f"{list(self.owners)}; every touched page must have exactly one"
        )


class CapacityWaitError(OwnerLaneError):
    """Some lane has too few pages, after eviction and one retry where those could help.

    Always recoverable: catch it and try again once pages have been released. Serves
    [[RFC-0001:C-CAPACITY-AND-EVICTION]] and [[RFC-0001:C-INFEASIBLE-DEMAND]].

    Attributes:
        required, available, deficit: pages by lane, as of the last attempt.
        evicted: pages that eviction released in this call, by lane; they stay released.
        infeasible: the lanes that would be short even with every page free.
        can_wait: whether waiting for releases can help, that is, no lane is infeasible.
    """

    def __init__(
        self,
        *,
        required: Sequence[int],
        available: Sequence[int],
        deficit: Sequence[int],
        evicted: Sequence[int],
        infeasible: Sequence[int],
    ) -> None:
        self.required = tuple(required)
        self.available = tuple(available)
        self.deficit = tuple(deficit)
        self.evicted = tuple(evicted)
        self.infeasible = tuple(infeasible)
        short = "; ".join(
            f"lane {lane}: required {self.required[lane]}, available {self.available[lane]}, "
            f"deficit {missing}"
            for lane, missing in enumerate(self.deficit)
            if missing
        )
        advice = (
            "wait for releases and try again"
            if self.can_wait
            else f"lanes {list(self.infeasible)} would be short even with every page free"
        )
        super().__init__(f"short of pages ({short}); evicted by lane {self.evicted}; {advice}")

    @property
    def can_wait(self) -> bool:
        """Whether waiting for releases can help."""
        return not self.infeasible


class EvictorContractError(OwnerLaneError):
    """The evictor broke its contract; none of the pages it gave up was released.

    Serves [[RFC-0001:C-CAPACITY-AND-EVICTION]].

    Attributes:
        pages: the page ids at fault (free, reserved, out of range, repeated, or being filled by
            this very batch), ascending; empty when what it returned is not pages at all.
    """

    def __init__(self, message: str | None = None, *, pages: Sequence[int]) -> None:
        self.pages = tuple(pages)
        super().__init__(
            message
            or f"the evictor gave up pages {shown(list(self.pages))}, which are free, reserved, "
            "out of range, repeated, or being filled by this batch"
        )


class ReentrantCallError(OwnerLaneError):
    """The evictor called something other than free or free_pages back into the allocator."""


class ForeignLaneError(OwnerLaneError):
    """A row to be written belongs to a slot of another lane; nothing was written.

    Serves [[RFC-0001:C-DIRECT-WRITE]].

    Attributes:
        row: index of the first such row, or None where finding it would cost a read-back.
    """

    def __init__(self, message: str, *, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


class ReplicaDivergedError(OwnerLaneError):
    """The allocators of a group do not hold the same state.

    Serves [[RFC-0001:C-REPLICA-DETERMINISM]].

    Attributes:
        ranks: the ranks whose digest differs from the lowest rank's, ascending.
    """

    def __init__(self, *, ranks: Sequence[int]) -> None:
        self.ranks = tuple(ranks)
        super().__init__(
            f"allocator state of ranks {list(self.ranks)} differs from that of the lowest rank"
        )
