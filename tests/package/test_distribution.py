"""What a user gets: wheel and source distribution, and the documents that go with them."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

PACKAGES = ("reference", "gpu", "conformance", "rfcs")


@pytest.fixture(scope="module")
def built(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=root,
        check=True,
        capture_output=True,
    )
    return folder


def test_wheel_holds_the_packages_under_their_import_names(built: Path, root: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for package in PACKAGES:
        assert f"ownerlanes/{package}/__init__.py" in names
        assert f"ownerlanes/{package}/py.typed" in names
        for path in (root / package).rglob("*.py"):
            assert f"ownerlanes/{path.relative_to(root)}" in names
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"ownerlanes"}


def test_source_distribution_can_be_built_from(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"} <= names
    for package in PACKAGES:
        assert f"{package}/__init__.py" in names


def test_changelog_names_the_version(root: Path) -> None:
    version = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    assert re.search(rf"^## \[{re.escape(version)}\]", (root / "CHANGELOG.md").read_text(), re.M)


def test_toy_of_the_readme_conforms_as_far_as_it_claims(root: Path, tmp_path: Path) -> None:
    """One clause of it, in the words of the README."""
    blocks = re.findall(r"```python\n(.*?)```", (root / "README.md").read_text(), re.S)
    (toy,) = (block for block in blocks if "class Toy" in block)
    (tmp_path / "toy.py").write_text(toy)
    command = [
        "conformance",
        "--allocator=toy:Toy",
        "--report=report",
        "--clause=C-FLATTENED-ORDER",
    ]

    def run() -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-m", "ownerlanes.conformance.main", *command]
        return subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)

    good = run()
    assert good.returncode == 0, good.stdout + good.stderr
    assert "toy:Toy conforms" in good.stdout
    assert (tmp_path / "report" / "report.html").is_file()
    (tmp_path / "toy.py").write_text(toy.replace(" + request.phase", ""))
    bad = run()
    assert bad.returncode == 1, bad.stdout + bad.stderr
    assert "is violated" in bad.stdout


def test_library_example_of_the_readme_runs(root: Path) -> None:
    """Runs the first Python block and compares what it prints with the text block after it."""
    text = (root / "README.md").read_text()
    found = re.search(r"```python\n(.*?)```\s*```text\n(.*?)```", text, re.S)
    assert found is not None, "README.md has no Python block followed by a text block"
    program, printed = found.groups()
    assert len(program.splitlines()) <= 12
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout) == (0, printed), run.stderr
