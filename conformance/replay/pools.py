"""The pools that a replay drives: oracle, candidate, and two others to measure the oracle against.

Each pool is an allocator with the prefix cache that is its evictor. The two for comparison show
what owner lanes cost: a pool without lanes is the limit that no lane policy can beat by more than
luck, and an evictor that counts pages in aggregate is what an engine has without this contract.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

from ownerlanes.conformance.protocol import Candidate, CouldNotRunError
from ownerlanes.conformance.replay.settings import ReplaySettings
from ownerlanes.conformance.replay.sides import Cache, Side
from ownerlanes.conformance.replay.splits import split_for
from ownerlanes.reference import LanePrefixCache, ReferenceAllocator
from ownerlanes.reference.contract import LaneLayout, OwnerLaneError

MakeCache = Callable[[LaneLayout], Cache]


class AggregateCountCache(LanePrefixCache):
    """Evicts by how long ago pages were used, whatever lane they are on, until no lane is short.

    A lane-blind cache under a lane allocator: it is told what is missing, gives up the oldest
    pages of any lane, and stops as soon as the shortest lane has enough.
    """

    def evict(self, deficit: Sequence[int], /) -> tuple[int, ...]:
        """Give up the oldest evictable pages until every lane's deficit is covered."""
        short = self._checked_deficit(deficit)
        given_up: list[int] = []
        for node in sorted(self._evictable(), key=lambda node: (node.stamp, -node.depth)):
            if max(short) <= 0:
                break
            if self._is_cached(node):
                for gone in self._take(node):
                    short[gone.lane] -= 1
                    given_up.append(gone.page)
        return tuple(sorted(given_up))


def oracle_side(
    layout: LaneLayout, *, reuse: bool, make_cache: MakeCache = LanePrefixCache
) -> Side:
    """The reference allocator, with the model cache where prefixes are reused."""
    if not reuse:
        return Side("oracle", ReferenceAllocator(layout), None, is_oracle=True)
    cache = make_cache(layout)
    return Side("oracle", ReferenceAllocator(layout, cache), cache, is_oracle=True)


def candidate_side(
    candidate: Candidate, settings: ReplaySettings, make_cache: MakeCache | None
) -> Side:
    """The candidate, with a cache of `make_cache` where prefixes are reused.

    Raises:
        CouldNotRunError: the candidate does not claim what this replay needs.
    """
    claims = candidate.capabilities
    needed = ["exact_pages", type(split_for(settings.split, 1, settings.layout)).__name__]
    needed += ["open_phase"] if settings.phase is None else ["phases"] if settings.phase else []
    needed += ["typed_errors", "eviction"] if make_cache else ["typed_errors"]
    if lacking := claims.lacks(*needed):
        raise CouldNotRunError(
            f"{candidate.name} does not claim {', '.join(lacking)}, which this replay needs"
        )
    try:
        cache = None if make_cache is None else make_cache(settings.layout)
        allocator = candidate.make(settings.layout, cache)
    except OwnerLaneError:
        raise
    except Exception as fault:
        raise CouldNotRunError(
            f"{candidate.name} does not construct: {type(fault).__name__}: {fault}"
        ) from fault
    return Side(
        candidate.name,
        allocator,
        cache,
        has_snapshot=claims.snapshot,
        has_digest=claims.digest,
    )


def without_lanes(layout: LaneLayout) -> LaneLayout:
    """One lane with as many allocatable pages as all lanes of `layout` together."""
    reserved = layout.reserved_pages
    pages = layout.num_lanes * layout.capacity + reserved
    return LaneLayout(1, layout.page_size, pages, layout.placement, reserved)


def load_cache(name: str) -> MakeCache:
    """The cache factory named "pkg.module:make".

    Raises:
        CouldNotRunError: there is none.
    """
    module_name, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, ValueError) as fault:
        raise CouldNotRunError(f"--cache: expected pkg.module:make, found {name!r}: {fault}") from (
            fault
        )
    if not callable(found):
        raise CouldNotRunError(f"--cache: expected a factory make(layout), found {found!r}")
    make: MakeCache = found
    return make
