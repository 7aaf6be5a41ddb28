"""What the emitted histories are about: mixtures of splits, lengths, pressure and faults.

Each theme is data and becomes one file of vectors. Nothing here draws a choice or knows what the
right answers are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ownerlanes.conformance.intents import Length
from ownerlanes.conformance.operations import SPLIT_KINDS
from ownerlanes.reference.contract import LaneLayout, Placement

KINDS = tuple(SPLIT_KINDS)
Mixture = tuple[str, ...]


@dataclass(frozen=True)
class Theme:
    """A mixture of intents.

    Attributes:
        name: of the file, and the first part of the ids.
        about: one line.
        splits: kinds that requests have.
        layouts: layouts of the histories, in turn.
        steps: intents a history.
        requests: most requests a batch.
        sources: where requests begin; one that is named twice is drawn twice as often.
        strays: percentage of chunks that do not follow their chain's split, phase and lane.
        phases: "zero", "any", "open" or "both".
        uneven: percentage of splits with a `pad` or `run` that is no multiple of the page.
        evictor: what evictors do; empty for none.
        faults: percentage of requests, lists and releases that are malformed or wrong.
        kinds: kinds of steps: "extend", "plan", "pages", "release", "clear".
        full: percentage of requests that take about all that is free.
        filled: begin by taking every page.
        lengths: of the new tokens.
        numbers: of splits: `pad`, or `run` where that is above 0.
        weight: how many histories there are for one of other themes.
    """

    name: str
    about: str
    splits: Mixture = KINDS
    layouts: tuple[LaneLayout, ...] = ()
    steps: int = 6
    requests: int = 2
    sources: Mixture = ("new", "new", "cached")
    strays: int = 0
    phases: str = "any"
    uneven: int = 0
    evictor: Mixture = ()
    faults: int = 0
    kinds: Mixture = ("extend", "extend", "extend", "release")
    full: int = 0
    filled: bool = False
    numbers: tuple[int, ...] = (0, 0, 1, 2)
    weight: int = 1
    lengths: tuple[Length, ...] = (
        *(Length("page", count) for count in (1, 2, 3, 5, 6, 7)),
        Length("round"),
    )


def layouts(
    lanes: tuple[int, ...], sizes: tuple[int, ...], capacity: Callable[[int], int]
) -> tuple[LaneLayout, ...]:
    """Layouts of these lanes and page sizes, both placements and 0 to 2 reserved pages mixed in."""
    placements: tuple[Placement, Placement] = ("interleaved", "blocked")
    made = []
    for a, num_lanes in enumerate(lanes):
        for b, page_size in enumerate(sizes):
            reserved = (1, 0, 1, 2)[(a + 2 * b) % 4]
            pages = capacity(num_lanes) + reserved
            made.append(LaneLayout(num_lanes, page_size, pages, placements[(a + b) % 2], reserved))
    return tuple(made)


ROOMY = layouts((2, 1, 3, 4, 8), (4, 1, 8), lambda lanes: 16 if lanes < 3 else 8)
TIGHT = layouts((2, 3, 1, 4), (2, 1, 4), lambda _: 3)
WIDE = (
    LaneLayout(2, 2**40, 4),
    LaneLayout(3, 2**29, 5, "blocked"),
    LaneLayout(2, 2**59, 3, "blocked", 0),
    LaneLayout(1, 2**33, 4),
)
STRIDE = 7
"""Prime to every number of layouts, so that a few histories see lanes and page sizes mixed."""

THEMES: tuple[Theme, ...] = (
    *(
        Theme(f"split-{kind}", f"requests split by {kind}, whole pages", (kind,), ROOMY)
        for kind in KINDS
    ),
    Theme(
        "batch",
        "several requests, mixed splits, dry runs",
        layouts=ROOMY,
        requests=4,
        uneven=30,
        kinds=("extend", "extend", "plan", "release"),
    ),
    Theme(
        "chunk",
        "prefixes that end inside a page",
        weight=2,
        layouts=ROOMY,
        requests=3,
        steps=8,
        sources=("chunk", "chunk", "new"),
        strays=15,
        kinds=("extend", "extend", "extend", "plan", "release"),
        lengths=(Length("page", 1, 1), Length("token", 3), Length("page", 2, -1), Length()),
    ),
    Theme(
        "phase",
        "phases left to the allocator",
        weight=2,
        layouts=(*ROOMY, *TIGHT),
        requests=3,
        phases="both",
        kinds=("extend", "extend", "plan", "release"),
        full=10,
    ),
    Theme(
        "unsupported",
        "plans that put two lanes on one page",
        splits=("ZigzagTokens", "RoundRobinTokens", "ExplicitOwners"),
        layouts=ROOMY,
        requests=3,
        uneven=60,
        strays=60,
        sources=("chunk", "new"),
        phases="both",
        kinds=("extend", "extend", "extend", "plan"),
    ),
    Theme(
        "malformed",
        "malformed requests, batches and lists",
        weight=4,
        layouts=ROOMY,
        requests=3,
        faults=30,
        strays=40,
        sources=("chunk", "chunk", "new", "cached"),
        phases="both",
        kinds=("extend", "extend", "plan", "pages", "release"),
    ),
    Theme(
        "capacity",
        "lanes that are short, exact fits",
        weight=2,
        layouts=TIGHT,
        requests=3,
        full=25,
        phases="both",
        kinds=("extend", "extend", "plan", "pages", "release"),
    ),
    Theme(
        "eviction",
        "an evictor that helps, or not enough",
        layouts=TIGHT,
        evictor=("helps", "helps", "generous", "short", "refuses", "silent"),
        weight=3,
        filled=True,
        phases="both",
        sources=("new", "chunk", "cached"),
        lengths=(Length("page", 1), Length("page", 2), Length("token", 3)),
        kinds=("extend", "extend", "extend", "pages", "plan", "release"),
    ),
    Theme(
        "evictor-fault",
        "an evictor that breaks its contract",
        layouts=TIGHT,
        evictor=(
            *("bad page", "bad page", "calls", "calls"),
            *("malformed count", "malformed answer", "raises"),
        ),
        weight=4,
        filled=True,
        sources=("new", "chunk"),
        lengths=(Length("page", 1), Length("page", 2), Length("token", 3)),
        kinds=("extend", "extend", "extend", "pages", "clear"),
    ),
    Theme(
        "release",
        "releases: twice, or of what is free, reserved or no page",
        layouts=ROOMY,
        requests=1,
        faults=50,
        kinds=("extend", "release", "release", "clear"),
    ),
    Theme(
        "pages",
        "pages by lane, without tokens",
        layouts=(*TIGHT, *ROOMY),
        kinds=("pages", "pages", "pages", "release", "clear"),
        faults=12,
        full=15,
    ),
    Theme(
        "wide",
        "slots and positions that need 64 bits",
        splits=("RoundRobinPages", "ZigzagPages", "ExplicitOwners", "ContiguousPages"),
        layouts=WIDE,
        numbers=(0, 1, 2**31 - 1, 2**31 - 1),
        weight=2,
        steps=5,
        sources=("new", "cached", "chunk"),
        lengths=(Length("token", 3), Length("token", 7)),
    ),
)
