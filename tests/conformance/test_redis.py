"""Examples kept at a Redis server are found by another run: a real server, on a free port."""

from __future__ import annotations

import importlib.util
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ownerlanes.conformance.protocol import CouldNotRunError
from ownerlanes.conformance.settings import open_database

SERVER = shutil.which("redis-server")
needs_redis = pytest.mark.skipif(
    SERVER is None or importlib.util.find_spec("redis") is None,
    reason="needs redis-server (Debian: redis-server) and the Python package redis",
)


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert SERVER is not None
    server = subprocess.Popen(
        [SERVER, "--port", str(port), "--save", "", "--dir", str(tmp_path)],
        stdout=subprocess.DEVNULL,
    )
    try:
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait()


@needs_redis
def test_what_one_machine_finds_the_next_one_reads(url: str) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            first = open_database(url)
            break
        except CouldNotRunError:
            assert time.monotonic() < deadline, "redis-server did not come up"
            time.sleep(0.05)
    first.save(b"test", b"example")
    assert set(open_database(url).fetch(b"test")) == {b"example"}


@needs_redis
def test_a_server_that_does_not_answer_is_told() -> None:
    with pytest.raises(CouldNotRunError, match="does not answer"):
        open_database("redis://127.0.0.1:1/0")
