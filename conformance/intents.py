"""What a generated history means to do, before it is known which pages there will be.

Intents are small frozen data that Hypothesis draws and shrinks: they name earlier allocations by
index and sizes by unit, so that every intent makes sense in every state and stays valid when
something before it is dropped. The director turns them into steps; nothing here looks at a pool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ownerlanes.conformance.operations import Hook, Through

Carried = Literal["sequence", "own"]


@dataclass(frozen=True)
class Length:
    """New tokens: `count` units and `more` tokens, not below zero.

    A "round" is one page for each of the 2N blocks of a zigzag; "free" is all pages that are free,
    "pool" all that can be.
    """

    unit: Literal["token", "page", "round", "free", "pool"] = "token"
    count: int = 1
    more: int = 0


@dataclass(frozen=True)
class SplitIntent:
    """A split: `number` is its `pad` or `run`, in tokens or, where `in_pages`, in pages.

    For ExplicitOwners: `owners` are repeated as often as needed; `fit` takes exactly what is free
    on every lane, in turn, and `fit` - 1 pages more.
    """

    kind: str = "RoundRobinPages"
    number: int = 0
    in_pages: bool = False
    owners: tuple[int, ...] = (0,)
    fit: int = 0


@dataclass(frozen=True)
class Malformed:
    """One field of a request replaced by something that it must not be; "" the whole request."""

    field: Literal["", "prefix_len", "seq_len", "split", "last_slot", "phase", "owners"]
    value: Any


@dataclass(frozen=True)
class RequestIntent:
    """One request of a batch.

    Attributes:
        source: "new" from position 0; "cached" after `prefix_pages` whole pages of a prefix that is
            cached elsewhere; "chunk" the next tokens of an earlier allocation, `which`, from where
            that one ended, with its split and phase where `follows`.
        length, split: the new tokens, and who computes them.
        phase: rotation, taken modulo the lanes; None leaves the choice.
        indexed: give its integers in a type that only has __index__.
        fault: what is wrong with it, or None.
    """

    source: Literal["new", "cached", "chunk"] = "new"
    which: int = 0
    follows: bool = True
    prefix_pages: int = 0
    length: Length = Length()
    split: SplitIntent = SplitIntent()
    phase: int | None = 0
    indexed: bool = False
    fault: Malformed | None = None


@dataclass(frozen=True)
class EvictIntent:
    """What the evictor is to do, should it be asked.

    Attributes:
        kind: "helps" gives up just the deficit; "generous" some pages of every lane more; "short"
            less than it promised; "refuses" promises less than the deficit; "silent" promises
            and gives nothing up; "bad page" gives up `bad` too; "malformed count" and "malformed
            answer" answer with `bad` as it is.
        order: where in a lane the victims begin.
        through: how pages are given up.
        raises: whether it raises an exception of its own after that.
        calls, during, catches: what it calls back into the allocator; see EvictorScript.
        bad: which page is wrong ("free", "reserved", "beyond", "repeated", "filling"), or a
            malformed answer.
    """

    kind: Literal[
        "helps",
        "generous",
        "short",
        "refuses",
        "silent",
        "bad page",
        "malformed count",
        "malformed answer",
    ] = "helps"
    order: int = 0
    through: Through = "return"
    raises: bool = False
    calls: str | None = None
    during: Hook = "evict"
    catches: bool = False
    bad: Any = None


@dataclass(frozen=True)
class ExtendIntent:
    """A batch to allocate, or only to plan; `pressed` takes all free pages up
    before, where there is an evictor."""

    requests: tuple[RequestIntent, ...]
    evictor: EvictIntent | None = None
    only_plan: bool = False
    pressed: bool = False


@dataclass(frozen=True)
class PagesIntent:
    """alloc_pages: `owners` modulo the lanes; where `fit`, all that is free and fit - 1 more."""

    owners: tuple[int, ...] = ()
    fit: int = 0
    evictor: EvictIntent | None = None
    malformed: Any = None


@dataclass(frozen=True)
class ReleaseIntent:
    """A release of an earlier allocation.

    Attributes:
        which: the allocation, modulo those that are live.
        first, count: a stretch of its slots (or pages); count 0 for all.
        by: slots or pages.
        times: how often each id is named.
        carried: as a plain sequence or in the allocator's own type.
        fault: a page that must not be released, put in after `place` others: one that is
            "free", "reserved", "beyond" the pool or "negative"; None for none.
        place: where in the list it goes.
        malformed: given in place of the list, where not None.
    """

    which: int = 0
    first: int = 0
    count: int = 0
    by: Literal["slots", "pages"] = "pages"
    times: int = 1
    carried: Carried = "sequence"
    fault: Literal["free", "reserved", "beyond", "negative"] | None = None
    place: int = 0
    malformed: Any = None


@dataclass(frozen=True)
class ClearIntent:
    """Everything free again."""


Intent = ExtendIntent | PagesIntent | ReleaseIntent | ClearIntent
