"""What the kit asks of a candidate: a factory, the contract's methods, and what it claims.

A candidate says up front which parts of the contract it offers; what it does not claim is reported
as not claimed and never quietly left out. The kit reaches an implementation through this protocol
alone: no class is known here by name, and none is treated in a way of its own.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

from ownerlanes.reference.contract import Evictor, ExtendRequest, LaneLayout

SPLITS = frozenset(
    {
        "ZigzagPages",
        "ZigzagTokens",
        "ContiguousPages",
        "RoundRobinPages",
        "RoundRobinTokens",
        "ExplicitOwners",
    }
)
PLACEMENTS = frozenset({"interleaved", "blocked"})


class CouldNotRunError(Exception):
    """The candidate could not be checked at all; this says nothing about its conformance."""


class Allocator(Protocol):
    """The methods of the contract; a candidate without some of them does not claim those."""

    def alloc_extend(self, requests: Sequence[ExtendRequest], /) -> Any:
        """Pages and slots for a batch; a result with the fields of ExtendAllocation."""

    def plan_extend(self, requests: Sequence[ExtendRequest], /) -> Any:
        """The dry run; a result with the fields of BatchPlan."""

    def alloc_pages(self, owners: Sequence[int], /) -> Any:
        """One new page on each named lane, in that order."""

    def free(self, slots: Any, /) -> None:
        """Release every page that the slots touch."""

    def free_pages(self, pages: Any, /) -> None:
        """Release these pages."""

    def available_pages(self) -> Any:
        """The free pages, by lane."""

    def snapshot(self) -> Any:
        """The state as a PoolSnapshot."""

    def digest(self) -> str:
        """The state in 64 hex digits."""

    def clear(self) -> None:
        """Make every page free that is not reserved."""


Factory = Callable[..., Allocator]
"""`make(layout)` and, where eviction is claimed, `make(layout, evictor=evictor)`."""


@dataclass(frozen=True)
class Capabilities:
    """What a candidate claims; everything, unless it says otherwise.

    A factory or the object that it makes may carry `capabilities`: an instance of this class, or
    a mapping with some of these names.

    Attributes:
        splits: names of the splits that requests may have.
        placements: of "interleaved" and "blocked", those that layouts may have.
        reserved_pages: the only values of `LaneLayout.reserved_pages` it takes; None for any.
        padding: splits with `pad` > 0.
        runs: splits with `run` > 1.
        partial_pages: requests whose prefix ends inside a page.
        open_phase: `phase=None`; without it every request has a phase.
        phases: any phase; without it every request has phase 0.
        eviction: an evictor is asked when a lane is short.
        plan_extend, alloc_pages, clear: the method is there.
        exact_pages: pages are chosen in ascending local page order. Without it any free page of
            the right lane will do, and page ids are never compared.
        snapshot, digest: the method is there; counts are always compared.
        typed_errors: errors are those of the contract, with their attributes. Without it a
            shortage or a fault is told by None or by any exception.
        argument_checks: malformed requests and batches are refused.
        release_checks: releases of pages that are free, reserved or out of range are refused.
    """

    splits: frozenset[str] = SPLITS
    placements: frozenset[str] = PLACEMENTS
    reserved_pages: frozenset[int] | None = None
    padding: bool = True
    runs: bool = True
    partial_pages: bool = True
    open_phase: bool = True
    phases: bool = True
    eviction: bool = True
    plan_extend: bool = True
    alloc_pages: bool = True
    clear: bool = True
    exact_pages: bool = True
    snapshot: bool = True
    digest: bool = True
    typed_errors: bool = True
    argument_checks: bool = True
    release_checks: bool = True

    def lacks(self, *needed: str) -> list[str]:
        """Of the names given, flags and splits alike, those that are not claimed."""
        return [
            name
            for name in needed
            if (name not in self.splits if name in SPLITS else not getattr(self, name))
        ]

    def not_claimed(self) -> list[str]:
        """Everything that is not claimed, for the report."""
        flags = [field.name for field in fields(self) if getattr(self, field.name) is False]
        missing = sorted((SPLITS - self.splits) | (PLACEMENTS - self.placements))
        if self.reserved_pages is not None:
            missing.append(f"reserved_pages other than {sorted(self.reserved_pages)}")
        return flags + missing

    def as_json(self) -> dict[str, Any]:
        """Plain values for a report."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: sorted(value) if isinstance(value, frozenset) else value
            for name, value in values.items()
        }


def capabilities_from(declared: object, where: str) -> Capabilities:
    """The Capabilities that a candidate declares.

    Raises:
        CouldNotRunError: an unknown name, or a value of the wrong kind.
    """
    if declared is None:
        return Capabilities()
    if isinstance(declared, Capabilities):
        return declared
    if not isinstance(declared, Mapping):
        raise CouldNotRunError(
            f"{where}.capabilities: expected Capabilities or a mapping, found {declared!r}"
        )
    known = {field.name: field.default for field in fields(Capabilities)}
    values: dict[str, Any] = {}
    for name, value in declared.items():
        if name not in known:
            raise CouldNotRunError(
                f"{where}.capabilities: unknown name {name!r}; known are {', '.join(known)}"
            )
        values[name] = _declared(name, value, isinstance(known[name], bool), where)
    return Capabilities(**values)


def _declared(name: str, value: object, is_flag: bool, where: str) -> object:
    if is_flag:
        if isinstance(value, bool):
            return value
        raise CouldNotRunError(f"{where}.capabilities: {name} must be a bool, found {value!r}")
    if name == "reserved_pages" and value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise CouldNotRunError(f"{where}.capabilities: {name} must be a set, found {value!r}")
    chosen = frozenset(value)
    known = {"splits": SPLITS, "placements": PLACEMENTS}.get(name, chosen)
    if not chosen or chosen - known:
        raise CouldNotRunError(
            f"{where}.capabilities: {name} must be some of {sorted(known)}, found {value!r}"
        )
    return chosen


@dataclass
class Candidate:
    """An allocator to be checked.

    Attributes:
        name: how it was named, "pkg.module:make".
        factory: makes one; see Factory.
        capabilities: what it claims.
        examples: how many histories were started on it so far; the report's count.
    """

    name: str
    factory: Factory
    capabilities: Capabilities
    examples: int = 0

    def make(self, layout: LaneLayout, evictor: Evictor | None = None) -> Allocator:
        """A new allocator with every page free; the factory's own errors pass through."""
        return self.factory(layout) if evictor is None else self.factory(layout, evictor=evictor)


PROBE = LaneLayout(num_lanes=2, page_size=4, pages_per_lane=5)
"""A layout that every candidate should take: preflight uses it."""


def candidate_from(factory: Any, name: str) -> Candidate:
    """A candidate from its factory; capabilities are read off the factory, else an instance.

    Raises:
        CouldNotRunError: it is not callable, does not construct, or declares nonsense.
    """
    if not callable(factory):
        raise CouldNotRunError(f"{name}: expected a factory make(layout), found {factory!r}")
    declared = getattr(factory, "capabilities", None)
    if declared is None or isinstance(declared, property):
        try:
            declared = getattr(factory(PROBE), "capabilities", None)
        except Exception as fault:
            raise CouldNotRunError(
                f"{name}: does not construct: make({PROBE}) raised {type(fault).__name__}: {fault}"
            ) from fault
    return Candidate(name, factory, capabilities_from(declared, name))


def load_candidate(name: str) -> Candidate:
    """The candidate named "pkg.module:make"; the current directory is importable.

    Raises:
        CouldNotRunError: with one line that says what was not found, or what import raised.
    """
    module_name, colon, attribute = name.partition(":")
    if not (module_name and colon and attribute):
        raise CouldNotRunError(f"--allocator: expected pkg.module:make, found {name!r}")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as fault:
        raise CouldNotRunError(
            f"{name}: importing {module_name} raised {type(fault).__name__}: {fault}"
        ) from fault
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise CouldNotRunError(f"{name}: {module_name} has no {attribute}")
        found = getattr(found, part)
    return candidate_from(found, name)
