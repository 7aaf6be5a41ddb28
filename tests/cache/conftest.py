"""Every test of the contract runs on both caches; nothing here compares them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ownerlanes import gpu, reference

MakeCache = Callable[[reference.LaneLayout], Any]


@pytest.fixture(params=[reference.LanePrefixCache, gpu.LanePrefixCache], ids=["reference", "gpu"])
def make_cache(request: pytest.FixtureRequest) -> MakeCache:
    """The class under test."""
    make: MakeCache = request.param
    return make
