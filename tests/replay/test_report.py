"""The page and pictures of a replay: there, self-contained, and nothing in them but text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from ownerlanes.conformance.commands.replay import replay
from ownerlanes.conformance.replay import page, plots, runs
from ownerlanes.conformance.replay.pools import oracle_side
from ownerlanes.conformance.replay.settings import ReplaySettings
from ownerlanes.conformance.replay.workload import Prompt
from ownerlanes.reference import LaneLayout

pytest.importorskip("matplotlib", reason="pictures need the extra 'plots'")

LAYOUT = LaneLayout(num_lanes=3, page_size=4, pages_per_lane=9)
PROMPTS = [Prompt(i, 40, tuple(range(5)) + tuple(range(100 * i, 100 * i + 5))) for i in range(20)]
NASTY = """<script>alert('"&')</script>"""


class Tags(HTMLParser):
    """Which tags a page has, and what they refer to."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.references: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.references += [value or "" for name, value in attrs if name in ("src", "href")]


@pytest.fixture(scope="module")
def outcomes() -> list[runs.Outcome]:
    settings = ReplaySettings(LAYOUT, chunk=16, batch_tokens=64, in_flight=4)
    own = runs.run(settings, PROMPTS, [oracle_side(LAYOUT, reuse=True)])
    assert own.tally.waits, "the pictures of waits need some"
    return [own, runs.aggregate_count(settings, PROMPTS), runs.lane_blind(settings, PROMPTS)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, outcomes: list[runs.Outcome]) -> Path:
    """A report of a trace with a nasty name."""
    folder = tmp_path_factory.mktemp("report")
    assert page.write_report(folder, NASTY, outcomes) == folder / "replay.html"
    return folder


def test_page_and_pictures_are_written(folder: Path) -> None:
    names = {file.name for file in folder.iterdir()}
    pictures = {f"{name}.{kind}" for name, *_ in page.PICTURES for kind in ("png", "svg")}
    assert names == pictures | {"replay.html"}
    assert all(file.stat().st_size > 1_000 for file in folder.iterdir())


def test_page_needs_nothing_else(folder: Path) -> None:
    tags = Tags()
    tags.feed((folder / "replay.html").read_text())
    assert not tags.names & {"script", "link", "iframe", "object"}
    assert len(tags.references) == len(page.PICTURES)
    assert all(text.startswith("data:image/svg+xml;base64,") for text in tags.references)


def test_what_a_trace_is_called_stays_text(folder: Path) -> None:
    text = (folder / "replay.html").read_text()
    assert "<script" not in text
    assert text.count("&lt;script&gt;alert(&#x27;&quot;&amp;&#x27;)&lt;/script&gt;") == 2


def test_page_tells_the_numbers_of_every_pool(folder: Path, outcomes: list[runs.Outcome]) -> None:
    text = (folder / "replay.html").read_text()
    for outcome in outcomes:
        assert f"<td>{outcome.name}</td>" in text
        assert f"{outcome.tally.evicted:,}" in text
    assert f"<dt>capacity waits</dt><dd>{len(outcomes[0].tally.waits)}</dd>" in text


def test_the_same_replay_gives_the_same_picture(outcomes: list[runs.Outcome]) -> None:
    drawn = [plots.waits(outcomes[0]) for _ in range(2)]
    first, second = (page.as_svg(figure) for figure in drawn if figure is not None)
    assert first == second


def test_nothing_to_draw_is_said(tmp_path: Path) -> None:
    nothing = runs.run(ReplaySettings(LAYOUT, chunk=16), [], [oracle_side(LAYOUT, reuse=False)])
    assert plots.occupancy(nothing) is plots.waits(nothing) is plots.hits([nothing]) is None
    text = page.write_report(tmp_path, "no requests", [nothing]).read_text()
    assert "No batch had to wait for pages." in text
    assert [file.name for file in tmp_path.iterdir()] == ["replay.html"]


def test_many_batches_are_thinned_to_means() -> None:
    rows = np.arange(4_000.0).reshape(2_000, 2)
    thinned = plots.thinned(rows)
    assert thinned.shape == (plots.COLUMNS, 2)
    assert thinned.mean() == pytest.approx(rows.mean(), rel=1e-3)
    assert thinned[0].tolist() == rows[:3].mean(axis=0).tolist()
    assert plots.thinned(rows[:7]).tolist() == rows[:7].tolist()


def test_without_matplotlib_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    app = typer.Typer()
    app.command()(replay)
    arguments = ["--oracle-only", "--requests", "3", "--report", str(tmp_path / "report")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "pip install 'ownerlanes[plots]'" in result.stderr
    assert not (tmp_path / "report").exists()


def test_the_command_writes_the_report(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(replay)
    folder = tmp_path / "new" / "report"
    result = CliRunner().invoke(app, ["--oracle-only", "--requests", "0", "--report", str(folder)])
    assert result.exit_code == 0
    assert re.search(r"replay\.html", result.stdout)
    assert (folder / "replay.html").is_file()
