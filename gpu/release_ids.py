"""What a release may be given: ids as a tensor, an array, or any sequence of integers.

These checks look at types, shapes and devices and bring the ids into one of two forms; whether
the pages exist or are allocated is judged later. Nothing here launches a kernel or reads a
device tensor. Serves [[RFC-0001:C-RELEASE]].
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import torch

from ownerlanes.reference.contract import InvalidArgumentError, InvalidFreeError, as_index, shown

Ids = Iterable[int] | torch.Tensor | npt.NDArray[np.integer]
"""Slots or pages: a 1-D contiguous integer tensor, a 1-D integer array, or integers in a row."""

INTEGER_DTYPES = frozenset(
    {
        torch.int64,
        torch.int32,
        torch.int16,
        torch.int8,
        torch.uint8,
        torch.uint16,
        torch.uint32,
        torch.uint64,
    }
)


def checked_ids(ids: Ids, name: str, device: torch.device) -> torch.Tensor:
    """The ids as a 1-D integer tensor: the given one, or int64 on the CPU.

    Raises:
        InvalidFreeError: not a tensor, array or sequence of integers as promised; the message
            says which argument, what was found and what was expected.
    """
    if isinstance(ids, torch.Tensor):
        fault = tensor_fault(ids, device)
        if fault:
            raise InvalidFreeError(f"{name}: {fault}")
        return ids
    if isinstance(ids, np.ndarray):
        return torch.from_numpy(_checked_array(ids, name))
    return torch.from_numpy(_from_sequence(ids, name))


def tensor_fault(ids: torch.Tensor, device: torch.device) -> str | None:
    """What is wrong with a tensor of ids for kernels on `device`, or None."""
    if ids.dtype not in INTEGER_DTYPES:
        return f"expected a tensor of integers, found {ids.dtype}"
    if ids.layout is not torch.strided or ids.dim() != 1:
        return f"expected a dense tensor of one dimension, found {ids.layout} {tuple(ids.shape)}"
    if not ids.is_contiguous():
        return f"expected a contiguous tensor, found stride {ids.stride(0)}"
    if ids.device not in (device, torch.device("cpu")):
        return f"expected a tensor on the CPU or {device}, found one on {ids.device}"
    return None


def _checked_array(ids: npt.NDArray[np.integer], name: str) -> npt.NDArray[np.int64]:
    if ids.dtype.kind not in "iu" or ids.ndim != 1:
        raise InvalidFreeError(
            f"{name}: expected an array of integers of one dimension, found {ids.dtype} {ids.shape}"
        )
    if ids.dtype == np.uint64 and ids.size and int(ids.max()) >= 2**63:
        raise InvalidFreeError(_beyond(name, int(ids.max())))
    return np.array(ids, dtype=np.int64)


def integers(ids: Iterable[int], name: str) -> list[int]:
    """The ids of a host sequence, of whatever size.

    Raises:
        InvalidFreeError: not a sequence of integers.
    """
    try:
        given = list(ids)
    except TypeError:
        raise InvalidFreeError(f"{name}: expected a sequence of ids, found {shown(ids)}") from None
    if set(map(type, given)) - {int}:
        given = [_checked_id(value, name, i) for i, value in enumerate(given)]
    return given


def _from_sequence(ids: Iterable[int], name: str) -> npt.NDArray[np.int64]:
    given = integers(ids, name)
    try:
        return np.array(given, dtype=np.int64)
    except OverflowError:
        beyond = next(value for value in given if not -(2**63) <= value < 2**63)
        raise InvalidFreeError(_beyond(name, beyond)) from None


def _checked_id(value: object, name: str, place: int) -> int:
    try:
        return as_index(value, f"{name}[{place}]")
    except InvalidArgumentError as fault:
        raise InvalidFreeError(str(fault)) from None


def _beyond(name: str, value: int) -> str:
    return f"{name}: expected ids that are int64, found {shown(value)}; nothing was released"
