"""Where vectors are kept: JSON Lines files, and a manifest with their hashes.

Reading checks everything that can be wrong with the files themselves, so that a damaged set is
never taken for an allocator's fault. Writing gives the same bytes for the same vectors anywhere.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ownerlanes.conformance.protocol import CouldNotRunError
from ownerlanes.conformance.vectors.record import Vector
from ownerlanes.rfcs.obligations import Rfc

FORMAT = "ownerlanes-vectors"
VERSION = 1
MANIFEST = "manifest.json"
SCHEMA = "vectors.schema.json"


def schema_bytes() -> bytes:
    """The JSON Schema of manifest, vectors and the pipe's lines, as shipped."""
    return importlib.resources.files(__package__).joinpath(SCHEMA).read_bytes()


def line(value: Mapping[str, Any]) -> str:
    """One line of JSON Lines, without its end: ASCII, no blanks, strict JSON.

    Raises:
        TypeError, ValueError: something in it has no JSON form.
    """
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def write_file(path: Path, vectors: Iterable[Vector]) -> None:
    """Write one JSON Lines file."""
    path.write_bytes("".join(f"{line(vector)}\n" for vector in vectors).encode("ascii"))


def write(
    folder: Path, files: Mapping[str, Sequence[Vector]], *, rfc: Rfc, seed: int, size: str
) -> None:
    """Write a set: one file for each name, the schema, and the manifest.

    Args:
        folder: made where it is missing.
        files: vectors by name of the file, without its ending.
        rfc: what the vectors give evidence for.
        seed, size: what they were emitted with.
    """
    folder.mkdir(parents=True, exist_ok=True)
    entries: list[dict[str, Any]] = []
    for name, vectors in files.items():
        path = folder / f"{name}.jsonl"
        write_file(path, vectors)
        entries.append(
            {
                "file": path.name,
                "vectors": len(vectors),
                "steps": sum(len(vector["steps"]) for vector in vectors),
                "sha256": _sha256(path),
            }
        )
    shown = {
        cited for vectors in files.values() for vector in vectors for cited in vector["clauses"]
    }
    known = [obligation.id for obligation in rfc.obligations]
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "rfc": {"id": rfc.id, "version": rfc.version, "sha256": rfc.sha256},
        "seed": seed,
        "size": size,
        "vectors": sum(entry["vectors"] for entry in entries),
        "steps": sum(entry["steps"] for entry in entries),
        "files": entries,
        "clauses": [cited for cited in known if cited in shown],
        "without_evidence": [cited for cited in known if cited not in shown],
    }
    (folder / SCHEMA).write_bytes(schema_bytes())
    text = json.dumps(manifest, indent=2, allow_nan=False)
    (folder / MANIFEST).write_bytes(f"{text}\n".encode("ascii"))


def read(path: Path) -> tuple[dict[str, Any] | None, list[Vector]]:
    """The manifest and the vectors of a folder, or the vectors of a single file (and None).

    Raises:
        CouldNotRunError: a file is missing, is not what the manifest says, or is no JSON Lines.
    """
    if path.is_file():
        return None, list(_read_lines(path))
    manifest = _manifest(path / MANIFEST)
    vectors: list[Vector] = []
    for entry in manifest["files"]:
        file = path / Path(entry["file"]).name
        if not file.is_file():
            raise CouldNotRunError(f"{file}: the manifest lists it and it is not there")
        if _sha256(file) != entry["sha256"]:
            raise CouldNotRunError(
                f"{file}: its SHA-256 is not the manifest's; expected {entry['sha256']}, "
                f"found {_sha256(file)}"
            )
        vectors.extend(_read_lines(file))
    return manifest, vectors


def _manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise CouldNotRunError(
            f"{path}: no such file; expected a set of vectors or one file"
        ) from None
    except ValueError as fault:
        raise CouldNotRunError(f"{path}: not JSON: {fault}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise CouldNotRunError(f"{path}: expected the manifest of a set of {FORMAT}")
    if manifest.get("version") != VERSION:
        raise CouldNotRunError(
            f"{path}: expected version {VERSION} of the format, found {manifest.get('version')}"
        )
    if not isinstance(manifest.get("files"), list):
        raise CouldNotRunError(f"{path}: expected the list `files`")
    return manifest


def _read_lines(path: Path) -> Iterator[Vector]:
    for number, text in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            vector = json.loads(text)
        except ValueError as fault:
            raise CouldNotRunError(f"{path}:{number}: not JSON: {fault}") from None
        if not isinstance(vector, dict):
            raise CouldNotRunError(f"{path}:{number}: expected a vector, found {text[:80]!r}")
        yield vector


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
