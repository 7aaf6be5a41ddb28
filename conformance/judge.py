"""Whether the candidate's outcome of one step is the oracle's: errors, refusals, evictions.

Results of steps that succeed are compared in `compare`; here is what surrounds them. Candidates
that do not claim typed errors may tell a failure by None or by any exception, and are held to the
state alone. Nothing here makes a call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ownerlanes.conformance.compare import (
    ERROR_CLAUSE,
    Difference,
    compare_error,
    compare_ints,
    contract_type,
)
from ownerlanes.conformance.operations import (
    NAMES,
    AllocExtend,
    AllocPages,
    Clear,
    Free,
    FreePages,
    PlanExtend,
    Step,
)
from ownerlanes.conformance.player import Outcome
from ownerlanes.reference.contract import CapacityWaitError, EvictorContractError, OwnerLaneError

UNEXPECTED_ERROR: dict[type[Step], str] = {
    AllocExtend: "RFC-0001:C-FLATTENED-ORDER/1",
    AllocPages: "RFC-0001:C-ATOMIC-BATCH/6",
    PlanExtend: "RFC-0001:C-REQUEST-LOCAL-PLANNING/4",
    Free: "RFC-0001:C-RELEASE/1",
    FreePages: "RFC-0001:C-RELEASE/2",
    Clear: "RFC-0001:C-CONSERVATION/5",
}
"""What it breaks when it raises an error that is none of the contract's."""


PageNames = Callable[[Sequence[int]], Sequence[int]]


def compare_evictions(expected: Outcome, actual: Outcome) -> None:
    """How the evictor was asked, and what came of its calls back into the allocator.

    Raises:
        Difference: `evict` was called another number of times or with another deficit, a call
            back ended otherwise, or `evictable_pages` was asked without need.
    """
    wanted, found = expected.evictions, actual.evictions
    if len(wanted) != len(found):
        raise Difference(
            clause=f"RFC-0001:C-LANE-EVICTION/{3 if wanted else 2}",
            field="calls of evict(deficit), and calls back from the evictor",
            expected=list(wanted),
            actual=list(found),
        )
    for mine, theirs in zip(wanted, found, strict=True):
        if mine[0] == theirs[0] == "evict":
            compare_ints(
                mine[1], theirs[1], field="evict(deficit)", clause="RFC-0001:C-LANE-EVICTION/3"
            )
        elif mine != theirs:
            raise Difference(
                clause="RFC-0001:C-LANE-EVICTION/10",
                field="what a call back into the allocator raises",
                expected=mine,
                actual=theirs,
            )
    if actual.times_counted > expected.times_counted:
        raise Difference(
            clause="RFC-0001:C-LANE-EVICTION/4",
            field="number of calls of evictable_pages()",
            expected=f"at most {expected.times_counted}",
            actual=actual.times_counted,
        )


def compare_failure(
    step: Step, expected: Outcome, actual: Outcome, *, typed: bool, own_pages: PageNames
) -> None:
    """A step that must fail, failed as it must.

    Args:
        step: the call.
        expected: the oracle's outcome, with an error.
        actual: the candidate's.
        typed: whether the candidate claims typed errors.
        own_pages: the candidate's names for pages of the oracle.

    Raises:
        Difference: it did not fail, or failed in another way.
    """
    wanted = expected.error
    if not isinstance(wanted, OwnerLaneError):
        if actual.error is None or actual.error is not actual.own_failure:
            raise Difference(
                clause="RFC-0001:C-LANE-EVICTION/11",
                field="error",
                expected=wanted,
                actual=_what_happened(actual),
            )
        return
    if actual.error is None and (typed or actual.result is not None):
        raise Difference(
            clause=_obligation(wanted, step),
            field="error",
            expected=wanted if typed else "None or an exception",
            actual=_what_happened(actual),
        )
    if not typed or actual.error is None:
        return
    if isinstance(wanted, EvictorContractError):
        wanted = EvictorContractError(pages=own_pages(wanted.pages))
    compare_error(wanted, actual.error)


def _what_happened(outcome: Outcome) -> object:
    return outcome.error if outcome.error is not None else f"no error; it gave {outcome.result!r}"


def _obligation(error: OwnerLaneError, step: Step) -> str:
    kind = type(error)
    if isinstance(step, AllocPages) and kind not in (CapacityWaitError, EvictorContractError):
        return "RFC-0001:C-ATOMIC-BATCH/8"
    return ERROR_CLAUSE[kind]


def _of_the_batch(step: Step, actual: Outcome) -> str | None:
    """What a candidate breaks that refuses a batch with something particular in it."""
    if not isinstance(step, AllocExtend):
        return None
    if actual.error is None or contract_type(actual.error) is CapacityWaitError:
        chooses = any(request.phase is None for request in step.requests)
        return "RFC-0001:C-PHASE-SELECTION/3" if chooses else None  # with other phases it fits
    if not step.requests:
        return "RFC-0001:C-ATOMIC-BATCH/5"
    empty = any(request.prefix_len == request.seq_len for request in step.requests)
    return "RFC-0001:C-ATOMIC-BATCH/4" if empty else None


def refusal(step: Step, expected: Outcome, actual: Outcome) -> Difference:
    """The difference of a candidate that did not do what can be done."""
    obligation = UNEXPECTED_ERROR[type(step)]
    if actual.error is not None:
        for kind, about in ERROR_CLAUSE.items():
            if contract_type(actual.error) is kind:
                obligation = about
    obligation = _of_the_batch(step, actual) or obligation
    return Difference(
        clause=obligation,
        field=f"{NAMES[type(step)]}(...)",
        expected="no error" if expected.result is None else expected.result,
        actual=actual.error,
    )
