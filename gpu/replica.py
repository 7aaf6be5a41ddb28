"""ReplicaGuard: do all ranks of a group still hold the same allocator state?

Ranks that allocate independently agree as long as they made the same calls; the guard compares
their digests and says who went astray. It sends 32 bytes a rank, repairs nothing, and never
decides which rank is right. Serves [[RFC-0001:C-REPLICA-DETERMINISM]].
"""

from __future__ import annotations

from typing import Protocol

import torch
import torch.distributed as dist

from ownerlanes.reference.contract import InvalidArgumentError, ReplicaDivergedError

DIGEST_BYTES = 32
NO_DIGEST = bytes(DIGEST_BYTES)
"""What a rank sends whose own digest() raised, so that the others need not wait for it."""


class Digested(Protocol):
    """Any allocator, as far as the guard looks at it."""

    def digest(self) -> str:
        """The whole state in 64 hex digits."""


class ReplicaGuard:
    """Compares the state of one allocator with its replicas' on the other ranks of a group.

    Args:
        allocator: this rank's.
        group: the process group whose ranks hold the replicas; None is the default group.
    """

    def __init__(self, allocator: Digested, group: dist.ProcessGroup | None = None) -> None:
        self._allocator = allocator
        self._group = group

    def check(self) -> None:
        """Compare the states; every rank of the group has to call it, and gets the same answer.

        Raises:
            ReplicaDivergedError: on every rank, when some states differ. `ranks` are the global
                ranks whose digest is not that of the group's lowest rank; the state of a rank
                whose own digest() raised differs from every other.
            InvalidArgumentError: this process is not a member of the group.
            Exception: whatever digest() raised on this rank, after the others were told.
        """
        if dist.get_rank(self._group) < 0:
            raise InvalidArgumentError("group: expected one of which this process is a member")
        try:
            own = bytes.fromhex(self._allocator.digest())
        except Exception:
            self._gather(NO_DIGEST)
            raise
        digests = self._gather(own)
        lowest = digests[min(digests)]
        diverged = sorted(rank for rank, digest in digests.items() if digest != lowest)
        if diverged:
            raise ReplicaDivergedError(ranks=diverged)

    def _gather(self, own: bytes) -> dict[int, bytes]:
        """The digest of each rank, by global rank."""
        device = "cpu" if "cpu:" in dist.get_backend_config(self._group) else "cuda"
        sent = torch.tensor(list(own), dtype=torch.uint8, device=device)
        received = torch.empty(
            (dist.get_world_size(self._group), DIGEST_BYTES), dtype=torch.uint8, device=device
        )
        dist.all_gather(list(received), sent, group=self._group)
        group = self._group or dist.group.WORLD
        ranks = dist.get_process_group_ranks(group)
        return dict(zip(ranks, map(bytes, received.tolist()), strict=True))
