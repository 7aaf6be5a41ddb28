"""The Triton allocator and what engines call, next to the nouns and errors of the contract.

Set TRITON_INTERPRET=1 before the first import where there is no GPU. `lane_of_slot`,
`local_slot` and `page_of_slot` are Triton device functions for engines' own kernels.
"""

from ownerlanes.gpu.allocation import TensorExtendAllocation
from ownerlanes.gpu.allocator import TritonAllocator
from ownerlanes.gpu.cache import LanePrefixCache
from ownerlanes.gpu.direct_writes import direct_write
from ownerlanes.gpu.replica import ReplicaGuard
from ownerlanes.gpu.slot_math import lane_of_slot, layout_constants, local_slot, page_of_slot
from ownerlanes.reference.contract import *  # noqa: F403
from ownerlanes.reference.contract import __all__ as _contract_names

__all__ = [
    *_contract_names,
    "LanePrefixCache",
    "ReplicaGuard",
    "TensorExtendAllocation",
    "TritonAllocator",
    "direct_write",
    "lane_of_slot",
    "layout_constants",
    "local_slot",
    "page_of_slot",
]
