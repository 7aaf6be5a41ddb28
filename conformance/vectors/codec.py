"""What an allocator answers, as JSON and back: results, errors, and how it asked its evictor.

The same forms stand in vectors and go over the pipe. An answer that is read from a pipe keeps
whatever an engine wrote, missing fields and all, so that comparison and not decoding finds what is
wrong. Nothing here judges an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from ownerlanes.conformance.compare import ATTRIBUTES, contract_type
from ownerlanes.conformance.evictors import ScriptedFailureError
from ownerlanes.conformance.operations import AllocExtend, AllocPages, PlanExtend, Step
from ownerlanes.reference.contract import (
    BatchPlan,
    CapacityWaitError,
    ExtendAllocation,
    OwnerLaneError,
)

ALLOCATION = ("out_cache_loc", "extend_offsets", "pages", "phases", "evicted")
PLAN = ("phases", "demand", "required", "deficit", "infeasible")
ERRORS = {kind.__name__: kind for kind in ATTRIBUTES}
EVICTOR_FAILURE = "EvictorFailure"
"""The type of error that says: the evictor raised an exception of its own, and it came through."""

Calls = Iterable[tuple[Any, ...]]


class ReportedWaitError(CapacityWaitError):
    """A capacity wait as an engine told it: `can_wait` is what it said, not what follows."""

    can_wait: Any = None  # a property of the base


class EngineError(Exception):
    """An error that is none of the contract's."""


def result_to_json(step: Step, result: Any) -> Any:
    """What the oracle returned for a step."""
    match step:
        case AllocExtend():
            return _fields(result, ALLOCATION)
        case PlanExtend():
            return _fields(result, PLAN)
        case AllocPages():
            return list(result)
    return None


def _fields(result: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: as_lists(getattr(result, name)) for name in names}


def as_lists(value: Any) -> Any:
    """Tuples as lists, all the way down."""
    return [as_lists(item) for item in value] if isinstance(value, (tuple, list)) else value


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def expected_result(step: Step, value: Any) -> Any:
    """The inverse of result_to_json.

    Raises:
        TypeError, ValueError: a field is missing or unknown.
    """
    match step:
        case AllocExtend():
            return ExtendAllocation(**{name: _as_tuples(item) for name, item in value.items()})
        case PlanExtend():
            return BatchPlan(**{name: _as_tuples(item) for name, item in value.items()})
        case AllocPages():
            return tuple(value)
    return None


def reported_result(value: Any) -> Any:
    """A result as an engine wrote it: an object's fields as attributes, anything else as it is."""
    return SimpleNamespace(**value) if isinstance(value, Mapping) else value


def error_to_json(error: Exception) -> dict[str, Any]:
    """The type of an error and the attributes that the contract promises of it."""
    if isinstance(error, ScriptedFailureError):
        return {"type": EVICTOR_FAILURE, "message": str(error)}
    kind = contract_type(error)
    assert issubclass(kind, OwnerLaneError), error
    attributes = {name: as_lists(getattr(error, name)) for name in ATTRIBUTES[kind]}
    return {"type": kind.__name__, **attributes}


def error_from_json(value: Mapping[str, Any], *, reported: bool) -> Exception:
    """The error with the attributes given and no others; an unknown type is an EngineError.

    Args:
        value: as error_to_json writes it.
        reported: whether an engine says so, so that its `can_wait` is to be believed.
    """
    name = value.get("type")
    message = str(value.get("message", ""))
    if name == EVICTOR_FAILURE:
        return ScriptedFailureError(message)
    if name not in ERRORS:
        return EngineError(f"{name}: {message}" if message else str(name))
    kind = ERRORS[name]
    if reported and kind is CapacityWaitError:
        kind = ReportedWaitError
    error = kind.__new__(kind)
    told = {key: _as_tuples(item) for key, item in value.items() if key in ATTRIBUTES[ERRORS[name]]}
    error.__dict__.update(told)
    error.args = (message or ", ".join(f"{key}={item}" for key, item in told.items()),)
    return error


def calls_to_json(calls: Calls) -> list[dict[str, Any]]:
    """How the evictor was asked, and what came of its calls back, in order."""
    written: list[dict[str, Any]] = []
    for call in calls:
        match call:
            case ("evict", deficit):
                written.append({"call": "evict", "deficit": as_lists(deficit)})
            case ("called back", method, error):
                written.append({"call_back": method, "error": error})
            case _:
                written.append({"call": "evictable_pages"})
    return written


def calls_from_json(value: Any) -> list[tuple[Any, ...]]:
    """The inverse of calls_to_json.

    Raises:
        ValueError: it is not such a list.
    """
    calls: list[tuple[Any, ...]] = []
    for entry in value if isinstance(value, list) else [value]:
        match entry:
            case {"call": "evictable_pages"}:
                calls.append(("evictable_pages",))
            case {"call": "evict", "deficit": deficit}:
                calls.append(("evict", _as_tuples(deficit)))
            case {"call_back": method, "error": error}:
                calls.append(("called back", method, error))
            case _:
                raise ValueError(f"evictor: expected a list of calls, found {entry!r}")
    return calls
