"""The trace loaders: what they read, and what they say of lines that they cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ownerlanes.conformance.traces import TraceFormatError, TraceRequest, load_trace
from ownerlanes.reference import OwnerLaneError

MOONCAKE = {"timestamp": 27, "input_length": 1025, "output_length": 3, "hash_ids": [0, 7, 9]}
HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens"
TRACES = Path(__file__).resolve().parents[3] / "shared" / "traces"


def written(tmp_path: Path, content: str | bytes, name: str = "trace") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def mooncake(**changed: object) -> str:
    return json.dumps(MOONCAKE | changed)


def test_mooncake_lines(tmp_path: Path) -> None:
    path = written(tmp_path, f"{mooncake()}\n\n{mooncake(input_length=0, hash_ids=[])}\n")
    assert load_trace(path) == [
        TraceRequest(27.0, 1025, 3, (0, 7, 9)),
        TraceRequest(27.0, 0, 3, ()),
    ]


def test_azure_rows_count_from_the_first(tmp_path: Path) -> None:
    rows = f"{HEADER}\r\n2023-11-16 18:17:03.9799600,4808,10\r\n2023-11-16 18:17:04.0319600,3,0\r\n"
    assert load_trace(written(tmp_path, rows)) == [
        TraceRequest(0.0, 4808, 10),
        TraceRequest(52.0, 3, 0),
    ]


def test_format_is_told_by_content_not_by_name(tmp_path: Path) -> None:
    azure = written(tmp_path, f"\ufeff{HEADER}\n2023-11-16 18:17:03,1,2\n", "trace.jsonl")
    assert load_trace(azure) == [TraceRequest(0.0, 1, 2)]
    assert load_trace(written(tmp_path, mooncake(), "trace.csv"))[0].hash_ids == (0, 7, 9)


def test_limit_leaves_later_lines_alone(tmp_path: Path) -> None:
    path = written(tmp_path, f"{mooncake()}\n{mooncake()}\nnonsense\n")
    assert len(load_trace(path, limit=2)) == 2
    with pytest.raises(TraceFormatError, match="line 3: expected a JSON object"):
        load_trace(path)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "expected a JSON object"),
        ("[" * 100_000, "expected a JSON object"),
        ("[1]", "expected a JSON object, found '[1]'"),
        (mooncake(timestamp=float("nan")), "finite numbers, found NaN"),
        (mooncake(timestamp="0"), "timestamp: expected milliseconds, found '0'"),
        (mooncake(timestamp=-1), "timestamp: expected 0 <= milliseconds"),
        (mooncake(input_length=True), "input_length: expected an integer"),
        (mooncake(input_length=1.5), "input_length: expected an integer"),
        (mooncake(input_length=2**62 + 1), "input_length: expected an integer from 0 to 2**62"),
        (mooncake(output_length=-1), "output_length: expected an integer"),
        (mooncake(hash_ids=None), "hash_ids: expected a list of integers"),
        (mooncake(hash_ids=[0, "1", 2]), "hash_ids: expected a list of integers"),
        (mooncake(hash_ids=[0, -1, 2]), "hash_ids: expected a list of integers"),
        (mooncake(hash_ids=[0, 1]), "hash_ids: expected 3 ids, one for each 512 tokens"),
        ('{"timestamp": 0}', "expected a field 'input_length', found the fields ['timestamp']"),
        (f'{{"timestamp": {"9" * 5000}}}', "expected a JSON object"),
    ],
)
def test_malformed_mooncake_line(tmp_path: Path, line: str, told: str) -> None:
    path = written(tmp_path, f"{mooncake()}\n{line}\n")
    with pytest.raises(TraceFormatError) as caught:
        load_trace(path)
    assert told in str(caught.value)
    assert str(caught.value).startswith(f"{path}, line 2: ")
    assert (caught.value.path, caught.value.line) == (str(path), 2)
    assert isinstance(caught.value, OwnerLaneError)
    assert isinstance(caught.value, ValueError)
    assert len(str(caught.value)) < 400 + len(str(path))


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("2023-11-16 18:17:03,1", "expected three values (TIMESTAMP,"),
        ("2023-11-16 18:17:03,1,2,3", "expected three values (TIMESTAMP,"),
        ("yesterday,1,2", "TIMESTAMP: expected YYYY-MM-DD HH:MM:SS.fffffff, found 'yesterday'"),
        ("2023-11-16 18:17:03+01:00,1,2", "TIMESTAMP: expected"),
        ("2023-11-16 18:17:03,-1,2", "ContextTokens: expected an integer"),
        ("2023-11-16 18:17:03,1.0,2", "ContextTokens: expected an integer"),
        ("2023-11-16 18:17:03,1,", "GeneratedTokens: expected an integer"),
        (f"2023-11-16 18:17:03,1,{'9' * 30}", "GeneratedTokens: expected an integer"),
    ],
)
def test_malformed_azure_row(tmp_path: Path, row: str, told: str) -> None:
    path = written(tmp_path, f"{HEADER}\n2023-11-16 18:17:03,1,2\n{row}\n")
    with pytest.raises(TraceFormatError) as caught:
        load_trace(path)
    assert told in str(caught.value)
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("content", "line", "told"),
    [
        (b"", 1, "expected at least one request"),
        (b"\n \n", 1, "expected at least one request"),
        (HEADER.encode(), 1, "expected at least one request"),
        (b"\nTIMESTAMP;ContextTokens\n", 2, "expected a JSON object (Mooncake) or the header"),
        (b"\x1f\x8b\x08\x00", 1, "expected UTF-8 text"),
        (f"{mooncake()}\n".encode() + b"\xff\n", 2, "expected UTF-8 text"),
    ],
)
def test_not_a_trace(tmp_path: Path, content: bytes, line: int, told: str) -> None:
    with pytest.raises(TraceFormatError) as caught:
        load_trace(written(tmp_path, content))
    assert told in str(caught.value)
    assert caught.value.line == line


@pytest.mark.skipif(not TRACES.is_dir(), reason=f"no traces beside the checkout ({TRACES.name})")
def test_public_traces_load_whole() -> None:
    assert len(load_trace(TRACES / "mooncake_conversation.jsonl")) == 12_031
    assert len(load_trace(TRACES / "azure_code.csv")) == 8_819
