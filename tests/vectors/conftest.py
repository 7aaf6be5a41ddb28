"""A set of vectors, emitted once, and the command line."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ownerlanes.conformance.commands.vectors import app
from ownerlanes.conformance.vectors.emit import emit

Run = Callable[..., Result]


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The quick set of seed 0."""
    folder = tmp_path_factory.mktemp("vectors")
    emit(folder)
    return folder


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """`ownerlanes vectors ...` in this process."""
    monkeypatch.setenv("COLUMNS", "200")

    def invoke(*arguments: object) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return invoke


@pytest.fixture
def engine() -> Callable[[str], str]:
    """The command of the oracle behind the pipe, with a fault."""
    script = Path(__file__).with_name("oracle_engine.py")
    return lambda fault="": shlex.join([sys.executable, str(script), fault])
