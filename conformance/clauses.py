"""How a test says which obligation of the RFC it gives evidence for.

The ids are checked by `ownerlanes rfc check`; nothing here knows which of them exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., Any])


def clause(*ids: str) -> Callable[[Test], Test]:
    """Cite obligations, such as "RFC-0001:C-FLATTENED-ORDER/2", or whole clauses without the /n."""
    return pytest.mark.clause(*ids)
