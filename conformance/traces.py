"""Workload traces as data: the requests that a service received, in order.

Two public formats are read, told apart by their first line and not by the file's name: Mooncake
JSON Lines (with block hashes, so that shared prefixes are known) and the Azure LLM inference CSV
(lengths only). A malformed line is an error that names file, line and what was expected; no line
is ever skipped or repaired.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path

from ownerlanes.reference.contract import MAX_SEQ_LEN, InvalidArgumentError

BLOCK_TOKENS = 512
"""Tokens that one hash id of a trace stands for."""

AZURE_HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens"


@dataclass(frozen=True)
class TraceRequest:
    """One request of a trace.

    Attributes:
        arrival_ms: milliseconds since the trace began.
        input_length: tokens of the prompt.
        output_length: tokens generated for it.
        hash_ids: one id for each block of 512 prompt tokens, the last one partly filled perhaps;
            equal ids mean equal tokens up to and with that block. Empty: nothing is known.
    """

    arrival_ms: float
    input_length: int
    output_length: int
    hash_ids: tuple[int, ...] = ()


class TraceFormatError(InvalidArgumentError):
    """A trace cannot be read; nothing of it was used.

    Attributes:
        path: the file, as it was given.
        line: number of the line at fault, from 1.
    """

    def __init__(self, message: str, *, path: str, line: int) -> None:
        super().__init__(f"{path}, line {line}: {message}")
        self.path = path
        self.line = line


class _MalformedLineError(Exception):
    """What is wrong with one line; the reader adds where it is."""


def load_trace(path: str | Path, limit: int | None = None) -> list[TraceRequest]:
    """The first `limit` requests of a Mooncake or Azure trace (all of them when None).

    Lines after the limit are not looked at; blank lines are allowed and count as lines.

    Raises:
        OSError: the file cannot be opened.
        TraceFormatError: a line is malformed, or there is no request at all.
    """
    with Path(path).open("rb") as lines:
        requests = list(islice(_parsed(lines, str(path)), limit))
    if not requests and limit != 0:
        raise TraceFormatError("expected at least one request, found none", path=str(path), line=1)
    return requests


def _parsed(lines: Iterable[bytes], path: str) -> Iterator[TraceRequest]:
    """The requests of the file; a line at fault is told with its number."""
    parse: Callable[[str], TraceRequest | None] | None = None
    for number, raw in enumerate(lines, start=1):
        try:
            line = _text(raw)
            if line and parse is None:
                parse = _parser(line)
            request = parse(line) if line and parse else None
        except _MalformedLineError as fault:
            raise TraceFormatError(str(fault), path=path, line=number) from None
        if request is not None:
            yield request


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError as fault:
        raise _MalformedLineError(f"expected UTF-8 text, found {fault.reason}") from None


def _parser(first_line: str) -> Callable[[str], TraceRequest | None]:
    """How to read the lines of a trace that begins so, the first one included."""
    if first_line.startswith("{"):
        return _mooncake_request
    if first_line == AZURE_HEADER:
        return _AzureRows().request
    raise _MalformedLineError(
        f"expected a JSON object (Mooncake) or the header {AZURE_HEADER!r} (Azure), "
        f"found {_shown(first_line)}"
    )


def _mooncake_request(line: str) -> TraceRequest:
    try:
        fields = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as fault:
        raise _MalformedLineError(
            f"expected a JSON object, found {_shown(line)} ({fault})"
        ) from None
    if not isinstance(fields, dict):
        raise _MalformedLineError(f"expected a JSON object, found {_shown(line)}")
    input_length = _count(fields, "input_length")
    output_length = _count(fields, "output_length")
    arrival = _field(fields, "timestamp")
    if isinstance(arrival, bool) or not isinstance(arrival, int | float):
        raise _MalformedLineError(f"timestamp: expected milliseconds, found {arrival!r}")
    if not 0 <= arrival < MAX_SEQ_LEN:
        raise _MalformedLineError(
            f"timestamp: expected 0 <= milliseconds < 2**62, found {arrival!r}"
        )
    ids = _field(fields, "hash_ids")
    blocks = -(-input_length // BLOCK_TOKENS)
    if not isinstance(ids, list) or any(type(i) is not int or i < 0 for i in ids):
        raise _MalformedLineError(
            f"hash_ids: expected a list of integers >= 0, found {_shown(repr(ids))}"
        )
    if len(ids) != blocks:
        raise _MalformedLineError(
            f"hash_ids: expected {blocks} ids, one for each {BLOCK_TOKENS} tokens of "
            f"input_length {input_length}, found {len(ids)}"
        )
    return TraceRequest(float(arrival), input_length, output_length, tuple(ids))


def _refuse_constant(name: str) -> float:
    raise _MalformedLineError(f"expected a JSON object of finite numbers, found {name}")


def _field(fields: dict[str, object], name: str) -> object:
    if name not in fields:
        raise _MalformedLineError(f"expected a field {name!r}, found the fields {sorted(fields)}")
    return fields[name]


def _count(fields: dict[str, object], name: str) -> int:
    value = _field(fields, name)
    if type(value) is not int or not 0 <= value <= MAX_SEQ_LEN:
        raise _MalformedLineError(f"{name}: expected an integer from 0 to 2**62, found {value!r}")
    return value


class _AzureRows:
    """Rows of the Azure CSV, header first; arrivals are counted from the first row's time."""

    def __init__(self) -> None:
        self._start: datetime | None = None
        self._header_seen = False

    def request(self, line: str) -> TraceRequest | None:
        """The request of a row; None for the header."""
        if not self._header_seen:
            self._header_seen = True
            return None
        cells = line.split(",")
        if len(cells) != 3:
            raise _MalformedLineError(
                f"expected three values ({AZURE_HEADER}), found {_shown(line)}"
            )
        arrival = _time(cells[0])
        self._start = self._start or arrival
        return TraceRequest(
            (arrival - self._start).total_seconds() * 1000,
            _decimal("ContextTokens", cells[1]),
            _decimal("GeneratedTokens", cells[2]),
        )


def _time(cell: str) -> datetime:
    expected = f"TIMESTAMP: expected YYYY-MM-DD HH:MM:SS.fffffff, found {_shown(cell)}"
    try:
        time = datetime.fromisoformat(cell)
    except ValueError:
        raise _MalformedLineError(expected) from None
    if time.tzinfo is not None:
        raise _MalformedLineError(expected)
    return time


def _decimal(name: str, cell: str) -> int:
    if not (cell.isascii() and cell.isdigit() and len(cell) < 20 and int(cell) <= MAX_SEQ_LEN):
        raise _MalformedLineError(
            f"{name}: expected an integer from 0 to 2**62, found {_shown(cell)}"
        )
    return int(cell)


def _shown(text: str) -> str:
    """A quoted excerpt that cannot flood or confuse a terminal."""
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
