"""Who computes which token of a request, as data.

A split names the rank that computes each new token, before the request's phase rotates the
lanes; it plans nothing itself. Positions are absolute in the request; T is the number of pages
that its new tokens touch, E the number of new tokens, N the number of lanes. Blocks of n items
over k blocks have sizes n // k, the first n % k of them one larger.
Serves [[RFC-0001:C-PAGE-OWNERSHIP]].
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ownerlanes.reference.errors import InvalidArgumentError, shown
from ownerlanes.reference.layout import as_index, index_in

SPLIT_LIMIT = 2**31
"""`run` and `pad` are below this, so that a split fits 32-bit device parameters."""


def _check(split: object, name: str, least: int) -> None:
    number = index_in(getattr(split, name), f"{type(split).__name__}.{name}", least, SPLIT_LIMIT)
    object.__setattr__(split, name, number)


@dataclass(frozen=True)
class ZigzagPages:
    """The T touched pages, and `pad` more that get no page, in 2N blocks; b -> min(b, 2N-1-b)."""

    pad: int = 0

    def __post_init__(self) -> None:
        _check(self, "pad", 0)


@dataclass(frozen=True)
class ZigzagTokens:
    """The E new tokens, and `pad` more that get no slot, in 2N blocks; b -> min(b, 2N-1-b)."""

    pad: int = 0

    def __post_init__(self) -> None:
        _check(self, "pad", 0)


@dataclass(frozen=True)
class ContiguousPages:
    """The T touched pages, and `pad` more that get no page, in N blocks; block b -> lane b."""

    pad: int = 0

    def __post_init__(self) -> None:
        _check(self, "pad", 0)


@dataclass(frozen=True)
class RoundRobinPages:
    """Page position P -> (P // run) mod N."""

    run: int = 1

    def __post_init__(self) -> None:
        _check(self, "run", 1)


@dataclass(frozen=True)
class RoundRobinTokens:
    """Token position t -> (t // run) mod N."""

    run: int = 1

    def __post_init__(self) -> None:
        _check(self, "run", 1)


@dataclass(frozen=True)
class ExplicitOwners:
    """One lane for each touched page, a partly filled first one included, as given.

    Whether they are as many as the touched pages and name lanes of the layout is for the
    allocator to check: InvalidRequestError.
    """

    owners: tuple[int, ...]

    def __init__(self, owners: Iterable[int]) -> None:
        try:
            given = tuple(owners)
        except TypeError:
            raise InvalidArgumentError(
                f"ExplicitOwners.owners: expected a sequence of lanes, found {shown(owners)}"
            ) from None
        checked = (as_index(lane, "ExplicitOwners.owners", i) for i, lane in enumerate(given))
        object.__setattr__(self, "owners", tuple(checked))


Split = (
    ZigzagPages
    | ZigzagTokens
    | ContiguousPages
    | RoundRobinPages
    | RoundRobinTokens
    | ExplicitOwners
)
