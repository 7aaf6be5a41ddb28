"""Settings that hold for every test of the repository."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from ownerlanes.conformance.device import prepare_triton

prepare_triton()

# The interpreter's first launch takes longer than any example after it.
settings.register_profile("tests", deadline=None, derandomize=True)
settings.load_profile("tests")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Recorded traces and scenarios beside the repository; skips where there are none."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("no folder `shared` with recorded traces beside the repository")
    return folder
