"""The RFC as data: its clauses, and the numbered obligations derived from their text.

A numbered item of a normative clause is one obligation; its number is written in the text, so that
rewording one leaves the ids of all others alone. Nothing here judges the text (that is `check`)
and nothing is written.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib.resources
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RFC_ID = "RFC-0001"
KEYWORDS = re.compile(
    r"\b(MUST NOT|MUST|SHALL NOT|SHALL|SHOULD NOT|SHOULD|NOT RECOMMENDED|RECOMMENDED|REQUIRED"
    r"|MAY|OPTIONAL)\b"
)
"""The key words of RFC 2119, the longer ones first."""

_ITEM = re.compile(r"(\d+)\. +(.+)")
_ID = re.compile(r"(?:(RFC-\d{4}):)?(C-[A-Z0-9-]+)(?:/(\d+))?")


class RfcError(Exception):
    """The RFC cannot be read, or an id is not in it; the message says where and what to do."""


@dataclass(frozen=True)
class Obligation:
    """One numbered item of a normative clause.

    Attributes:
        clause: id of its clause, such as "RFC-0001:C-FLATTENED-ORDER".
        number: as written in the text, from 1.
        keyword: its first RFC 2119 key word; empty when it has none.
        sentence: its Markdown, on one line.
        line: line of the clause's file that it starts on, from 1.
    """

    clause: str
    number: int
    keyword: str
    sentence: str
    line: int

    @property
    def id(self) -> str:
        """Such as "RFC-0001:C-FLATTENED-ORDER/2"."""
        return f"{self.clause}/{self.number}"


@dataclass(frozen=True)
class Clause:
    """One clause, as its file states it; `path` is relative to the folder `rfcs`."""

    id: str
    title: str
    kind: str
    status: str
    since: str | None
    superseded_by: str | None
    text: str
    path: str
    obligations: tuple[Obligation, ...]

    @property
    def name(self) -> str:
        """The id without the RFC's, such as "C-FLATTENED-ORDER"."""
        return self.id.partition(":")[2]

    @property
    def sha256(self) -> str:
        """Hash of the clause's text, UTF-8, without surrounding white space."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class Section:
    """A heading of the RFC and the clauses under it, in order."""

    title: str
    clauses: tuple[Clause, ...]


@dataclass(frozen=True)
class Release:
    """One changelog entry: categories such as "added" with their lines."""

    version: str
    date: str
    notes: str
    changes: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Rfc:
    """The whole RFC, in the order of its sections."""

    id: str
    title: str
    version: str
    status: str
    phase: str
    owners: tuple[str, ...]
    created: str
    sections: tuple[Section, ...]
    changelog: tuple[Release, ...]

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """Every listed clause, in the RFC's order."""
        return tuple(clause for section in self.sections for clause in section.clauses)

    @property
    def obligations(self) -> tuple[Obligation, ...]:
        """The obligations in force: those of normative clauses with status active."""
        return tuple(
            obligation
            for clause in self.clauses
            if clause.kind == "normative" and clause.status == "active"
            for obligation in clause.obligations
        )

    @property
    def sha256(self) -> str:
        """Hash of the RFC's text: of the line "id version", then "clause-id sha256" for each."""
        lines = [f"{self.id} {self.version}", *(f"{c.id} {c.sha256}" for c in self.clauses)]
        return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()

    def find(self, cited: str) -> Clause | Obligation:
        """The clause or obligation with this id; "RFC-0001:" may be left out.

        Raises:
            RfcError: there is none; the message names the nearest ids.
        """
        match = _ID.fullmatch(cited)
        if match and match[1] in (None, self.id):
            clause = next((c for c in self.clauses if c.name == match[2]), None)
            if clause is not None and match[3] is None:
                return clause
            for obligation in clause.obligations if clause else ():
                if obligation.number == int(match[3]):
                    return obligation
            if clause is not None:
                raise RfcError(
                    f"{clause.id} has obligations 1 to {len(clause.obligations)}, no {match[3]}"
                )
        known = [name for c in self.clauses for name in (c.id, c.name)]
        near = difflib.get_close_matches(cited.partition("/")[0], known, n=1)
        hint = f"; nearest: {near[0]}" if near else ""
        raise RfcError(f"{self.id} {self.version} has no clause {cited!r}{hint}")


def folder() -> Path:
    """Where the installed `ownerlanes.rfcs` keeps the RFC."""
    return Path(str(importlib.resources.files("ownerlanes.rfcs")))


def load(rfcs: Path | None = None) -> Rfc:
    """Read RFC-0001 from the folder `rfcs`, by default the installed one.

    Raises:
        RfcError: a file is missing, is not TOML, or lacks a field that is needed.
    """
    rfcs = folder() if rfcs is None else rfcs
    raw = read_toml(rfcs / RFC_ID / "rfc.toml")
    try:
        about = raw["govctl"]
        return Rfc(
            id=about["id"],
            title=about["title"],
            version=about["version"],
            status=about["status"],
            phase=about["phase"],
            owners=tuple(about["owners"]),
            created=about["created"],
            sections=tuple(
                Section(
                    section["title"],
                    tuple(_clause(rfcs, about["id"], path) for path in section.get("clauses", ())),
                )
                for section in raw["sections"]
            ),
            changelog=tuple(_release(entry) for entry in raw.get("changelog", ())),
        )
    except KeyError as missing:
        raise RfcError(f"{rfcs / RFC_ID / 'rfc.toml'}: add the field {missing}") from None


def read_toml(path: Path) -> dict[str, Any]:
    """The document at `path`.

    Raises:
        RfcError: it is missing or not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RfcError(f"{path}: the file is missing; add it or stop listing it") from None
    except tomllib.TOMLDecodeError as fault:
        raise RfcError(f"{path}: not TOML: {fault}") from None


def items(text: str) -> Iterator[tuple[int, str, int]]:
    """(number, sentence, index of its first line) of each numbered item of a clause's text.

    An item goes on over the indented lines below it.
    """
    lines = text.splitlines()
    for index, line in enumerate(lines):
        match = _ITEM.fullmatch(line)
        if match:
            words = [match[2]]
            for below in lines[index + 1 :]:
                if not below.startswith(" "):
                    break
                words.append(below.strip())
            yield int(match[1]), " ".join(words), index


def _clause(rfcs: Path, rfc_id: str, listed: str) -> Clause:
    path = rfcs / RFC_ID / listed
    raw = read_toml(path)
    try:
        about, text = raw["govctl"], raw["content"]["text"].strip()
        clause_id = f"{rfc_id}:{about['id']}"
        return Clause(
            id=clause_id,
            title=about["title"],
            kind=about["kind"],
            status=about.get("status", "active"),
            since=about.get("since"),
            superseded_by=about.get("superseded_by"),
            text=text,
            path=f"{RFC_ID}/{listed}",
            obligations=_obligations(clause_id, text, path),
        )
    except KeyError as missing:
        raise RfcError(f"{path}: add the field {missing}") from None


def _obligations(clause_id: str, text: str, path: Path) -> tuple[Obligation, ...]:
    source = path.read_text(encoding="utf-8").splitlines()
    lines = text.splitlines()
    found = []
    for number, sentence, index in items(text):
        keyword = KEYWORDS.search(sentence)
        if lines[index] not in source:
            raise RfcError(f"{path}: write the text without escapes: {lines[index]!r}")
        found.append(
            Obligation(
                clause=clause_id,
                number=number,
                keyword=keyword[0] if keyword else "",
                sentence=sentence,
                line=source.index(lines[index]) + 1,
            )
        )
    return tuple(found)


def _release(entry: dict[str, Any]) -> Release:
    changes = {name: tuple(lines) for name, lines in entry.items() if isinstance(lines, list)}
    return Release(entry["version"], entry["date"], entry.get("notes", ""), changes)
