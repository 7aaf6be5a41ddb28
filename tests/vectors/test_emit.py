"""Emitted vectors: the same bytes anywhere, of the documented form, with evidence for the RFC."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ownerlanes.conformance.clauses import clause
from ownerlanes.conformance.vectors import store
from ownerlanes.conformance.vectors.emit import ROUNDS, emit
from ownerlanes.rfcs import obligations

NOT_DATA = {
    "C-OWNER-LANE-LAYOUT/4": "local_slot is an accessor, no answer of an allocator",
    "C-OWNER-LANE-LAYOUT/6": "pad_slot is an accessor",
    "C-OWNER-LANE-LAYOUT/9": "a refused layout has no history",
    "C-OWNER-LANE-LAYOUT/10": "a refused layout has no history",
    "C-REQUEST-LOCAL-PLANNING/9": "page_owners is a function beside the allocator",
    "C-UNSUPPORTED-PLANS/4": "constructing a request is no call of the allocator",
    "C-UNSUPPORTED-PLANS/5": "JSON has one kind of integer",
    "C-ATOMIC-BATCH/10": "classes of errors are a matter of Python",
    "C-ATOMIC-BATCH/11": "classes of errors are a matter of Python",
    "C-DETERMINISTIC-SELECTION/5": "equality of snapshots is a matter of Python",
    "C-DETERMINISTIC-SELECTION/6": "an answer that was written down cannot change",
    "C-CAPACITY-AND-EVICTION/5": "messages are free text",
    **{f"C-LANE-EVICTION/{n}": "of the prefix cache, not the allocator" for n in range(13, 26)},
    **{f"C-RELEASE/{n}": "deferred release needs tensors of a device" for n in range(7, 12)},
    "C-REPLICA-DETERMINISM/5": "deferred release needs tensors of a device",
    "C-REPLICA-DETERMINISM/6": "of ReplicaGuard",
    "C-REPLICA-DETERMINISM/7": "of ReplicaGuard",
}


def test_every_obligation_that_is_data_has_evidence(quick: Path) -> None:
    manifest = json.loads((quick / store.MANIFEST).read_bytes())
    without = {cited.removeprefix("RFC-0001:") for cited in manifest["without_evidence"]}
    assert {cited for cited in without if not cited.startswith("C-DIRECT-WRITE/")} == set(NOT_DATA)
    known = [obligation.id for obligation in obligations.load().obligations]
    assert sorted(manifest["clauses"] + manifest["without_evidence"]) == sorted(known)


@clause("RFC-0001:C-REPLICA-DETERMINISM/4")
def test_same_bytes_in_another_process(quick: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "LC_ALL": "C", "TZ": "Asia/Tokyo"}
    script = "import sys; from ownerlanes.conformance.vectors.emit import emit; from pathlib import"
    script += " Path; emit(Path(sys.argv[1])); assert 'hypothesis' not in sys.modules"
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, env=environment)
    assert _hashes(tmp_path) == _hashes(quick)


def test_another_seed_is_another_set_of_the_same_size(quick: Path, tmp_path: Path) -> None:
    emit(tmp_path, seed=1)
    assert _hashes(tmp_path).keys() == _hashes(quick).keys()
    assert _hashes(tmp_path)["chunk.jsonl"] != _hashes(quick)["chunk.jsonl"]
    for folder in (tmp_path, quick):
        assert sum(path.stat().st_size for path in folder.iterdir()) <= 10**6
    assert ROUNDS["full"] >= 10 * ROUNDS["quick"]


def test_manifest_and_every_line_fit_the_schema(quick: Path) -> None:
    schema = json.loads((quick / store.SCHEMA).read_bytes())
    jsonschema.Draft202012Validator.check_schema(schema)
    manifest = json.loads((quick / store.MANIFEST).read_bytes())
    _definition(schema, "manifest").validate(manifest)
    assert manifest["rfc"]["sha256"] == obligations.load().sha256
    vector_form = _definition(schema, "vector")
    for entry in manifest["files"]:
        lines = (quick / entry["file"]).read_text(encoding="ascii").splitlines()
        assert len(lines) == entry["vectors"]
        for text in lines[::3]:  # the schema's own checks are slow
            vector_form.validate(json.loads(text))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("steps", 0, "expect", "digest"), "0"),
        (("steps", 0, "op"), "fork"),
        (("layout", "page_size"), 0),
        (("steps", 0, "expect", "comment"), "a field that is not known"),
        (("clauses",), ["C-FLATTENED-ORDER"]),
    ],
)
def test_schema_refuses(quick: Path, place: tuple[Any, ...], value: object) -> None:
    schema = json.loads((quick / store.SCHEMA).read_bytes())
    vector = json.loads((quick / "capacity.jsonl").read_text().splitlines()[0])
    target = vector
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = value
    assert not _definition(schema, "vector").is_valid(vector)


def _definition(schema: dict[str, Any], name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})


def _hashes(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
