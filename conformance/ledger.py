"""Known failures of a candidate, in a TOML file of its own that cannot rot.

Every entry names a clause or an obligation, a reason and a reference. The ledger is strict: an
entry that passes, or that nothing matches, fails the run just as a failure without entry does.

    [[known]]
    id = "RFC-0001:C-RELEASE/4"
    reason = "double releases are only caught in debug builds"
    reference = "https://example.org/issues/12"
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ownerlanes.conformance.protocol import CouldNotRunError
from ownerlanes.rfcs.obligations import Rfc, RfcError

FIELDS = ("id", "reason", "reference")


@dataclass(frozen=True)
class KnownFailure:
    """One entry; `id` is that of a clause or an obligation."""

    id: str
    reason: str
    reference: str

    def covers(self, obligation: str) -> bool:
        """Whether the entry speaks of this obligation."""
        return obligation == self.id or obligation.startswith(f"{self.id}/")


def load_ledger(path: Path, rfc: Rfc) -> tuple[KnownFailure, ...]:
    """Read a ledger.

    Raises:
        CouldNotRunError: it is missing, not TOML, or an entry lacks a field or names no clause.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CouldNotRunError(f"--known-failures: {path} does not exist") from None
    except tomllib.TOMLDecodeError as fault:
        raise CouldNotRunError(f"--known-failures: {path} is not TOML: {fault}") from None
    entries = raw.get("known")
    if not isinstance(entries, list) or set(raw) != {"known"}:
        raise CouldNotRunError(f"--known-failures: {path}: expected [[known]] entries and no more")
    return tuple(_entry(entry, f"{path}: entry {at}", rfc) for at, entry in enumerate(entries, 1))


def _entry(entry: Mapping[str, Any], where: str, rfc: Rfc) -> KnownFailure:
    if set(entry) != set(FIELDS) or not all(
        isinstance(value, str) and value.strip() for value in entry.values()
    ):
        raise CouldNotRunError(
            f"--known-failures: {where}: expected the texts {', '.join(FIELDS)}, "
            f"found {dict(entry)}"
        )
    try:
        return KnownFailure(rfc.find(entry["id"]).id, entry["reason"], entry["reference"])
    except RfcError as fault:
        raise CouldNotRunError(f"--known-failures: {where}: {fault}") from None


def complaints(
    known: Iterable[KnownFailure], statuses: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """What the ledger does not excuse, and what is wrong with the ledger itself.

    Args:
        known: the entries.
        statuses: of each obligation, by id: passed, failed, not claimed or not run.

    Returns:
        The ids of failed obligations without an entry, and a line for each entry at fault.
    """
    entries = list(known)
    unknown = [
        obligation
        for obligation, status in statuses.items()
        if status == "failed" and not any(entry.covers(obligation) for entry in entries)
    ]
    wrong = []
    for entry in entries:
        found = [status for obligation, status in statuses.items() if entry.covers(obligation)]
        if "failed" in found:
            continue
        passes = "passes now: take the entry out" if "passed" in found else "matches nothing run"
        wrong.append(f"known failure {entry.id} {passes} ({entry.reason}; {entry.reference})")
    return unknown, wrong
