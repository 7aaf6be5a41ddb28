"""What a replay is run with, checked before anything is built."""

from __future__ import annotations

from dataclasses import dataclass

from ownerlanes.conformance.replay.splits import SplitName
from ownerlanes.reference.contract import InvalidArgumentError, LaneLayout, index_in


@dataclass(frozen=True)
class ReplaySettings:
    """Pool, plan and scheduler of a replay.

    Attributes:
        layout: the pool.
        split: who computes which token of an extend.
        phase: the phase of every extend; None lets the allocator choose at a request's first
            extend, and its later ones keep that phase.
        follow_chain: with phase None, a request that reuses a prefix starts in the phase that the
            prefix carries instead of having one chosen.
        chunk: most tokens of one extend; whole pages of it are used.
        batch_tokens: a batch takes extends in order while it has at most so many tokens; it always
            takes one.
        in_flight: most requests that hold pages at a time.

    Raises:
        InvalidArgumentError: a value is out of range.
    """

    layout: LaneLayout
    split: SplitName = SplitName.ZIGZAG_PAGES
    phase: int | None = None
    follow_chain: bool = False
    chunk: int = 8_192
    batch_tokens: int = 65_536
    in_flight: int = 16

    def __post_init__(self) -> None:
        if self.phase is not None:
            index_in(self.phase, "phase", 0, self.layout.num_lanes)
        index_in(self.batch_tokens, "batch_tokens", 1, 2**62)
        index_in(self.in_flight, "in_flight", 1, 2**31)
        index_in(self.chunk, "chunk", 1, 2**62)
        if self.chunk < self.layout.page_size:
            raise InvalidArgumentError(
                f"chunk: expected at least one page ({self.layout.page_size} tokens), "
                f"found {self.chunk}"
            )

    @property
    def phase_name(self) -> str:
        """How the command line names the choice of phases: choose, chain or a number."""
        if self.phase is not None:
            return str(self.phase)
        return "chain" if self.follow_chain else "choose"

    @property
    def chunk_tokens(self) -> int:
        """Tokens of an extend that is not a prompt's last: whole pages, so that none is split."""
        return self.chunk // self.layout.page_size * self.layout.page_size
