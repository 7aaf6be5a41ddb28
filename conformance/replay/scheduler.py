"""A simple deterministic scheduler: admits prompts, places them in chunks, and waits for pages.

Requests are admitted in the trace's order up to a limit and each places its prompt (not its
output) in chunks, several requests a batch. One whose prompt is placed keeps its pages until its
place or its pages are needed; the oldest leaves first. Time is logical: no clock is read and
arrival times are ignored, so that a replay is the same on every machine.

When a batch has to wait for pages it is halved, down to the oldest request that still needs some.
For that one, placed requests leave, oldest first; then the youngest are put back in the queue with
all that they held; and once it is alone it starts over without its cached prefix, which may then
be evicted. Still short, it can never fit and is refused. So the oldest request always gets on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ownerlanes.conformance.replay.settings import ReplaySettings
from ownerlanes.conformance.replay.sides import LockStep, Matched, Slots
from ownerlanes.conformance.replay.splits import split_for
from ownerlanes.conformance.replay.tally import Tally
from ownerlanes.conformance.replay.workload import Prompt
from ownerlanes.reference.contract import CapacityWaitError, ExtendAllocation, ExtendRequest

Listener = Callable[[int], None]
NOTHING_CACHED = Matched(pages=(), phase=None, handles=())


def ignore(_: int) -> None:
    """A listener that needs no news."""


@dataclass(eq=False)
class InFlight:
    """A request that holds pages, or is about to.

    Attributes:
        prompt: what it places.
        prefix: the cached prefix that it reuses; pinned while it is in flight.
        placed: tokens that have slots, the reused ones included.
        pages: its own pages in order, behind the prefix's.
        slots: what its extends got, on every side.
        phase: its extends' phase; None until the first one, where the allocator chooses.
    """

    prompt: Prompt
    prefix: Matched
    placed: int
    phase: int | None
    pages: list[int] = field(default_factory=list)
    slots: list[Slots] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether the whole prompt is placed."""
        return self.placed == self.prompt.tokens

    @property
    def held(self) -> tuple[int, ...]:
        """All pages that it relies on."""
        return (*self.prefix.pages, *self.pages)


class Scheduler:
    """One replay of a list of prompts.

    Args:
        sides: what to drive.
        settings: how.
        prompts: the workload, in order.
        tally: where to count what happens.
        left: called with the number of requests that have left so far, whenever one does.
    """

    def __init__(
        self,
        sides: LockStep,
        settings: ReplaySettings,
        prompts: Sequence[Prompt],
        tally: Tally,
        left: Listener = ignore,
    ) -> None:
        self._sides = sides
        self._settings = settings
        self._waiting = deque(prompts)
        self._in_flight: list[InFlight] = []
        self._cold: set[int] = set()
        self._admitting = True
        self._tally = tally
        self._left = left

    def run(self) -> None:
        """Replay until every request has been served or refused.

        Raises:
            DivergedError: the sides differ.
            OwnerLaneError: the oracle refuses an extend for another reason than its pages, so the
                settings do not suit the split.
        """
        while self._waiting or self._in_flight:
            self._admit()
            batch = self._next_batch()
            if batch:
                self._place(batch)
            elif self._in_flight:
                self._serve(self._in_flight[0])

    def _admit(self) -> None:
        """Admit in order; while a batch is not full, served requests make place."""
        while self._waiting and self._admitting:
            if len(self._in_flight) == self._settings.in_flight:
                served = next((request for request in self._in_flight if request.done), None)
                if served is None or self._pending_tokens() >= self._settings.batch_tokens:
                    return
                self._serve(served)
            self._start(self._waiting.popleft())
        self._admitting = self._admitting or not self._in_flight

    def _start(self, prompt: Prompt) -> None:
        if prompt.tokens > self._pool_tokens:
            self._count_refused()
            return
        prefix = NOTHING_CACHED
        if prompt.keys and prompt.index not in self._cold:
            # The last token is always computed, so that the model has something to go on from.
            prefix = self._sides.match(prompt.keys[: self._reusable_pages(prompt)])
            self._sides.pin(prefix)
        reused = len(prefix.pages) * self._settings.layout.page_size
        phase = self._settings.phase
        if phase is None and self._settings.follow_chain:
            phase = prefix.phase
        self._in_flight.append(InFlight(prompt, prefix, reused, phase))

    def _reusable_pages(self, prompt: Prompt) -> int:
        return (prompt.tokens - 1) // self._settings.layout.page_size

    @property
    def _pool_tokens(self) -> int:
        layout = self._settings.layout
        return layout.num_lanes * layout.capacity * layout.page_size

    def _next_chunk(self, request: InFlight) -> int:
        return min(self._settings.chunk_tokens, request.prompt.tokens - request.placed)

    def _pending_tokens(self) -> int:
        return sum(map(self._next_chunk, self._in_flight))

    def _next_batch(self) -> list[InFlight]:
        """The next chunk of each request that needs one, in order, while the batch has room."""
        batch: list[InFlight] = []
        tokens = 0
        for request in self._in_flight:
            if request.done:
                continue
            tokens += self._next_chunk(request)
            if batch and tokens > self._settings.batch_tokens:
                break
            batch.append(request)
        return batch

    def _place(self, batch: list[InFlight]) -> None:
        """Allocate the batch, or as much of it as there are pages for."""
        while batch:
            free_before = self._sides.available_pages()
            try:
                allocation, slots = self._sides.alloc_extend([self._extend(r) for r in batch])
            except CapacityWaitError as wait:
                self._tally.note_wait(wait)
                if len(batch) > 1:
                    batch = batch[: (len(batch) + 1) // 2]
                elif not self._make_room(batch[0], wait):
                    return
            else:
                self._placed(batch, allocation, slots)
                held = [request.held for request in self._in_flight]
                free = self._sides.available_pages()
                self._tally.note_batch(allocation, free_before, free, held)
                return

    def _extend(self, request: InFlight) -> ExtendRequest:
        tokens = self._next_chunk(request)
        return ExtendRequest(
            prefix_len=request.placed,
            seq_len=request.placed + tokens,
            split=split_for(self._settings.split, tokens, self._settings.layout),
            phase=request.phase,
        )

    def _placed(
        self, batch: list[InFlight], allocation: ExtendAllocation, slots: list[Slots]
    ) -> None:
        for request, pages, phase, own in zip(
            batch, allocation.pages, allocation.phases, slots, strict=True
        ):
            request.placed += self._next_chunk(request)
            request.phase = phase
            request.pages.extend(pages)
            request.slots.append(own)

    def _make_room(self, head: InFlight, wait: CapacityWaitError) -> bool:
        """Have somebody give pages up for `head`; False when it has left itself."""
        others = [request for request in self._in_flight if request is not head]
        served = next((request for request in others if request.done), None)
        if not wait.can_wait:
            self._refuse(head)
        elif served is not None:
            self._serve(served)
            return True
        elif others:
            self._requeue(others[-1])
            return True
        elif head.prompt.index in self._cold:
            self._refuse(head)
        else:
            self._cold.add(head.prompt.index)
            self._requeue(head)
        return False

    def _serve(self, request: InFlight) -> None:
        """Let a placed request leave: what can be shared goes to the cache, the rest is free."""
        keys = request.prompt.keys
        if keys:
            held = request.held
            duplicates = self._sides.insert(keys, held[: len(keys)], request.phase)
            self._unpin(request)
            self._free_pages([*duplicates, *held[len(keys) :]])
        else:
            for slots in request.slots:
                self._sides.free(slots)
        reused = len(request.prefix.pages) * self._settings.layout.page_size
        self._tally.note_served(request.prompt, reused)
        self._in_flight.remove(request)
        self._admitting = True
        self._left(self._tally.requests_left)

    def _refuse(self, request: InFlight) -> None:
        """Turn away a request that is short even alone."""
        self._give_up(request)
        self._count_refused()

    def _count_refused(self) -> None:
        self._tally.infeasible += 1
        self._admitting = True
        self._left(self._tally.requests_left)

    def _requeue(self, request: InFlight) -> None:
        """Put a request back at the head of the queue; nobody is admitted until one has left."""
        self._give_up(request)
        self._waiting.appendleft(request.prompt)
        self._tally.requeued += 1
        self._admitting = False

    def _give_up(self, request: InFlight) -> None:
        self._in_flight.remove(request)
        self._unpin(request)
        self._free_pages(request.pages)

    def _unpin(self, request: InFlight) -> None:
        if request.prefix.handles:
            self._sides.unpin(request.prefix)

    def _free_pages(self, pages: Sequence[int]) -> None:
        if pages:
            self._sides.free_pages(pages)
