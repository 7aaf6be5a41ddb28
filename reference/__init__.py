"""The specification as a program: nouns, oracle and model cache, standard library only.

Read `contract` for what allocator and caller exchange, `planning` for who owns a page, `pool` for
what the state is, and `allocator` for the order in which things happen. Nothing here is fast and
nothing here is imported by the GPU allocator except the nouns.
"""

from ownerlanes.reference.allocator import ReferenceAllocator
from ownerlanes.reference.cache import LanePrefixCache
from ownerlanes.reference.contract import *  # noqa: F403
from ownerlanes.reference.contract import __all__ as _contract_names
from ownerlanes.reference.planning import page_owners

__all__ = [*_contract_names, "LanePrefixCache", "ReferenceAllocator", "page_owners"]
