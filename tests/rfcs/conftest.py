"""A small checkout to break: two clauses in force, one superseded, two tests, one guard."""

import shutil
from pathlib import Path

import pytest

from ownerlanes.rfcs import coverage, render
from ownerlanes.rfcs.citations import citations_of_tests
from ownerlanes.rfcs.obligations import folder, load
from ownerlanes.rfcs.tree import Tree, find_tree

RFC = """#:schema ../schema/rfc.schema.json

[govctl]
id = "RFC-0001"
title = "Small"
version = "0.2.0"
status = "normative"
phase = "spec"
owners = ["@ownerlanes"]
created = "2026-11-30"

[[sections]]
title = "All"
clauses = [
    "clauses/C-TERMS.toml",
    "clauses/C-ONE.toml",
    "clauses/C-OLD.toml",
]

[[changelog]]
version = "0.2.0"
date = "2026-11-30"
notes = "Second."

[[changelog]]
version = "0.1.0"
date = "2026-11-29"
notes = "First."
"""

CLAUSE = """#:schema ../../schema/clause.schema.json

[govctl]
id = "{name}"
title = "{name} title"
kind = "{kind}"
{status}
since = "0.1.0"

[content]
text = \"\"\"
{text}

**Rationale:** because of [[RFC-0001:C-TERMS]].
\"\"\"
"""

ONE = """Let x be a thing.

1. The thing MUST be one.
2. The thing MUST NOT be
   two or three."""

TEST = """from ownerlanes.conformance.clauses import clause

{constant}
@clause({cited})
def test_{name}():
    pass
"""

WORK = """#:schema ../schema/work.schema.json

[govctl]
id = "WI-2026-11-30-001"
title = "Work"
status = "active"
created = "2026-11-30"
refs = ["RFC-0001:C-ONE"]

[content]
description = "Something to do."

[[content.acceptance_criteria]]
text = "It is done"
status = "pending"

[verification]
required_guards = ["GUARD-TESTS"]
"""

GUARD = """#:schema ../schema/guard.schema.json

[govctl]
id = "GUARD-TESTS"
title = "Tests pass"

[check]
command = "nox -s tests"
"""


def clause_file(name: str, text: str, kind: str = "normative", status: str = "active") -> str:
    about = f'status = "{status}"'
    if status == "superseded":
        about += '\nsuperseded_by = "C-ONE"'
    return CLAUSE.format(name=name, kind=kind, status=about, text=text)


def write_snapshot(tree: Tree) -> None:
    """Bring the page and the coverage snapshot of a tree up to date."""
    render.write(tree.rfcs)
    tests = coverage.cited_tests(citations_of_tests(tree))
    snapshot = coverage.snapshot_text(load(tree.rfcs), tests)
    (tree.rfcs / coverage.SNAPSHOT).write_text(snapshot, encoding="utf-8")


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    files = {
        "pyproject.toml": "",
        "README.md": "See [[RFC-0001:C-ONE]].\n",
        "reference/pool.py": '"""Serves [[RFC-0001:C-ONE]]."""\n',
        "gpu/pool.py": "",
        "conformance/suite/test_one.py": TEST.format(
            constant="", cited='"RFC-0001:C-ONE/1"', name="one"
        ),
        "tests/test_two.py": TEST.format(
            constant='ONE = "RFC-0001:C-ONE"\n', cited='f"{ONE}/2"', name="two"
        ),
        "rfcs/RFC-0001/rfc.toml": RFC,
        "rfcs/RFC-0001/clauses/C-TERMS.toml": clause_file(
            "C-TERMS", "- **thing**: x.", kind="informative"
        ),
        "rfcs/RFC-0001/clauses/C-ONE.toml": clause_file("C-ONE", ONE),
        "rfcs/RFC-0001/clauses/C-OLD.toml": clause_file("C-OLD", ONE, status="superseded"),
        "gov/config.toml": '[verification]\ndefault_guards = ["GUARD-TESTS"]\n',
        "gov/guard/tests.toml": GUARD,
        "gov/work/2026-11-30-work.toml": WORK,
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shutil.copytree(folder() / "schema", tmp_path / "rfcs" / "schema")
    (tmp_path / "gov" / "rfc").symlink_to("../rfcs")
    (tmp_path / "gov" / "schema").symlink_to("../rfcs/schema")
    made = find_tree(tmp_path)
    write_snapshot(made)
    return made
