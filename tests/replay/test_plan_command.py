"""`ownerlanes plan`: what it draws, what it refuses, and that it is readable without colour."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from ownerlanes.conformance.commands.plan import plan
from ownerlanes.conformance.drawing import draw_plan, planned_pages
from ownerlanes.conformance.drawing_svg import plan_svg
from ownerlanes.reference import (
    ContiguousPages,
    ExplicitOwners,
    ExtendRequest,
    LaneLayout,
    RoundRobinPages,
    Split,
    ZigzagPages,
    page_owners,
)

app = typer.Typer()
app.command()(plan)
PAGE_SPLITS: dict[str, Split] = {
    "zigzag-pages": ZigzagPages(),
    "contiguous-pages": ContiguousPages(),
    "round-robin-pages": RoundRobinPages(),
}
LAYOUT = LaneLayout(num_lanes=4, page_size=16, pages_per_lane=8)


def run(*arguments: str, width: int = 80) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": str(width)})
    return result.exit_code, result.stdout, result.stderr


def grid(output: str) -> dict[int, list[int]]:
    """Page positions on each lane's rows, as a reader sees them."""
    rows: dict[int, list[int]] = {}
    for lane, cells in re.findall(r"^lane (\d+) *\|(.*)$", output, re.MULTILINE):
        rows.setdefault(int(lane), []).extend(map(int, re.findall(r"\d+", cells)))
    return rows


@pytest.mark.parametrize("width", [30, 80, 200])
@pytest.mark.parametrize("split", PAGE_SPLITS)
def test_every_page_is_drawn_once_on_its_lane(split: str, width: int) -> None:
    code, output, _ = run("--seq", "1300", "--split", split, width=width)
    assert code == 0
    rows = grid(output)
    assert sorted(page for row in rows.values() for page in row) == list(range(82))
    request = ExtendRequest(0, 1300, PAGE_SPLITS[split])
    owners = page_owners(request, LAYOUT)
    assert {page: lane for lane, row in rows.items() for page in row} == dict(enumerate(owners))
    assert all(len(line) <= width for line in output.splitlines())


def test_output_to_a_pipe_has_no_control_characters() -> None:
    _, output, _ = run("--prefix", "25")
    assert all(character.isprintable() or character == "\n" for character in output)


def test_terminal_gets_colours() -> None:
    console = Console(force_terminal=True, color_system="truecolor", width=80)
    with console.capture() as captured:
        draw_plan(console, ExtendRequest(0, 300, ZigzagPages()), LAYOUT)
    assert "\x1b[" in captured.get()


def test_demand_and_partial_pages_are_told() -> None:
    code, output, _ = run("--prefix", "25", "--seq", "200", "--split", "round-robin-pages")
    assert code == 0
    assert "1+ holds tokens of the prefix already: 7 of its 16 slots are filled now" in output
    assert "12* is partly filled: 8 of its 16 slots" in output
    assert re.search(r"^ *1 +2 +39 +1, 5, 9 *$", output, re.MULTILINE)
    assert re.search(r"^ *all +11 +175 *$", output, re.MULTILINE)


def test_an_empty_extend_is_drawn_too() -> None:
    code, output, _ = run("--prefix", "32", "--seq", "32")
    assert code == 0
    assert "no tokens" in output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--split", "zigzag-tokens"], "page position 2 has owner lanes [0, 1]"),
        (["--owners", "0,1,x"], "--owners: expected lanes with commas between, found 'x'"),
        (["--owners", "0,1"], "expected one lane for each of the 19 touched pages"),
        (["--pad", "3", "--split", "round-robin-pages"], "--pad: expected none with"),
        (["--run", "3"], "--run: expected none with"),
        (["--owners", "0", "--run", "3"], "--run: expected none with --owners"),
        (["--seq", "-3"], "seq_len: expected 0 <= seq_len"),
        (["--prefix", "301"], "prefix_len: expected 0 <= prefix_len < 301"),
        (["--phase", "4"], "phase: expected 0 <= phase < 4"),
        (["--lanes", "0"], "num_lanes: expected 1 <= num_lanes"),
        (["--seq", "1000000000000"], "expected at most 10000 new pages"),
        (["--tail-lane", "1"], "--tail-lane: expected none"),
        (["--prefix", "25", "--tail-lane", "9"], "lane: expected 0 <= lane < 4, found 9"),
        (
            ["--prefix", "25", "--tail-lane", "2", "--split", "round-robin-pages"],
            "page position 1 has owner lanes [1, 2]",
        ),
        (["--svg", "/no/such/folder/plan.svg"], "No such file or directory"),
    ],
)
def test_what_cannot_be_drawn_is_told_plainly(arguments: list[str], told: str) -> None:
    code, output, errors = run(*arguments)
    assert code == 2
    assert output == ""
    assert told in errors
    assert errors.startswith("ownerlanes plan: ")
    assert "Traceback" not in errors


def test_svg_stands_alone_and_shows_every_page(tmp_path: Path) -> None:
    path = tmp_path / "plan.svg"
    assert run("--seq", "1300", "--svg", str(path))[0] == 0
    text = path.read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    labels = [node.text for node in root.iter() if node.get("class") == "page"]
    assert labels == [*map(str, range(81)), "81*"]
    assert text.count("http") == 1  # the namespace
    assert "NaN" not in text


def test_svg_puts_each_page_on_its_lane() -> None:
    request = ExtendRequest(0, 64, ExplicitOwners((2, 0, 3, 1)))
    root = ElementTree.fromstring(plan_svg(request, LAYOUT))
    height = {node.text: node.get("y") for node in root.iter() if node.get("class") == "lane"}
    pages = {node.text: node.get("y") for node in root.iter() if node.get("class") == "page"}
    for page in planned_pages(request, LAYOUT):
        assert pages[page.label] == height[f"lane {page.lane}"]
