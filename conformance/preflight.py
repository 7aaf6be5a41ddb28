"""Whether a candidate can be checked at all: a few calls in order, before any test.

The first thing that does not work stops the run with one line, so that it is not told a hundred
times over; that is "could not run", which says nothing about conformance. Whether answers are
right is for the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ownerlanes.conformance.difference import ints
from ownerlanes.conformance.operations import SPLIT_KINDS
from ownerlanes.conformance.protocol import Candidate, Capabilities, CouldNotRunError
from ownerlanes.reference.contract import ExplicitOwners, ExtendRequest, LaneLayout, Placement

ALWAYS = ("alloc_extend", "free", "free_pages", "available_pages")
CLAIMED = ("plan_extend", "alloc_pages", "clear", "snapshot", "digest")


def preflight(candidate: Candidate) -> None:
    """Construct, allocate one page, free it, report counts.

    Raises:
        CouldNotRunError: with the step that failed, and how.
    """
    claims = candidate.capabilities
    layout = probe_layout(claims)
    run = _Steps(candidate.name)
    allocator = run("constructs", f"make({layout})", lambda: candidate.make(layout))
    for method in (*ALWAYS, *(name for name in CLAIMED if getattr(claims, name))):
        if not callable(getattr(allocator, method, None)):
            hint = "" if method in ALWAYS else f", or declare capabilities {method}=False"
            raise CouldNotRunError(
                f"{candidate.name}: preflight: has no method {method}; add it{hint}"
            )
    request = probe_request(claims)
    given = run(
        "allocates one page",
        f"alloc_extend([{request}])",
        lambda: ints(allocator.alloc_extend([request]).out_cache_loc),
    )
    run("reports counts", "available_pages()", lambda: ints(allocator.available_pages()))
    run("frees it", f"free({list(given)})", lambda: allocator.free(list(given)))
    for name in ("snapshot", "digest"):
        if getattr(claims, name):
            run("reports its state", f"{name}()", getattr(allocator, name))
    if claims.eviction:
        run(
            "constructs with an evictor",
            f"make({layout}, evictor=...)",
            lambda: candidate.make(layout, _NothingToGive()),
        )


class _Steps:
    """Runs the steps and says which one failed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, step: str, call: str, make: Callable[[], Any]) -> Any:
        try:
            return make()
        except Exception as fault:
            raise CouldNotRunError(
                f"{self._name}: preflight: {step}: {call} raised {type(fault).__name__}: {fault}"
            ) from fault


class _NothingToGive:
    def evictable_pages(self) -> list[int]:
        return [0, 0]

    def evict(self, deficit: object, /) -> list[int]:
        del deficit
        return []


def probe_layout(claims: Capabilities) -> LaneLayout:
    """A small layout that the candidate claims to take."""
    placement: Placement = "interleaved" if "interleaved" in claims.placements else "blocked"
    reserved = 1 if claims.reserved_pages is None else min(claims.reserved_pages)
    return LaneLayout(2, 4, 4 + reserved, placement, reserved)


def probe_request(claims: Capabilities) -> ExtendRequest:
    """One page on lane 0, by a split that the candidate claims."""
    kind = min(claims.splits)
    return ExtendRequest(
        0, 4, ExplicitOwners([0]) if kind == "ExplicitOwners" else SPLIT_KINDS[kind]()
    )
