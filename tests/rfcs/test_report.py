"""Reports: nothing that a candidate says becomes markup, and nothing is lost on the way."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ownerlanes.conformance.report import (
    Candidate,
    Report,
    RfcVersion,
    TestEvidence,
    evidence,
    load_report,
    write_report,
)
from ownerlanes.conformance.report.html import as_html
from ownerlanes.conformance.report.markdown import as_markdown
from ownerlanes.conformance.report.model import STATUSES, strongest, verdict
from ownerlanes.conformance.report.prose import clause_html
from ownerlanes.rfcs.obligations import RfcError, load
from ownerlanes.rfcs.render import anchor

HOSTILE = (
    "</pre></td><script>alert(1)</script>\" onload='x' `|` **b** <img src=http://x>\n```\n&amp;"
)
ORDER = "RFC-0001:C-FLATTENED-ORDER"


def hostile_report() -> Report:
    rfc = load()
    failed = TestEvidence(f"suite::{HOSTILE}", "failed", 3, 0.25, HOSTILE)
    rows = evidence(
        rfc,
        {
            f"{ORDER}/3": (failed,),
            f"{ORDER}/1": (TestEvidence("suite::test_order", "passed", 9, 1.0),),
            f"{ORDER}/2": (TestEvidence(HOSTILE, "not claimed", 0, 0.0, HOSTILE),),
        },
    )
    return Report(
        rfc=RfcVersion(rfc.id, rfc.version, rfc.sha256),
        versions={HOSTILE: HOSTILE},
        seed=None,
        profile=HOSTILE,
        candidate=Candidate(HOSTILE, HOSTILE, HOSTILE, {HOSTILE: HOSTILE}),
        obligations=rows,
        verdict=verdict(rows),
        started=HOSTILE,
        seconds=1.25,
        message=HOSTILE,
    )


class Page(HTMLParser):
    """The tags, ids, links and texts of a page; every tag must be closed in order."""

    EMPTY = ("meta", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links += [value for name, value in attrs if name in ("href", "src") and value]
        if tag not in self.EMPTY:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_what_a_candidate_says_stays_text_in_html() -> None:
    page = Page(as_html(hostile_report(), load()))
    assert not page.tags & {"script", "img", "link", "iframe"}
    assert not {name for name in page.attributes if name.startswith("on")}
    assert any(HOSTILE in text for text in page.text)


def test_every_obligation_has_a_row_that_links_to_its_sentence() -> None:
    page = Page(as_html(hostile_report(), load()))
    assert len(page.ids) == len(set(page.ids))
    assert all(link.startswith("#") for link in page.links), "the page needs something else"
    assert {link[1:] for link in page.links} <= set(page.ids)
    for obligation in load().obligations:
        assert f"row-{anchor(obligation.id)}" in page.ids
        assert f"#{anchor(obligation.id)}" in page.links


def test_a_page_of_a_sound_report_says_nothing_of_failures() -> None:
    report = replace(hostile_report(), obligations=evidence(load(), {}, {}), verdict="conforms")
    text = as_html(report, load())
    assert "What failed" not in text
    assert text.count("no test in this run") == len(load().obligations)


def test_what_a_candidate_says_stays_text_in_markdown() -> None:
    text = as_markdown(hostile_report())
    outside = re.sub(r"(?ms)^(`{3,})$.*?^\1$", "", text)
    assert "<script" not in outside.replace(r"\<script", "")
    assert text.count("````\n" + HOSTILE + "\n````") == 2, "message and failure, fenced"
    rows = [line for line in outside.splitlines() if line.startswith("| ")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) in (3, 7) for row in rows)


def test_a_report_survives_its_file(tmp_path: Path) -> None:
    report = hostile_report()
    write_report(report, tmp_path / "new" / "folder")
    names = sorted(path.name for path in (tmp_path / "new" / "folder").iterdir())
    assert names == ["report.html", "report.json", "report.md"]
    assert load_report(tmp_path / "new" / "folder" / "report.json") == report


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a conformance report"),
        ("[]", "expected the format 'ownerlanes-report-1', found 'list'"),
        ('{"format": "other"}', "found 'other'"),
        ('{"format": "ownerlanes-report-1"}', "'obligations'"),
    ],
)
def test_a_file_that_is_no_report(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(message)):
        load_report(path)


def test_one_failure_outweighs_everything_else() -> None:
    for status in STATUSES:
        assert strongest([*STATUSES[::-1], status]) == "failed"
    assert strongest(["not run", "not claimed", "passed"]) == "passed"
    assert strongest(["not run", "not claimed"]) == "not claimed"
    assert strongest([]) == "not run"


def test_a_test_of_a_whole_clause_is_listed_under_each_of_its_obligations() -> None:
    test = TestEvidence("suite::test_all", "passed", 5, 0.1)
    rows = evidence(load(), {ORDER: (test,)})
    listed = {row.id for row in rows if test in row.tests}
    assert listed == {o.id for o in load().obligations if o.clause == ORDER}
    with pytest.raises(RfcError, match="nearest"):
        evidence(load(), {f"{ORDER}S": (test,)})


def test_where_the_run_has_no_test_the_repositorys_own_are_named_as_not_run() -> None:
    own = {f"{ORDER}/1": ("tests/test_a.py::test_a",), f"{ORDER}/2": ("tests/test_b.py::test_b",)}
    passed = TestEvidence("suite::test_order", "passed", 9, 1.0)
    rows = {row.id: row for row in evidence(load(), {f"{ORDER}/1": (passed,)}, own)}
    assert rows[f"{ORDER}/1"].tests == (passed,)
    assert rows[f"{ORDER}/2"].status == "not run"
    assert [test.id for test in rows[f"{ORDER}/2"].tests] == ["tests/test_b.py::test_b"]
    assert rows[f"{ORDER}/3"].tests == ()
    listed = {test.id for row in evidence(load(), {}) for test in row.tests}
    assert listed, "the committed snapshot names the repository's own tests"
    assert all(test.startswith("tests/") for test in listed)


def test_clause_texts_keep_their_words_and_gain_anchors() -> None:
    for clause in load().clauses:
        page = Page(clause_html(clause))
        words = re.sub(r"[\s`*\[\]]|RFC-0001:(?=C-)|^(\d+\.|-) ", "", clause.text, flags=re.M)
        assert re.sub(r"[\s`*\[\]]|RFC-0001:(?=C-)", "", "".join(page.text)) == words
        assert page.ids == [anchor(obligation.id) for obligation in clause.obligations]
