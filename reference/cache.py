"""LanePrefixCache: a model of the prefix cache that gives pages up by owner lane.

A trie of pages by content key, written to be checked by eye: evicting lists every node, sorts the
list and walks it. It holds page ids only, never sees which pages an allocator has free, and never
gives up a page that a pin protects. Serves [[RFC-0001:C-LANE-EVICTION]].

The rules, each tagged where it is carried out:

 R1. A node is one page, found by its content key under its parent; a chain of keys from the root
     leads to at most one node, and no page is cached twice. Equal keys hash alike.
 R2. The clock is logical. Each match and each insert stamps its whole path with one new tick;
     peek, pin and unpin stamp nothing.
 R3. insert keeps the nodes that are there, with their pages and phases, and adds one for each key
     that is not. A given page whose key is cached under another page is a duplicate, the caller's
     to release; the same page given again is not.
 R4. insert refuses, before anything changes: a page twice, cached under another chain, reserved
     or out of range; fewer or more pages than keys.
 R5. New nodes carry the phase given, None included; a prefix has the phase of its last node.
 R6. A pin is counted on its prefix's last node. It protects that node and everything above it,
     and nothing below. Empty prefixes are not pinned.
 R7. A prefix is stale as soon as one of its nodes has left, even if its keys are cached anew.
 R8. A node is evictable when no node at or below it is pinned.
 R9. Evicting walks the evictable nodes by stamp ascending, then depth descending, and takes a
     node when its lane still has a deficit: with everything below it, which counts as well.
R10. clear forgets everything, pins included, and gives up every page.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ownerlanes.reference.contract import (
    CachedPrefix,
    InsertResult,
    InvalidArgumentError,
    LaneLayout,
    PinError,
    StalePrefixError,
    as_index,
    index_in,
    shown,
)


@dataclass(eq=False, repr=False)
class PageNode:
    """One cached page (or the root, which has none). Nodes are equal only to themselves."""

    key: Hashable
    page: int
    lane: int
    phase: int | None
    parent: PageNode | None
    depth: int
    children: dict[Hashable, PageNode] = field(default_factory=dict)
    stamp: int = 0
    pins: int = 0


@dataclass(frozen=True, eq=False)
class PrefixOfNodes:
    """The CachedPrefix of this cache: the nodes of a chain, as they were when it was found."""

    cache: LanePrefixCache = field(repr=False)
    nodes: tuple[PageNode, ...] = field(repr=False)

    @property
    def pages(self) -> tuple[int, ...]:
        """Page ids from the root, one for each key."""
        return tuple(node.page for node in self.nodes)

    @property
    def phase(self) -> int | None:
        """The phase that the last page was inserted with; None for an empty prefix."""
        return self.nodes[-1].phase if self.nodes else None

    def __len__(self) -> int:
        return len(self.nodes)


class LanePrefixCache:
    """A prefix cache over the pages of one layout; an Evictor for that layout's allocator.

    Args:
        layout: the pool whose pages are cached.

    Raises:
        InvalidArgumentError: `layout` is not a LaneLayout.
    """

    def __init__(self, layout: LaneLayout) -> None:
        if not isinstance(layout, LaneLayout):
            raise InvalidArgumentError(f"layout: expected a LaneLayout, found {shown(layout)}")
        self.layout = layout
        self._root = PageNode(key=None, page=-1, lane=-1, phase=None, parent=None, depth=0)
        self._nodes: dict[int, PageNode] = {}
        self._clock = 0

    def match(self, keys: Sequence[Hashable]) -> CachedPrefix:
        """The longest cached prefix of `keys`, now the most recently used.

        Raises:
            InvalidArgumentError: `keys` is not a sequence of hashable keys.
        """
        chain = self._chain(_checked_keys(keys))
        self._stamp(chain)
        return PrefixOfNodes(self, chain)

    def peek(self, keys: Sequence[Hashable]) -> CachedPrefix:
        """The longest cached prefix of `keys`, no more recently used than before.

        Raises:
            InvalidArgumentError: `keys` is not a sequence of hashable keys.
        """
        return PrefixOfNodes(self, self._chain(_checked_keys(keys)))

    def insert(
        self, keys: Sequence[Hashable], pages: Sequence[int], phase: int | None = None
    ) -> InsertResult:
        """Cache `pages` under the chain of `keys`, one page a key from the root.

        What is cached belongs to the cache from now on; the duplicates stay the caller's.

        Args:
            keys: content keys from the root; any hashable objects.
            pages: page ids, as many as keys.
            phase: what new nodes carry, for the chain's next chunk; 0 <= phase < num_lanes.

        Raises:
            InvalidArgumentError: see R4; `keys`, `pages` or `phase` is not what it should be.
                Nothing has changed.
        """
        keys = _checked_keys(keys)
        pages = self._checked_pages(pages)
        if len(keys) != len(pages):
            raise InvalidArgumentError(
                f"pages: expected one for each of the {len(keys)} keys, found {len(pages)}"
            )
        if phase is not None:
            phase = index_in(phase, "phase", 0, self.layout.num_lanes)
        cached = self._chain(keys)
        self._check_not_elsewhere(pages, cached)

        chain = list(cached)
        for key, page in zip(keys[len(cached) :], pages[len(cached) :], strict=True):  # R3, R5
            parent = chain[-1] if chain else self._root
            lane = self.layout.lane_of_page(page)
            node = PageNode(key, page, lane, phase, parent, parent.depth + 1)
            parent.children[key] = self._nodes[page] = node
            chain.append(node)
        self._stamp(chain)
        return InsertResult(
            prefix=PrefixOfNodes(self, tuple(chain)),
            duplicates=tuple(
                page for page, node in zip(pages, chain, strict=True) if page != node.page
            ),
        )

    def pin(self, prefix: CachedPrefix) -> None:
        """Protect a prefix from eviction, until as many unpins as pins.

        Raises:
            StalePrefixError: a part of it has left the cache.
            InvalidArgumentError: it is not a prefix of this cache.
        """
        for last in self._nodes_of(prefix)[-1:]:  # R6: none for an empty prefix
            last.pins += 1

    def unpin(self, prefix: CachedPrefix) -> None:
        """Take one pin back.

        Raises:
            PinError: the prefix's last node has no pin.
            StalePrefixError: a part of it has left the cache.
            InvalidArgumentError: it is not a prefix of this cache.
        """
        for last in self._nodes_of(prefix)[-1:]:
            if not last.pins:
                raise PinError(f"unpin: the prefix of {len(prefix)} pages has no pin to take back")
            last.pins -= 1

    def evictable_pages(self) -> tuple[int, ...]:
        """The pages that evict could give up, by lane."""
        return self._by_lane(self._evictable())

    def evict(self, deficit: Sequence[int], /) -> tuple[int, ...]:
        """Give up at least `deficit[lane]` pages of every lane, or all that are evictable.

        Returns:
            The page ids, ascending; the cache has forgotten them.

        Raises:
            InvalidArgumentError: not one count >= 0 for each lane. Nothing has changed.
        """
        short = self._checked_deficit(deficit)
        given_up: list[int] = []
        for node in sorted(self._evictable(), key=lambda node: (node.stamp, -node.depth)):  # R9
            if short[node.lane] > 0 and self._is_cached(node):
                for gone in self._take(node):
                    short[gone.lane] -= 1
                    given_up.append(gone.page)
        return tuple(sorted(given_up))

    def owns(self, page: int) -> bool:
        """Whether a page is cached; False for an id that no page has.

        Raises:
            InvalidArgumentError: `page` is not an integer.
        """
        return as_index(page, "page") in self._nodes

    def pages_by_lane(self) -> tuple[int, ...]:
        """The cached pages, by lane."""
        return self._by_lane(self._nodes.values())

    def clear(self) -> tuple[int, ...]:
        """Forget everything, pins included (R10); the page ids given up, ascending."""
        pages = tuple(sorted(self._nodes))
        self._root.children.clear()
        self._nodes.clear()
        return pages

    def _chain(self, keys: tuple[Hashable, ...]) -> tuple[PageNode, ...]:
        """The nodes that the keys lead to, as far as they are cached (R1)."""
        chain: list[PageNode] = []
        node = self._root
        for key in keys:
            if key not in node.children:
                break
            node = node.children[key]
            chain.append(node)
        return tuple(chain)

    def _stamp(self, chain: Iterable[PageNode]) -> None:
        self._clock += 1  # R2
        for node in chain:
            node.stamp = self._clock

    def _is_cached(self, node: PageNode) -> bool:
        return self._nodes.get(node.page) is node

    def _evictable(self) -> list[PageNode]:
        """Every node but the pinned ones and all that is above them (R8)."""
        protected: set[PageNode] = set()
        for node in self._nodes.values():
            if node.pins:
                protected.update(_upwards(node))
        return [node for node in self._nodes.values() if node not in protected]

    def _take(self, node: PageNode) -> list[PageNode]:
        """Remove a node with everything below it."""
        assert node.parent is not None
        del node.parent.children[node.key]
        going = [node]
        for gone in going:  # grows as it goes
            going.extend(gone.children.values())
            del self._nodes[gone.page]
        return going

    def _by_lane(self, nodes: Iterable[PageNode]) -> tuple[int, ...]:
        counts = [0] * self.layout.num_lanes
        for node in nodes:
            counts[node.lane] += 1
        return tuple(counts)

    def _nodes_of(self, prefix: CachedPrefix) -> tuple[PageNode, ...]:
        if not isinstance(prefix, PrefixOfNodes) or prefix.cache is not self:
            raise InvalidArgumentError(f"prefix: expected one of this cache, found {shown(prefix)}")
        for depth, node in enumerate(prefix.nodes):
            if not self._is_cached(node):  # R7
                raise StalePrefixError(
                    f"prefix: page {node.page}, number {depth} of {len(prefix)}, has left the cache"
                )
        return prefix.nodes

    def _checked_pages(self, pages: Sequence[int]) -> tuple[int, ...]:
        try:
            given = list(pages)
        except TypeError:
            raise InvalidArgumentError(
                f"pages: expected a sequence of page ids, found {shown(pages)}"
            ) from None
        checked: dict[int, None] = {}
        for i, number in enumerate(given):
            page = index_in(number, f"pages[{i}]", 0, self.layout.num_pages)
            if self.layout.local_page(page) < self.layout.reserved_pages:
                raise InvalidArgumentError(f"pages[{i}]: page {page} is reserved")
            if page in checked:
                raise InvalidArgumentError(f"pages[{i}]: page {page} occurs twice")
            checked[page] = None
        return tuple(checked)

    def _check_not_elsewhere(self, pages: tuple[int, ...], cached: tuple[PageNode, ...]) -> None:
        """Refuse pages that are cached, but not where their keys lead (R4)."""
        for i, page in enumerate(pages):
            here = cached[i] if i < len(cached) else None
            if page in self._nodes and self._nodes[page] is not here:
                raise InvalidArgumentError(f"pages[{i}]: page {page} is cached under another key")

    def _checked_deficit(self, deficit: Sequence[int]) -> list[int]:
        lanes = self.layout.num_lanes
        try:
            given = list(deficit)
        except TypeError:
            raise InvalidArgumentError(
                f"deficit: expected a sequence of counts, found {shown(deficit)}"
            ) from None
        counts = [as_index(count, f"deficit[{lane}]") for lane, count in enumerate(given)]
        if len(counts) != lanes or min(counts) < 0:
            raise InvalidArgumentError(
                f"deficit: expected {lanes} counts >= 0, one a lane, found {shown(deficit)}"
            )
        return counts


def _upwards(node: PageNode) -> Iterator[PageNode]:
    """A node and all above it, the root left out."""
    while node.parent is not None:
        yield node
        node = node.parent


def _checked_keys(keys: Sequence[Hashable]) -> tuple[Hashable, ...]:
    try:
        given = tuple(keys)
        hash(given)  # R1: one unhashable key makes the tuple unhashable
    except TypeError as fault:
        raise InvalidArgumentError(
            f"keys: expected a sequence of hashable keys, found {shown(keys)} ({fault})"
        ) from None
    return given
