"""Where things lie, in a checkout and in an installed distribution alike.

Both have the four packages side by side; a checkout has the repository's own tests, documents and
governance files beside them. Nothing is read here but folder names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ownerlanes.rfcs.obligations import RfcError, folder

PACKAGES = ("reference", "gpu", "conformance", "rfcs")


@dataclass(frozen=True)
class Tree:
    """A checkout or an installed distribution; `root` holds the four packages."""

    root: Path

    @property
    def rfcs(self) -> Path:
        """The folder of the RFC."""
        return self.root / "rfcs"

    @property
    def is_checkout(self) -> bool:
        """Whether the repository's own tests are there too."""
        return (self.root / "pyproject.toml").is_file() and (self.root / "tests").is_dir()

    @property
    def gov(self) -> Path | None:
        """The governance folder of a checkout."""
        return self.root / "gov" if self.is_checkout else None

    def sources(self) -> Iterator[Path]:
        """Every Python file of the packages, sorted."""
        for package in PACKAGES:
            yield from sorted((self.root / package).rglob("*.py"))

    def tests(self) -> Iterator[Path]:
        """Every Python file that can hold tests: the kit's, and those of a checkout."""
        yield from sorted((self.root / "conformance").rglob("*.py"))
        if self.is_checkout:
            yield from sorted((self.root / "tests").rglob("*.py"))

    def documents(self) -> Iterator[Path]:
        """The Markdown and governance files of a checkout that cite clauses."""
        if self.is_checkout:
            yield from sorted(self.root.glob("*.md"))
            yield from sorted((self.root / "docs").rglob("*.md"))
            yield from sorted((self.root / "gov").glob("*/*.toml"))

    def name(self, path: Path) -> str:
        """A path as problems and test ids show it."""
        return path.relative_to(self.root).as_posix()


def find_tree(root: Path | None = None) -> Tree:
    """The tree at `root`, by default the one that this package belongs to.

    Raises:
        RfcError: a package is not there.
    """
    root = folder().resolve().parent if root is None else root.resolve()
    for package in PACKAGES:
        if not (root / package).is_dir():
            raise RfcError(f"{root}: expected the folder {package!r} of ownerlanes in it")
    return Tree(root)
