"""The session's candidate is put back after each test that sets it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ownerlanes.conformance import session
from ownerlanes.conformance.protocol import Candidate, candidate_from


@pytest.fixture
def check_candidate() -> Iterator[Callable[..., Candidate]]:
    """Call it with a factory to make that the session's candidate."""
    before = session.current()

    def use(factory: object, name: str = "tests:make") -> Candidate:
        candidate = candidate_from(factory, name)
        session.use(candidate)
        return candidate

    yield use
    session.use(before)
