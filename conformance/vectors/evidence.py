"""Which obligations a recorded step gives evidence for, and which capabilities it needs.

Both are read off the step, the oracle's outcome and the layout, so that no vector cites by hand
what it does not show. A citation means: an allocator that breaks this obligation in this situation
answers this step otherwise. It does not mean that the step alone proves the obligation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ownerlanes.conformance.operations import (
    AllocExtend,
    AllocPages,
    Clear,
    Free,
    FreePages,
    PlanExtend,
    Step,
)
from ownerlanes.conformance.player import Outcome
from ownerlanes.conformance.protocol import Capabilities
from ownerlanes.reference.contract import (
    CapacityWaitError,
    EvictorContractError,
    ExplicitOwners,
    ExtendAllocation,
    ExtendRequest,
    InvalidArgumentError,
    InvalidFreeError,
    InvalidRequestError,
    LaneLayout,
    ReentrantCallError,
    UnsupportedPagePlanError,
)

OWNERSHIP = {
    "ZigzagPages": 1,
    "ZigzagTokens": 2,
    "ContiguousPages": 3,
    "RoundRobinPages": 4,
    "RoundRobinTokens": 5,
    "ExplicitOwners": 6,
}
"""The number of the obligation of C-PAGE-OWNERSHIP that defines a split."""
LARGE = 2**30
"""A `pad` or `run` from here on shows that the range is accepted."""


def start_evidence() -> set[str]:
    """What the state of a new allocator shows."""
    shown = _ids("OWNER-LANE-LAYOUT", 7, 8) | _ids("CONSERVATION", 3, 4)
    return shown | _ids("REPLICA-DETERMINISM", 2)


def step_evidence(
    step: Step, outcome: Outcome, layout: LaneLayout, *, has_evictor: bool
) -> set[str]:
    """The obligations that one step shows, such as "RFC-0001:C-FLATTENED-ORDER/2"."""
    shown = _ids("CONSERVATION", 1, 3) | _ids("REPLICA-DETERMINISM", 1, 2, 3, 4)
    shown |= _ids("DETERMINISTIC-SELECTION", 3, 4)
    requests = _requests(step)
    if outcome.error is not None:
        shown |= _failure(step, outcome, requests)
    elif isinstance(step, AllocExtend):
        shown |= _allocation(requests, outcome.result, layout)
    elif isinstance(step, AllocPages):
        shown |= _ids("ATOMIC-BATCH", 6, 7) | _ids("CONSERVATION", 2)
        shown |= _ids("DETERMINISTIC-SELECTION", 1)
    elif isinstance(step, PlanExtend):
        shown |= _ids("REQUEST-LOCAL-PLANNING", 4, 7, 8) | _ids("INFEASIBLE-DEMAND", 4)
        shown |= _planning(requests, layout)
        if any(_fills_tail(request, layout) for request in requests):
            shown |= _ids("REQUEST-LOCAL-PLANNING", 5)
    elif isinstance(step, Clear):
        shown |= _ids("CONSERVATION", 5, *([6] if has_evictor else []))
    else:
        shown |= _release(step)
    if has_evictor and not isinstance(step, (Clear, Free, FreePages)):
        shown |= _eviction(outcome)
    return shown


def _ids(clause: str, *numbers: int) -> set[str]:
    return {f"RFC-0001:C-{clause}/{number}" for number in numbers}


def _requests(step: Step) -> list[ExtendRequest]:
    """The requests of a batch that are ExtendRequests."""
    given = getattr(step, "requests", None)
    if not isinstance(given, tuple):
        return []
    return [request for request in given if isinstance(request, ExtendRequest)]


def _is_empty(request: ExtendRequest) -> bool:
    return request.prefix_len == request.seq_len


def _fills_tail(request: ExtendRequest, layout: LaneLayout) -> bool:
    return not _is_empty(request) and request.prefix_len % layout.page_size != 0


def _planning(requests: list[ExtendRequest], layout: LaneLayout) -> set[str]:
    """What a batch that could be planned shows of its plans."""
    planned = [request for request in requests if not _is_empty(request)]
    shown = _ids("REQUEST-LOCAL-PLANNING", 1)
    for request in planned:
        if max(getattr(request.split, "pad", 0), getattr(request.split, "run", 0)) >= LARGE:
            shown |= _ids("UNSUPPORTED-PLANS", 6)
        shown |= _ids("PAGE-OWNERSHIP", OWNERSHIP[type(request.split).__name__], 9)
        if getattr(request.split, "pad", 0):
            shown |= _ids("PAGE-OWNERSHIP", 7)
        if request.phase:
            shown |= _ids("PAGE-OWNERSHIP", 8) | _ids("PHASE-SELECTION", 2)
        if _fills_tail(request, layout):
            shown |= _ids("PAGE-OWNERSHIP", 10)
        elif request.last_slot is not None:
            shown |= _ids("UNSUPPORTED-PLANS", 3)
    if len(planned) > 1:
        shown |= _ids("REQUEST-LOCAL-PLANNING", 2)
    if len({type(request.split) for request in planned}) > 1:
        shown |= _ids("REQUEST-LOCAL-PLANNING", 3)
    return shown | _phases(requests)


def _phases(requests: list[ExtendRequest]) -> set[str]:
    shown = _ids("PHASE-SELECTION", 8) if requests else set()
    for index, request in enumerate(requests):
        if request.phase is None:
            shown |= _ids("PHASE-SELECTION", *([6] if _is_empty(request) else [3, 4]))
            if index:
                shown |= _ids("PHASE-SELECTION", 1)
    return shown


def _allocation(
    requests: list[ExtendRequest], given: ExtendAllocation, layout: LaneLayout
) -> set[str]:
    shown = _planning(requests, layout) | _ids("FLATTENED-ORDER", 1, 5, 8)
    if not requests:
        return shown | _ids("ATOMIC-BATCH", 5)
    if any(map(_is_empty, requests)):
        shown |= _ids("ATOMIC-BATCH", 4)
    if given.out_cache_loc:
        shown |= _ids("FLATTENED-ORDER", 2, 3, 4, 6) | _ids("OWNER-LANE-LAYOUT", 3)
    if layout.page_size > 1 and given.out_cache_loc:
        shown |= _ids("FLATTENED-ORDER", 7)
    pages = [page for row in given.pages for page in row]
    if pages:
        placement = 1 if layout.placement == "interleaved" else 2
        shown |= _ids("OWNER-LANE-LAYOUT", placement, *([5] if layout.reserved_pages else []))
        shown |= _ids("DETERMINISTIC-SELECTION", 1) | _ids("CONSERVATION", 2)
    if pages and max(Counter(map(layout.lane_of_page, pages)).values()) > 1:
        shown |= _ids("DETERMINISTIC-SELECTION", 2)
    if given.evicted:
        shown |= _ids("LANE-EVICTION", 12)
        if any(request.phase is None for request in requests):
            shown |= _ids("PHASE-SELECTION", 5, 7)
    return shown


def _failure(step: Step, outcome: Outcome, requests: list[ExtendRequest]) -> set[str]:
    error = outcome.error
    shown: set[str] = set() if isinstance(step, PlanExtend) else _ids("ATOMIC-BATCH", 1)
    if isinstance(error, (InvalidRequestError, UnsupportedPagePlanError)):
        shown |= _ids("UNSUPPORTED-PLANS", 11)
        if len(getattr(step, "requests", ())) > 1:
            shown |= _ids("ATOMIC-BATCH", 2, 3)
    match error:
        case CapacityWaitError():
            shown |= _capacity(outcome, error, requests)
        case UnsupportedPagePlanError():
            shown |= _ids("UNSUPPORTED-PLANS", 7, 8, 9, 12) | _ids("PAGE-OWNERSHIP", 9)
            if requests[error.request_index].phase is None:
                shown |= _ids("UNSUPPORTED-PLANS", 10)
        case InvalidRequestError():
            shown |= _ids("UNSUPPORTED-PLANS", *([1, 2] if _shares_a_tail(requests) else [1]))
        case InvalidFreeError():
            malformed = isinstance(step, (Free, FreePages)) and not _integers(_ids_of(step))
            shown = _ids("RELEASE", 5 if malformed else 4)
        case InvalidArgumentError():
            shown |= _ids("ATOMIC-BATCH", 8 if isinstance(step, AllocPages) else 9)
    if isinstance(step, PlanExtend):
        shown |= _ids("REQUEST-LOCAL-PLANNING", 6, 8)
    return shown


def _capacity(
    outcome: Outcome, error: CapacityWaitError, requests: list[ExtendRequest]
) -> set[str]:
    shown = _ids("CAPACITY-AND-EVICTION", 2, 3, 4) | _ids("INFEASIBLE-DEMAND", 1, 3)
    shown |= _ids("LANE-EVICTION", 12) if any(error.evicted) else set()
    if error.infeasible:
        shown |= _ids("INFEASIBLE-DEMAND", 5)
    if any(request.phase is None for request in requests):
        shown |= _ids("INFEASIBLE-DEMAND", 2)
    if outcome.times_counted and not outcome.evictions:
        shown |= _ids("LANE-EVICTION", 2)
    return shown


def _shares_a_tail(requests: list[ExtendRequest]) -> bool:
    tails = [request.last_slot for request in requests if isinstance(request.last_slot, int)]
    return len(tails) != len(set(tails))


def _integers(ids: Any) -> bool:
    return isinstance(ids, tuple) and all(type(number) is int for number in ids)


def _ids_of(step: Free | FreePages) -> Any:
    return step.slots if isinstance(step, Free) else step.pages


def _release(step: Step) -> set[str]:
    assert isinstance(step, (Free, FreePages))
    ids = _ids_of(step)
    shown = _ids("RELEASE", 1 if isinstance(step, Free) else 2, 6)
    return shown | (_ids("RELEASE", 3) if len(ids) != len(set(ids)) else set())


def _eviction(outcome: Outcome) -> set[str]:
    """What the conversation with the evictor shows."""
    asked = [call for call in outcome.evictions if call[0] == "evict"]
    shown = _ids("LANE-EVICTION", 4, *([] if asked else [1]))
    if asked:
        shown |= _ids("LANE-EVICTION", 3)
        if outcome.error is None:
            shown |= _ids("LANE-EVICTION", 5, 7) | _ids("CAPACITY-AND-EVICTION", 1)
    if any(call[0] == "called back" for call in outcome.evictions):
        shown |= _ids("LANE-EVICTION", 10)
    match outcome.error:
        case CapacityWaitError() if asked:
            shown |= _ids("LANE-EVICTION", 8)
        case EvictorContractError(pages=pages):
            shown |= _ids("LANE-EVICTION", 6 if pages else 9)
        case ReentrantCallError():
            shown |= _ids("LANE-EVICTION", 10)
        case error if error is not None and error is outcome.own_failure:
            shown |= _ids("LANE-EVICTION", 11)
    return shown


HIDDEN = {
    "exact_pages": _ids("DETERMINISTIC-SELECTION", 1, 2, 3) | _ids("REPLICA-DETERMINISM", 1, 4),
    "snapshot": _ids("DETERMINISTIC-SELECTION", 4) | _ids("CONSERVATION", 3),
    "digest": _ids("REPLICA-DETERMINISM", 2, 3),
    "typed_errors": _ids("CAPACITY-AND-EVICTION", 2, 3)
    | _ids("INFEASIBLE-DEMAND", 1, 2, 3, 5)
    | _ids("UNSUPPORTED-PLANS", 1, 2, 7, 8, 9, 10)
    | _ids("ATOMIC-BATCH", 2, 3, 8, 9)
    | _ids("REQUEST-LOCAL-PLANNING", 6)
    | _ids("LANE-EVICTION", 6, 8, 9, 10)
    | _ids("RELEASE", 4, 5),
}
"""For each capability, the obligations that no step shows on a candidate that lacks it."""


def visible(shown: set[str], claims: Capabilities) -> set[str]:
    """Those of the obligations that can be seen on a candidate with these claims."""
    return shown.difference(*(HIDDEN[name] for name in claims.lacks(*HIDDEN)))


def needs_of(step: Step, error: Exception | None, layout: LaneLayout) -> Iterator[str]:
    """The capabilities that a candidate must claim for this step to be put to it.

    Args:
        step: the call.
        error: what the oracle raised, or None.
        layout: the layout.
    """
    if isinstance(error, InvalidFreeError):
        yield "release_checks"
    elif isinstance(error, InvalidArgumentError):
        yield "argument_checks"
    for kind, method in (
        (PlanExtend, "plan_extend"),
        (AllocPages, "alloc_pages"),
        (Clear, "clear"),
    ):
        if isinstance(step, kind):
            yield method
    for request in _requests(step):
        yield from _request_needs(request, layout)


def _request_needs(request: ExtendRequest, layout: LaneLayout) -> Iterator[str]:
    """As needs_of, for one request that may be malformed."""
    if type(request.split).__name__ in OWNERSHIP:
        yield type(request.split).__name__
    if getattr(request.split, "pad", 0):
        yield "padding"
    if getattr(request.split, "run", 1) > 1:
        yield "runs"
    if isinstance(request.prefix_len, int) and _fills_tail(request, layout):
        yield "partial_pages"
    if request.phase is None:
        yield "open_phase"
    elif request.phase and not isinstance(request.split, ExplicitOwners):
        yield "phases"
