"""The RFC as data: ids, numbers, hashes, and what an unknown id is answered with."""

import hashlib
from pathlib import Path

import pytest

from ownerlanes.rfcs.obligations import Clause, Obligation, RfcError, load
from ownerlanes.rfcs.tree import Tree

CLAUSES = [
    "C-SUMMARY",
    "C-TERMS",
    "C-OWNER-LANE-LAYOUT",
    "C-REQUEST-LOCAL-PLANNING",
    "C-PAGE-OWNERSHIP",
    "C-UNSUPPORTED-PLANS",
    "C-PHASE-SELECTION",
    "C-FLATTENED-ORDER",
    "C-ATOMIC-BATCH",
    "C-DETERMINISTIC-SELECTION",
    "C-CAPACITY-AND-EVICTION",
    "C-INFEASIBLE-DEMAND",
    "C-LANE-EVICTION",
    "C-RELEASE",
    "C-CONSERVATION",
    "C-REPLICA-DETERMINISM",
    "C-DIRECT-WRITE",
]
"""Binding: others cite these."""


def edit(tree: Tree, old: str, new: str) -> None:
    path = tree.rfcs / "RFC-0001" / "clauses" / "C-ONE.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_the_rfc_has_its_clauses_and_the_first_two_are_informative() -> None:
    rfc = load()
    assert [clause.name for clause in rfc.clauses] == CLAUSES
    assert [c.name for c in rfc.clauses if c.kind == "informative"] == ["C-SUMMARY", "C-TERMS"]


def test_the_capacity_clause_is_the_one_that_engines_know() -> None:
    clause = load().find("RFC-0001:C-CAPACITY-AND-EVICTION")
    assert isinstance(clause, Clause)
    about = (clause.title, clause.kind, clause.status, clause.since)
    assert about == ("Owner-lane capacity and eviction", "normative", "active", "0.1.0")
    keywords = [obligation.keyword for obligation in clause.obligations[:4]]
    assert keywords == ["SHOULD", "MUST", "MUST", "MUST"]


def test_an_item_is_an_obligation_and_goes_on_over_indented_lines(tree: Tree) -> None:
    assert load(tree.rfcs).find("C-ONE/2") == Obligation(
        clause="RFC-0001:C-ONE",
        number=2,
        keyword="MUST NOT",
        sentence="The thing MUST NOT be two or three.",
        line=15,
    )


def test_only_clauses_in_force_have_obligations(tree: Tree) -> None:
    ids = [obligation.id for obligation in load(tree.rfcs).obligations]
    assert ids == ["RFC-0001:C-ONE/1", "RFC-0001:C-ONE/2"]


def test_rewording_one_obligation_leaves_the_ids_of_the_others(tree: Tree) -> None:
    before = load(tree.rfcs)
    edit(tree, "The thing MUST be one.", "Any thing SHOULD be exactly one.")
    after = load(tree.rfcs)
    assert after.find("C-ONE/2") == before.find("C-ONE/2")
    assert after.find("C-ONE").id == before.find("C-ONE").id
    assert after.sha256 != before.sha256


def test_the_hash_of_a_clause_is_that_of_its_text(tree: Tree) -> None:
    text = (
        "Let x be a thing.\n\n1. The thing MUST be one.\n2. The thing MUST NOT be\n"
        "   two or three.\n\n**Rationale:** because of [[RFC-0001:C-TERMS]]."
    )
    clause = load(tree.rfcs).find("C-ONE")
    assert isinstance(clause, Clause)
    assert clause.sha256 == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("cited", "message"),
    [
        ("C-ON", "has no clause 'C-ON'; nearest: C-ONE"),
        ("C-ONE/3", "RFC-0001:C-ONE has obligations 1 to 2, no 3"),
        ("RFC-0002:C-ONE", "has no clause 'RFC-0002:C-ONE'"),
        ("c-one", "has no clause 'c-one'"),
        ("", "has no clause ''"),
    ],
)
def test_an_unknown_id_is_answered_with_the_nearest(tree: Tree, cited: str, message: str) -> None:
    with pytest.raises(RfcError, match=message):
        load(tree.rfcs).find(cited)


def test_a_missing_file_or_field_is_named(tree: Tree) -> None:
    edit(tree, 'title = "C-ONE title"\n', "")
    with pytest.raises(RfcError, match=r"C-ONE\.toml: add the field 'title'"):
        load(tree.rfcs)
    (tree.rfcs / "RFC-0001" / "clauses" / "C-ONE.toml").unlink()
    with pytest.raises(RfcError, match=r"C-ONE\.toml: the file is missing"):
        load(tree.rfcs)


def test_text_with_escapes_has_no_lines_and_is_refused(tree: Tree) -> None:
    edit(tree, "MUST be one.", "MUST be \\u0031.")
    with pytest.raises(RfcError, match="write the text without escapes"):
        load(tree.rfcs)


@pytest.mark.parametrize("kind", ["rfc", "clause", "work", "guard"])
def test_the_vendored_schemas_are_those_of_govctl(root: Path, shared: Path, kind: str) -> None:
    name = f"{kind}.schema.json"
    ours = (root / "rfcs" / "schema" / name).read_bytes()
    assert ours == (shared / "govctl-schema" / name).read_bytes()
