"""A history as data: every call made to an allocator, and what its evictor does meanwhile.

Steps are frozen, hold plain page and slot ids, and have a JSON form whose field names are the same
everywhere (scripts, vectors, pipes). Malformed arguments are kept as they are, so that bad calls
are data too. Nothing here runs a step or judges one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, cast, get_args

from ownerlanes.reference.contract import (
    ContiguousPages,
    ExplicitOwners,
    ExtendRequest,
    LaneLayout,
    RoundRobinPages,
    RoundRobinTokens,
    ZigzagPages,
    ZigzagTokens,
)

SPLIT_KINDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        ZigzagPages,
        ZigzagTokens,
        ContiguousPages,
        RoundRobinPages,
        RoundRobinTokens,
        ExplicitOwners,
    )
}


@dataclass(frozen=True)
class Index:
    """An integer that is no int: all it has is `__index__`, as numpy's and torch's scalars have."""

    value: int

    def __index__(self) -> int:
        return self.value


Through = Literal["return", "free", "free_pages"]
Hook = Literal["evictable_pages", "evict"]


@dataclass(frozen=True)
class EvictorScript:
    """What the evictor does during one step; see evictors.ScriptedEvictor.

    Attributes:
        evictable: its answer to evictable_pages(), by lane (or malformed).
        gives: the page ids it gives up when asked to evict (or a malformed answer).
        through: by returning them, or by a call of free (one slot a page) or free_pages.
        raises: text of an exception of its own, raised after giving up; None for none.
        calls: a method of the allocator that it calls back, or None.
        during: in which of its methods it does so.
        catches: whether it catches what that call raises, or lets it pass.
    """

    evictable: Any
    gives: Any = ()
    through: Through = "return"
    raises: str | None = None
    calls: str | None = None
    during: Hook = "evict"
    catches: bool = False


@dataclass(frozen=True)
class AllocExtend:
    """alloc_extend(requests); a request may be any value where it is malformed."""

    requests: Any
    evictor: EvictorScript | None = None


@dataclass(frozen=True)
class PlanExtend:
    """plan_extend(requests)."""

    requests: Any
    evictor: EvictorScript | None = None


@dataclass(frozen=True)
class AllocPages:
    """alloc_pages(owners)."""

    owners: Any
    evictor: EvictorScript | None = None


@dataclass(frozen=True)
class Free:
    """free(slots). `carried`: as a plain sequence, or as what the allocator's own slots are."""

    slots: Any
    carried: Literal["sequence", "own"] = "sequence"


@dataclass(frozen=True)
class FreePages:
    """free_pages(pages). `carried` as in Free."""

    pages: Any
    carried: Literal["sequence", "own"] = "sequence"


@dataclass(frozen=True)
class Clear:
    """clear()."""


Step = AllocExtend | PlanExtend | AllocPages | Free | FreePages | Clear

OPERATIONS: dict[str, type[Step]] = {
    "alloc_extend": AllocExtend,
    "plan_extend": PlanExtend,
    "alloc_pages": AllocPages,
    "free": Free,
    "free_pages": FreePages,
    "clear": Clear,
}
"""The name of the allocator's method, and the step that calls it."""

NUMBERS = ("prefix_len", "seq_len", "last_slot", "phase")

NAMES = {kind: name for name, kind in OPERATIONS.items()}


@dataclass(frozen=True)
class History:
    """Everything that is done to one allocator.

    Attributes:
        layout: its layout.
        evictor: whether it has a (scripted) evictor; without scripts that one gives nothing.
        steps: the calls, in order.
    """

    layout: LaneLayout
    evictor: bool = False
    steps: tuple[Step, ...] = ()


def request_to_json(request: Any) -> Any:
    """A request as a JSON object; what is no ExtendRequest is passed through."""
    if not isinstance(request, ExtendRequest):
        return request
    split = cast(Any, request.split)
    if type(split).__name__ in SPLIT_KINDS:
        split = {"kind": type(split).__name__, **_plain(asdict(split))}
    numbers = {name: _plain(getattr(request, name)) for name in NUMBERS}
    return {"split": split, **numbers}


def request_from_json(value: Any) -> Any:
    """The inverse of request_to_json."""
    if not isinstance(value, Mapping):
        return value
    split = value["split"]
    if isinstance(split, Mapping):
        arguments = {name: item for name, item in split.items() if name != "kind"}
        split = SPLIT_KINDS[split["kind"]](**arguments)
    given = {name: _frozen(value[name]) for name in NUMBERS if name in value}
    return ExtendRequest(split=split, **given)


def step_to_json(step: Step) -> dict[str, Any]:
    """A step as a JSON object: `op`, its arguments, and `evictor` where there is a script."""
    value: dict[str, Any] = {"op": NAMES[type(step)]}
    for field in fields(step):
        given = getattr(step, field.name)
        if field.name == "requests" and _is_sequence(given):
            value["requests"] = [request_to_json(request) for request in given]
        elif field.name == "evictor":
            if given is not None:
                value["evictor"] = _plain(asdict(given))
        elif field.name != "carried" or given != "sequence":
            value[field.name] = _plain(given)
    return value


def step_from_json(value: Mapping[str, Any]) -> Step:
    """The inverse of step_to_json; fields that it does not know, such as `expect`, are left out.

    Raises:
        ValueError: the operation is unknown or lacks an argument.
    """
    kind = OPERATIONS.get(value.get("op", ""))
    if kind is None:
        raise ValueError(f"op: expected one of {', '.join(OPERATIONS)}, found {value.get('op')!r}")
    arguments: dict[str, Any] = {}
    for field in fields(kind):
        if field.name not in value:
            continue
        given = value[field.name]
        if field.name == "requests" and isinstance(given, list):
            given = tuple(request_from_json(request) for request in given)
        elif field.name == "evictor" and given is not None:
            given = EvictorScript(**{name: _frozen(item) for name, item in given.items()})
        arguments[field.name] = _frozen(given)
    try:
        return kind(**arguments)
    except TypeError as fault:
        raise ValueError(f"{value['op']}: {fault}") from None


def layout_to_json(layout: LaneLayout) -> dict[str, Any]:
    """The arguments of the layout."""
    return {field.name: getattr(layout, field.name) for field in fields(layout)}


def history_to_json(history: History) -> dict[str, Any]:
    """`layout`, `evictor` and `steps`."""
    return {
        "layout": layout_to_json(history.layout),
        "evictor": history.evictor,
        "steps": [step_to_json(step) for step in history.steps],
    }


def history_from_json(value: Mapping[str, Any]) -> History:
    """The inverse of history_to_json.

    Raises:
        ValueError: an unknown operation, or an argument is missing.
        InvalidArgumentError: the layout is none.
    """
    return History(
        LaneLayout(**value["layout"]),
        value.get("evictor", False),
        tuple(step_from_json(step) for step in value["steps"]),
    )


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _plain(value: Any) -> Any:
    """Tuples as lists, all the way down: what json.loads would give back."""
    if isinstance(value, Index):
        return {"index": value.value}
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping) and set(value) == {"index"}:
        return Index(value["index"])
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


assert set(get_args(Step)) == set(OPERATIONS.values())
