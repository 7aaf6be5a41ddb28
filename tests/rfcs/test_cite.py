"""Citations to quote, exactly as they are printed."""

import dataclasses

import pytest

from ownerlanes.conformance.report import Candidate, Report, RfcVersion, TestEvidence, evidence
from ownerlanes.conformance.report.citation import citation
from ownerlanes.rfcs.obligations import Clause, RfcError, load
from ownerlanes.rfcs.tree import Tree


def report(tree: Tree) -> Report:
    rfc = load(tree.rfcs)
    results = {
        "RFC-0001:C-ONE/1": (
            TestEvidence("suite/test_a.py::test_a", "passed", 100, 1.5),
            TestEvidence("suite/test_b.py::test_b", "passed", 20, 0.5),
        ),
        "RFC-0001:C-ONE/2": (TestEvidence("suite/test_b.py::test_b", "failed", 20, 0.5, "2"),),
    }
    return Report(
        rfc=RfcVersion(rfc.id, rfc.version, rfc.sha256),
        versions={"python": "3.11"},
        seed=7,
        profile="ci",
        candidate=Candidate("engine:make", "Engine 1.0", "CPU", {}),
        obligations=evidence(rfc, results),
        verdict="violates",
        started="2026-11-30T12:00:00Z",
        seconds=2.0,
    )


def sha256(tree: Tree) -> str:
    clause = load(tree.rfcs).find("C-ONE")
    assert isinstance(clause, Clause)
    return clause.sha256


def test_an_obligation_with_evidence(tree: Tree) -> None:
    assert citation(load(tree.rfcs), "C-ONE/1", report(tree)) == (
        "> **RFC-0001:C-ONE/1** (RFC-0001 version 0.2.0): The thing MUST be one.\n\n"
        "[C-ONE title, RFC-0001:C-ONE/1](rfcs/RFC-0001.md#c-one-1), clause text SHA-256 "
        f"`{sha256(tree)}`.\n\n"
        "Evidence: passed (`suite/test_a.py::test_a`, `suite/test_b.py::test_b`; 120 examples) "
        "for Engine 1.0 (engine:make; CPU), profile ci, seed 7, 2026-11-30T12:00:00Z.\n"
    )


def test_a_whole_clause_counts_its_obligations_and_each_test_once(tree: Tree) -> None:
    text = citation(load(tree.rfcs), "RFC-0001:C-ONE", report(tree), base="docs/")
    assert "](docs/RFC-0001.md#c-one)" in text
    assert "Evidence: 1 passed, 1 failed (`suite/test_a.py::test_a`, " in text
    assert "; 120 examples)" in text


def test_no_report_no_evidence(tree: Tree) -> None:
    assert "Evidence" not in citation(load(tree.rfcs), "C-ONE/1")


def test_evidence_for_another_text_is_not_passed_off_as_this_ones(tree: Tree) -> None:
    old = report(tree)
    rows = tuple(dataclasses.replace(row, clause_sha256="0" * 64) for row in old.obligations)
    text = citation(load(tree.rfcs), "C-ONE/1", dataclasses.replace(old, obligations=rows))
    assert "Evidence: none for this text; the report on Engine 1.0 (engine:make; CPU)" in text
    assert f"with clause text SHA-256 `{'0' * 64}`" in text
    assert "passed" not in text


def test_an_unknown_id(tree: Tree) -> None:
    with pytest.raises(RfcError, match="nearest: C-ONE"):
        citation(load(tree.rfcs), "C-OEN/1")
