"""Where pages live, on the host and for arrays of them; `slot_math` has the same for kernels.

Arithmetic on page ids that are known to be in range. Nothing here looks at which pages are free.
Serves [[RFC-0001:C-OWNER-LANE-LAYOUT]].
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ownerlanes.reference.contract import LaneLayout

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


def places_of(pages: Integers, layout: LaneLayout) -> tuple[Integers, Integers]:
    """The lane and the local page of each page of a layout."""
    if layout.placement == "interleaved":
        local_pages, lanes = np.divmod(pages, layout.num_lanes)
    else:
        lanes, local_pages = np.divmod(pages, max(layout.pages_per_lane, 1))
    return lanes, local_pages


def count_by_lane(lanes: Integers, layout: LaneLayout) -> list[int]:
    """How often each lane of the layout is named."""
    return np.bincount(lanes, minlength=layout.num_lanes).tolist()  # type: ignore[no-any-return]
