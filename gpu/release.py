"""Releases, judged and applied on the device in two launches (skeleton, being written)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

from ownerlanes.gpu.state import DeviceState

Ids = Iterable[int] | torch.Tensor | npt.NDArray[np.integer]


class Releases:
    """Interface only; the implementation follows."""

    def __init__(self, state: DeviceState, deferred: bool) -> None:
        self._state = state
        self.pending = False

    def free(self, slots: Ids) -> None:
        """Release the pages that these slots touch."""
        raise NotImplementedError

    def free_pages(self, pages: Ids) -> None:
        """Release these pages."""
        raise NotImplementedError

    def fold(self) -> None:
        """Count pending releases in."""

    def as_pages(self, ids: Ids, kind: Literal["slots", "pages"]) -> npt.NDArray[np.int64]:
        """The distinct pages that ids name."""
        raise NotImplementedError
