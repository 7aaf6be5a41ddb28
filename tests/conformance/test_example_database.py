"""Finds kept in Redis: what one machine found, another one tries first."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from hypothesis.database import InMemoryExampleDatabase

from ownerlanes.conformance import fuzzing, settings

PLANTED = """
from ownerlanes.reference import ReferenceAllocator


class Reversed(ReferenceAllocator):
    def alloc_pages(self, owners):
        return super().alloc_pages(owners)[::-1]
"""
FOUND_BY = "test_pages_come_on_the_lanes_that_are_named"


@pytest.fixture
def redis_url(tmp_path: Path) -> Iterator[str]:
    """A real server of this test's own."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("no redis-server on this machine (Debian's package redis-server)")
    redis = pytest.importorskip("redis", reason="the package redis is not installed")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir"]
    with subprocess.Popen([*command, str(tmp_path)], stdout=subprocess.DEVNULL) as server:
        url = f"redis://127.0.0.1:{port}/0"
        try:
            with redis.Redis.from_url(url) as client:
                _wait_for(client, redis.ConnectionError)
            yield url
        finally:
            server.terminate()


def _wait_for(client: object, refused: type[Exception]) -> None:
    for _ in range(200):
        try:
            client.ping()  # type: ignore[attr-defined]
        except refused:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("redis-server did not answer within 10 s")


def _histories_until_found(folder: Path, url: str) -> int:
    """Check the planted fault in a process of its own; the histories of the test that finds it."""
    command = [sys.executable, "-m", "ownerlanes.conformance"]
    command += ["--allocator", "planted:Reversed", "--clause", "C-ATOMIC-BATCH/6"]
    command += ["--example-database", url, "--report", "report"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    report = json.loads((folder / "report" / "report.json").read_text())
    return next(
        test["examples"]
        for row in report["obligations"]
        for test in row["tests"]
        if test["id"].endswith(FOUND_BY) and test["status"] == "failed"
    )


def test_find_of_one_machine_is_tried_first_on_another(redis_url: str, tmp_path: Path) -> None:
    import redis

    first, second = tmp_path / "first", tmp_path / "second"
    for machine in (first, second):
        machine.mkdir()
        (machine / "planted.py").write_text(PLANTED)
    searched = _histories_until_found(first, redis_url)
    with redis.Redis.from_url(redis_url) as client:
        assert client.keys("ownerlanes:*")
    replayed = _histories_until_found(second, redis_url)
    assert replayed <= 3 < searched
    assert not (second / ".hypothesis" / "examples").exists()


def test_fuzzing_uses_the_database_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    before, database = hypothesis.settings.get_current_profile_name(), InMemoryExampleDatabase()
    with pytest.raises(pytest.UsageError, match="example-database"):
        fuzzing.pytest_collection()
    monkeypatch.setattr(settings, "_active", settings.Profile("deep", 1, 1, 1, database=database))
    try:
        fuzzing.pytest_collection()
        assert hypothesis.settings().database is database
    finally:
        hypothesis.settings.load_profile(before)


def test_fuzzing_without_hypofuzz_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert fuzzing.main([]) == 2
    assert "ownerlanes[fuzz]" in capsys.readouterr().err
