"""Splits by the names that the command line has for them.

A split is one per extend; padding that makes a token split plannable depends on how many tokens
the extend has, so it is worked out here for each extend. Nothing here plans or places anything.
"""

from __future__ import annotations

from enum import StrEnum

from ownerlanes.reference.contract import (
    ContiguousPages,
    LaneLayout,
    RoundRobinPages,
    RoundRobinTokens,
    Split,
    ZigzagPages,
    ZigzagTokens,
)


class SplitName(StrEnum):
    """Splits whose owners follow from the extend alone."""

    ZIGZAG_PAGES = "zigzag-pages"
    ZIGZAG_TOKENS = "zigzag-tokens"
    CONTIGUOUS_PAGES = "contiguous-pages"
    ROUND_ROBIN_PAGES = "round-robin-pages"
    ROUND_ROBIN_TOKENS = "round-robin-tokens"


def split_for(name: SplitName, tokens: int, layout: LaneLayout) -> Split:
    """The split of an extend of so many tokens that begins at a page's first token.

    Token splits get what keeps each page with one owner: ZigzagTokens is padded to whole pages in
    each of its 2N blocks, RoundRobinTokens runs over one page.
    """
    match name:
        case SplitName.ZIGZAG_PAGES:
            return ZigzagPages()
        case SplitName.ZIGZAG_TOKENS:
            return ZigzagTokens(pad=-tokens % (2 * layout.num_lanes * layout.page_size))
        case SplitName.CONTIGUOUS_PAGES:
            return ContiguousPages()
        case SplitName.ROUND_ROBIN_PAGES:
            return RoundRobinPages()
        case SplitName.ROUND_ROBIN_TOKENS:
            return RoundRobinTokens(run=layout.page_size)
