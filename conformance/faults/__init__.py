"""The fault catalogue: allocators with one thing wrong each, to see that the kit notices.

Every fault is a candidate like any other, `ownerlanes.conformance.faults:phase_applied_twice`
say, and names the obligation that it breaks. Nothing in the kit knows about them; `hunt` and
`python -m ownerlanes.conformance.faults` run the kit on each.
"""

from __future__ import annotations

from ownerlanes.conformance.faults import (
    batches,
    capacity,
    eviction,
    layouts,
    modest,
    order,
    ownership,
    phases,
    plans,
    release,
    requests,
    selection,
)
from ownerlanes.conformance.faults.planting import Fault

FAULTS: tuple[Fault, ...] = tuple(
    planted
    for module in (
        layouts,
        plans,
        ownership,
        requests,
        phases,
        order,
        batches,
        selection,
        capacity,
        eviction,
        release,
        modest,
    )
    for planted in vars(module).values()
    if isinstance(planted, Fault)
)
"""The catalogue: by the clauses of the RFC, then those of candidates that claim less."""

globals().update({fault.name: fault for fault in FAULTS})
