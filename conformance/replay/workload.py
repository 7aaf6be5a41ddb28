"""From a trace's requests to what a scheduler handles: prompt lengths and content keys of pages.

A key names the content of one whole page and everything before it, so that a prefix cache may
share the page. Only pages that the prompt fills have one; nothing here allocates or caches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ownerlanes.conformance.traces import BLOCK_TOKENS, TraceRequest


@dataclass(frozen=True)
class Prompt:
    """The input of one request; its output is not placed.

    Attributes:
        index: the request's number in the trace, from 0.
        tokens: prompt tokens.
        keys: one for each page that the prompt fills; empty when the trace knows no content.
    """

    index: int
    tokens: int
    keys: tuple[int, ...]


def prompts_of(
    trace: Sequence[TraceRequest], page_size: int, *, reuse: bool, whole_blocks: bool = False
) -> list[Prompt]:
    """The prompts of a trace, in order.

    Args:
        trace: the requests.
        page_size: tokens a page.
        reuse: whether pages have keys, where the trace knows any content.
        whole_blocks: round prompts with hash ids up to whole blocks of 512 tokens, so that every
            block counts the same and a prompt's last page is full as well.
    """
    prompts = []
    for index, request in enumerate(trace):
        tokens = request.input_length
        if whole_blocks and request.hash_ids:
            tokens = len(request.hash_ids) * BLOCK_TOKENS
        keys = page_keys(request.hash_ids, tokens, page_size) if reuse else ()
        prompts.append(Prompt(index, tokens, keys))
    return prompts


def page_keys(hash_ids: Sequence[int], tokens: int, page_size: int) -> tuple[int, ...]:
    """The key of each page that `tokens` tokens fill.

    A block of 512 tokens becomes 512 / page_size keys: the block's id and which of its pages. A
    page of any other size is named by the block that its last token lies in, whose id vouches for
    all tokens before it. Where a page crosses blocks this may miss a page that could be shared;
    it never shares one that differs.
    """
    if not hash_ids:
        return ()
    keys_a_block = -(-BLOCK_TOKENS // page_size)
    keys = []
    for page in range(tokens // page_size):
        block = ((page + 1) * page_size - 1) // BLOCK_TOKENS
        first_page = block * BLOCK_TOKENS // page_size
        keys.append(hash_ids[block] * keys_a_block + page - first_page)
    return tuple(keys)
