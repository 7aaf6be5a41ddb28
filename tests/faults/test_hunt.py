"""The hunt: what counts as caught, and the exit status of the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ownerlanes.conformance.difference import Difference
from ownerlanes.conformance.faults.hunt import Catch, SuiteTest, citing, first_failure
from ownerlanes.conformance.faults.table import Row, Table

CAUGHT = Catch("test_release.py::test_it", "a | b", 3, 0.5, True)
NOTHING = Catch(None, "", 100, 4.0, False)
ERROR = Catch("test_release.py::test_it", "KeyError: 0", 3, 0.5, False)
CANDIDATE = "ownerlanes.conformance.faults:double_free_accepted"


def row(catch: Catch, elsewhere: str | None = None) -> Row:
    return Row("some_fault", "RFC-0001:C-RELEASE/4", "What is wrong.", catch, elsewhere)


@pytest.mark.parametrize(
    ("catch", "elsewhere", "told"),
    [
        (CAUGHT, None, "test_release.py::test_it"),
        (NOTHING, None, "MISSED"),
        (NOTHING, "test_histories.py::test_any_calls", "ONLY ELSEWHERE"),
        (ERROR, None, "ERROR"),
    ],
)
def test_only_a_difference_in_a_test_of_the_obligation_counts(
    catch: Catch, elsewhere: str | None, told: str
) -> None:
    table = Table("ci", (row(CAUGHT), row(catch, elsewhere)), {1: NOTHING})
    assert told in table.markdown()
    assert table.is_complete == (catch is CAUGHT)
    assert ("2 of 2" if catch is CAUGHT else "1 of 2") in table.summary()


def test_a_false_alarm_makes_the_table_incomplete() -> None:
    table = Table("ci", (row(CAUGHT),), {1: NOTHING, 2: CAUGHT})
    assert not table.is_complete
    assert "1 false alarms in 2 seeds" in table.summary()
    assert "- seed 2: test_release.py::test_it: a \\| b" in table.markdown()


def fails(fault: Exception) -> None:
    raise fault


def suite_test(fault: Exception | None, *cites: str, needs: tuple[str, ...] = ()) -> SuiteTest:
    call = (lambda: None) if fault is None else (lambda: fails(fault))
    return SuiteTest(str(fault), frozenset(cites), needs, False, call)


def difference(actual: object) -> Difference:
    return Difference(clause="RFC-0001:C-RELEASE/4", field="error", expected=1, actual=actual)


def test_the_first_failure_ends_the_hunt() -> None:
    later = suite_test(difference(3))
    tests = [suite_test(None), suite_test(difference(2)), later]
    catch = first_failure(CANDIDATE, tests)
    assert catch.test == tests[1].name
    assert catch.is_difference
    assert "actual   2" in catch.why


@pytest.mark.parametrize("fault", [KeyError("slots"), difference(TypeError("not callable"))])
def test_an_error_of_the_kit_or_a_crash_is_no_difference(fault: Exception) -> None:
    catch = first_failure(CANDIDATE, [suite_test(fault)])
    assert catch.test is not None
    assert not catch.is_difference


def test_tests_of_an_obligation_are_those_that_cite_it_or_its_clause() -> None:
    own = suite_test(None, "RFC-0001:C-RELEASE/4", "RFC-0001:C-RELEASE/1")
    whole = suite_test(None, "RFC-0001:C-RELEASE")
    other = suite_test(None, "RFC-0001:C-RELEASE/5")
    assert citing([own, whole, other], "RFC-0001:C-RELEASE/4") == [own, whole]


def hunt(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ownerlanes.conformance.faults", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_command_finds_faults_and_writes_the_table(tmp_path: Path) -> None:
    names = ("double_free_accepted", "zigzag_without_the_way_back")
    done = hunt(*names, "--seeds", "0", "--workers", "1", "--report", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 faults caught" in done.stdout
    written = json.loads((tmp_path / "faults.json").read_text())
    assert [row["fault"] for row in written["rows"]] == list(names)
    assert all(row["catch"]["test"] for row in written["rows"])
    assert "C-RELEASE/4" in (tmp_path / "faults.md").read_text()


def test_an_unknown_fault_could_not_run() -> None:
    done = hunt("no_such_fault")
    assert done.returncode == 2
    assert "no_such_fault" in done.stderr
