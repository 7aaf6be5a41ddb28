"""The Triton allocator and what engines call, next to the nouns and errors of the contract."""

from ownerlanes.gpu.allocation import TensorExtendAllocation
from ownerlanes.gpu.allocator import TritonAllocator
from ownerlanes.reference.contract import *  # noqa: F403
from ownerlanes.reference.contract import __all__ as _contract_names

__all__ = [*_contract_names, "TensorExtendAllocation", "TritonAllocator"]
