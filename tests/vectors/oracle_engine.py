"""The oracle behind the pipe, whole: what an engine answers, and ways of answering badly.

Run as `python oracle_engine.py [FAULT]`; FAULT is a key of FAULTS. It is the pipe's other end in
tests, and shows how an engine plays the evictor's script.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from ownerlanes.conformance.evictors import ScriptedEvictor
from ownerlanes.conformance.operations import step_from_json
from ownerlanes.conformance.player import Player
from ownerlanes.conformance.vectors.codec import calls_to_json, error_to_json, result_to_json
from ownerlanes.reference import LaneLayout, ReferenceAllocator


class Engine:
    """One allocator at a time, with an evictor that follows the script of the step at hand."""

    player: Player

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        match question["op"]:
            case "hello":
                return {"result": {"name": "the oracle", "capabilities": {}}}
            case "new":
                layout = LaneLayout(**question["layout"])
                evictor = ScriptedEvictor(layout) if question["evictor"] else None
                self.player = Player(ReferenceAllocator(layout, evictor), evictor)
                return {"result": None}
            case "available_pages":
                return {"result": self.player.allocator.available_pages()}
            case "snapshot":
                return {"result": self.player.allocator.snapshot().free}
            case "digest":
                return {"result": self.player.allocator.digest()}
        step = step_from_json(question)
        outcome = self.player.play(step)
        calls = self.player.evictor.calls if self.player.evictor else []
        told = {"evictor": calls_to_json(calls)} if calls else {}
        if outcome.error is not None:
            return {"error": error_to_json(outcome.error), **told}
        return {"result": result_to_json(step, outcome.result), **told}


def wrong_lane(answer: dict[str, Any]) -> None:
    if isinstance(answer.get("result"), dict) and answer["result"].get("out_cache_loc"):
        answer["result"]["out_cache_loc"][-1] += 10**6


def wrong_deficit(answer: dict[str, Any]) -> None:
    if answer.get("error", {}).get("type") == "CapacityWaitError":
        answer["error"]["deficit"][0] += 1


def wrong_wait(answer: dict[str, Any]) -> None:
    if answer.get("error", {}).get("type") == "CapacityWaitError":
        answer["error"]["can_wait"] = not answer["error"]["can_wait"]


def no_deficit(answer: dict[str, Any]) -> None:
    answer.get("error", {}).pop("deficit", None)


def own_error(answer: dict[str, Any]) -> None:
    if "error" in answer:
        answer["error"] = {"type": "OutOfMemory", "message": "no pages"}


def silent_evictor(answer: dict[str, Any]) -> None:
    answer.pop("evictor", None)


FAULTS = {
    fault.__name__: fault
    for fault in (wrong_lane, wrong_deficit, wrong_wait, no_deficit, own_error, silent_evictor)
}


def main(fault: str) -> None:
    engine = Engine()
    for number, text in enumerate(sys.stdin):
        if fault == "exits" and number == 3:
            sys.exit(7)
        if fault == "crashes" and number == 3:
            raise RuntimeError("the engine's own bug")
        if fault == "hangs" and number == 3:
            time.sleep(60)
        answer = engine.answer(json.loads(text))
        if fault in FAULTS:
            FAULTS[fault](answer)
        lines = {
            "garbage": "allocating...",
            "no object": "[1]",
            "no result": "{}",
            "two lines": json.dumps(answer) + "\n{}",
        }
        print(lines.get(fault, json.dumps(answer)) if number == 3 or fault in FAULTS else
              json.dumps(answer), flush=True)  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
