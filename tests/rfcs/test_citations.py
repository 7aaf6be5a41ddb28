"""Every form in which a test can cite, read off the source without importing it."""

from ownerlanes.rfcs.citations import citations_of_tests, citations_of_texts
from ownerlanes.rfcs.coverage import cited_tests
from ownerlanes.rfcs.tree import Tree

MODULE = """
import pytest
from ownerlanes.conformance import clauses
from ownerlanes.conformance.clauses import clause
import a_module_that_does_not_exist

RFC = "RFC-0001"
ORDER = RFC + ":C-ORDER"
pytestmark = [clause("everywhere"), pytest.mark.slow]


@clause("plain", "second")
def test_plain(): ...


@pytest.mark.parametrize("n", [1])
@clauses.clause(ORDER)
async def test_constant(n): ...


@pytest.mark.clause(f"{ORDER}/{2}", f"{ORDER}/3")
def test_formatted(): ...


@clause("class")
class TestClass:
    pytestmark = clause("in class")

    @clause("method")
    def test_method(self): ...

    def helper(self): ...


@clause("machine")
class TestMachine(Base):
    settings = 1


TestBuilt = clause("built")(Machine.TestCase)


@clause("nobody")
def helper(): ...


@other("not a clause")
def test_other(): ...
"""


def found(tree: Tree) -> dict[str, tuple[str, ...]]:
    (tree.root / "tests" / "test_two.py").unlink()
    (tree.root / "conformance" / "suite" / "test_one.py").unlink()
    (tree.root / "tests" / "unit").mkdir()
    (tree.root / "tests" / "unit" / "test_forms.py").write_text(MODULE)
    cited = cited_tests(citations_of_tests(tree))
    prefix = "tests/unit/test_forms.py::"
    assert all(test.startswith(prefix) for tests in cited.values() for test in tests)
    return {name: tuple(test.removeprefix(prefix) for test in cited[name]) for name in cited}


def test_every_form_of_citing(tree: Tree) -> None:
    assert found(tree) == {
        "everywhere": (
            "TestBuilt",
            "TestClass::test_method",
            "TestMachine",
            "test_constant",
            "test_formatted",
            "test_other",
            "test_plain",
        ),
        "plain": ("test_plain",),
        "second": ("test_plain",),
        "RFC-0001:C-ORDER": ("test_constant",),
        "RFC-0001:C-ORDER/3": ("test_formatted",),
        "class": ("TestClass::test_method",),
        "in class": ("TestClass::test_method",),
        "method": ("TestClass::test_method",),
        "machine": ("TestMachine",),
        "built": ("TestBuilt",),
    }


def test_what_cannot_be_read_and_what_is_no_test_keep_their_places(tree: Tree) -> None:
    found(tree)
    citations = citations_of_tests(tree)
    assert [(c.line, c.test[-14:]) for c in citations if c.cited is None] == [
        (21, "test_formatted")
    ]
    assert [(c.line, c.cited) for c in citations if not c.test] == [(43, "nobody")]


def test_ids_in_sources_and_documents(tree: Tree) -> None:
    (tree.root / "gpu" / "pool.py").write_text(
        '"""[[RFC-0001:C-ONE]]\nRFC-0001:C-ONE/2, [[C-ON]] and RFC-0001: nothing."""\n'
    )
    (tree.root / "docs").mkdir()
    (tree.root / "docs" / "a.md").write_text("`RFC-0001:C-TWO/1`\n")
    places = {(c.path, c.line, c.cited) for c in citations_of_texts(tree)}
    assert places == {
        ("README.md", 1, "RFC-0001:C-ONE"),
        ("conformance/suite/test_one.py", 4, "RFC-0001:C-ONE/1"),
        ("docs/a.md", 1, "RFC-0001:C-TWO/1"),
        ("gov/work/2026-11-30-work.toml", 8, "RFC-0001:C-ONE"),
        ("gpu/pool.py", 1, "RFC-0001:C-ONE"),
        ("gpu/pool.py", 2, "C-ON"),
        ("gpu/pool.py", 2, "RFC-0001:C-ONE/2"),
        ("reference/pool.py", 1, "RFC-0001:C-ONE"),
    }
