"""An engine behind a pipe, as an allocator like any other.

Every method is one line out and one line in; the names and forms are those of the vectors. The
evictor's part of a step goes along as data, and the engine tells how its allocator asked. Nothing
here judges an answer or knows what is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from ownerlanes.conformance.evictors import ScriptedEvictor, ScriptedFailureError
from ownerlanes.conformance.operations import (
    AllocExtend,
    AllocPages,
    Clear,
    Free,
    FreePages,
    PlanExtend,
    Step,
    layout_to_json,
    step_to_json,
)
from ownerlanes.conformance.protocol import Candidate, CouldNotRunError, capabilities_from
from ownerlanes.conformance.vectors.codec import (
    calls_from_json,
    error_from_json,
    reported_result,
)
from ownerlanes.conformance.vectors.pipe import Engine, EngineLostError
from ownerlanes.conformance.vectors.record import plain
from ownerlanes.conformance.vectors.store import FORMAT, VERSION
from ownerlanes.reference.contract import LaneLayout, PoolSnapshot


def remote_candidate(engine: Engine) -> Candidate:
    """The candidate that an engine is, with the capabilities of its answer to `hello`.

    Raises:
        CouldNotRunError: it does not greet as docs/vectors.md says.
        EngineLostError: it cannot be asked.
    """
    answer = engine.ask({"op": "hello", "format": FORMAT, "version": VERSION})
    told = answer.get("result")
    if not isinstance(told, Mapping) or not isinstance(told.get("name"), str):
        raise CouldNotRunError(
            f"{engine.command!r}: expected an answer to hello such as "
            f'{{"result":{{"name":"my engine","capabilities":{{}}}}}}, found {answer!r}'
        )
    claims = capabilities_from(told.get("capabilities"), told["name"])

    def make(layout: LaneLayout, evictor: Any = None) -> RemoteAllocator:
        return RemoteAllocator(engine, layout, evictor)

    return Candidate(told["name"], make, claims)


class RemoteAllocator:
    """The allocator in the engine's process; a new one takes the place of the last.

    Args:
        engine: whom to ask.
        layout: its layout.
        evictor: its evictor, one that follows scripts, or None.
    """

    def __init__(
        self, engine: Engine, layout: LaneLayout, evictor: ScriptedEvictor | None = None
    ) -> None:
        self._engine = engine
        self._layout = layout
        self._evictor = evictor
        self._ask({"op": "new", "layout": layout_to_json(layout), "evictor": evictor is not None})

    def alloc_extend(self, requests: Any) -> Any:
        """Pages and slots for a batch."""
        return reported_result(self._step(AllocExtend(_data(requests))))

    def plan_extend(self, requests: Any) -> Any:
        """The dry run."""
        return reported_result(self._step(PlanExtend(_data(requests))))

    def alloc_pages(self, owners: Any) -> Any:
        """One new page on each named lane."""
        return self._step(AllocPages(_data(owners)))

    def free(self, slots: Any) -> None:
        """Release every page that the slots touch."""
        self._step(Free(_data(slots)))

    def free_pages(self, pages: Any) -> None:
        """Release these pages."""
        self._step(FreePages(_data(pages)))

    def clear(self) -> None:
        """Make every page free that is not reserved."""
        self._step(Clear())

    def available_pages(self) -> Any:
        """The free pages, by lane."""
        return self._ask({"op": "available_pages"})

    def digest(self) -> Any:
        """The state in 64 hex digits."""
        return self._ask({"op": "digest"})

    def snapshot(self) -> Any:
        """The free local pages of each lane; any other answer is left for the comparison."""
        free = self._ask({"op": "snapshot"})
        if isinstance(free, list) and all(isinstance(pages, list) for pages in free):
            return PoolSnapshot(self._layout, tuple(tuple(pages) for pages in free))
        return SimpleNamespace(layout=self._layout, free=free)

    def _step(self, step: Step) -> Any:
        question = step_to_json(step)
        if self._evictor is not None and self._evictor.script is not None:
            script = plain(self._evictor.script)
            question["evictor"] = step_to_json(AllocPages((), script))["evictor"]
        return self._ask(question)

    def _ask(self, question: Mapping[str, Any]) -> Any:
        """The result; an error that the engine tells is raised here.

        Raises:
            EngineLostError: no answer, or one with neither result nor error.
        """
        answer = self._engine.ask(question)
        if self._evictor is not None and "evictor" in answer:
            try:
                self._evictor.calls.extend(calls_from_json(answer["evictor"]))
            except ValueError as fault:
                raise EngineLostError(f"{self._engine.command!r}: {fault}") from None
        if "error" not in answer:
            if "result" not in answer:
                raise EngineLostError(
                    f"{self._engine.command!r}: expected `result` or `error` in the answer to "
                    f"{question['op']}, found {str(answer)[:200]}"
                )
            return answer["result"]
        raise self._error(answer["error"])

    def _error(self, told: Any) -> Exception:
        error = error_from_json(
            told if isinstance(told, Mapping) else {"type": told}, reported=True
        )
        if isinstance(error, ScriptedFailureError) and self._evictor is not None:
            script = self._evictor.script
            if script is not None and script.raises == str(error):
                self._evictor.raised = error
        return error


def _data(value: Any) -> Any:
    """An argument as steps hold it: sequences as tuples of plain values."""
    return (
        plain(tuple(value)) if isinstance(value, Sequence) and not isinstance(value, str) else value
    )
