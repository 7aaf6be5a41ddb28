"""An evictor that does what a script says and remembers how it was asked.

It serves oracle and candidate alike, one instance each, so that the two conversations can be
compared. It never decides anything: what it gives up was written down before the step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ownerlanes.conformance.operations import EvictorScript, Hook
from ownerlanes.reference.contract import LaneLayout

CALLABLE_BACK: dict[str, Callable[[Any], Any]] = {
    "alloc_extend": lambda allocator: allocator.alloc_extend([]),
    "plan_extend": lambda allocator: allocator.plan_extend([]),
    "alloc_pages": lambda allocator: allocator.alloc_pages([]),
    "available_pages": lambda allocator: allocator.available_pages(),
    "snapshot": lambda allocator: allocator.snapshot(),
    "digest": lambda allocator: allocator.digest(),
    "clear": lambda allocator: allocator.clear(),
    "free": lambda allocator: allocator.free([]),
    "free_pages": lambda allocator: allocator.free_pages([]),
}
"""The calls that a script can make back into the allocator, each as harmless as it can be."""


class ScriptedFailureError(Exception):
    """The evictor's own failure, as a script asked for; no error of the contract."""


class ScriptedEvictor:
    """Follows the script of the step at hand; without one it has nothing to give.

    Attributes:
        allocator: whom it calls back; set once it exists.
        script: what to do in this step, or None.
        calls: what was asked, in order: ("evictable_pages",), ("evict", deficit), and what came
            of a call back, ("called back", method, name of the error or None).
        raised: the last exception of its own that it raised, for "propagates unchanged".
    """

    def __init__(self, layout: LaneLayout) -> None:
        self._lanes = layout.num_lanes
        self._page_size = layout.page_size
        self.allocator: Any = None
        self.script: EvictorScript | None = None
        self.calls: list[tuple[Any, ...]] = []
        self.raised: ScriptedFailureError | None = None

    def begin(self, script: EvictorScript | None) -> None:
        """Start a step: take its script and forget the calls of the one before."""
        self.script, self.calls, self.raised = script, [], None

    def evictable_pages(self) -> Any:
        """The script's counts by lane."""
        self.calls.append(("evictable_pages",))
        if self.script is None:
            return (0,) * self._lanes
        self._call_back(self.script, "evictable_pages")
        return self.script.evictable

    def evict(self, deficit: Any, /) -> Any:
        """Give up the script's pages in the script's way."""
        self.calls.append(("evict", deficit))
        script = self.script
        if script is None:
            return ()
        self._call_back(script, "evict")
        if script.through == "free":
            self.allocator.free([page * self._page_size for page in script.gives])
        elif script.through == "free_pages":
            self.allocator.free_pages(list(script.gives))
        if script.raises is not None:
            self.raised = ScriptedFailureError(script.raises)
            raise self.raised
        return script.gives if script.through == "return" else None

    def _call_back(self, script: EvictorScript, during: Hook) -> None:
        if script.calls is None or script.during != during:
            return
        try:
            CALLABLE_BACK[script.calls](self.allocator)
        except Exception as error:
            self.calls.append(("called back", script.calls, type(error).__name__))
            if not script.catches:
                raise
        else:
            self.calls.append(("called back", script.calls, None))

    @property
    def evictions(self) -> list[tuple[Any, ...]]:
        """The calls but evictable_pages(): what oracle and candidate must agree on."""
        return [call for call in self.calls if call[0] != "evictable_pages"]

    @property
    def times_counted(self) -> int:
        """How often evictable_pages() was asked."""
        return sum(call[0] == "evictable_pages" for call in self.calls)
