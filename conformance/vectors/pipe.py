"""A process that is asked by lines: one JSON value a line in, one a line out.

It starts the command, writes and reads with a time limit, and says in one sentence what went wrong
when there is no answer. It knows nothing of allocators. Losing the process is never an answer, so
it is told by an exception that no code takes for one.
"""

from __future__ import annotations

import json
import os
import selectors
import shlex
import subprocess
import tempfile
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from ownerlanes.conformance.vectors.store import line

LONGEST_LINE = 64 * 2**20
"""More than any answer needs; an engine that never ends its line is stopped here."""


class EngineLostError(BaseException):
    """The process cannot be asked any more; this says nothing about its conformance.

    Not an Exception: whatever plays steps takes those for the allocator's answers.
    """


class Engine:
    """A started command.

    Args:
        command: program and arguments, split as a shell would; no shell runs.
        timeout: seconds for one answer.

    Raises:
        EngineLostError: the command does not start.
    """

    def __init__(self, command: str, *, timeout: float = 10.0) -> None:
        self.command = command
        self._timeout = timeout
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._received = b""
        self._asked = "nothing"
        try:
            self._process = subprocess.Popen(
                shlex.split(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
            )
        except (OSError, ValueError, IndexError) as fault:
            self._errors.close()
            raise EngineLostError(f"{command!r} does not start: {fault}") from fault
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        os.set_blocking(self._to.fileno(), False)

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close its input, and end it where it does not end by itself at once."""
        self._to.close()
        try:
            self._process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._from.close()
        self._errors.close()

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Send one line and read the answer's.

        Raises:
            EngineLostError: it ended, took too long, or wrote what is no JSON object; or the
                question has no JSON form.
        """
        try:
            text = line(question)
        except (TypeError, ValueError) as fault:
            raise EngineLostError(f"no JSON form of {question!r}: {fault}") from None
        self._asked = text if len(text) <= 300 else f"{text[:300]} ... ({len(text)} characters)"
        answer = self._exchange(f"{text}\n".encode("ascii"))
        try:
            value = json.loads(answer)
        except ValueError:
            raise self._lost(f"wrote what is not JSON: {answer[:200]!r}") from None
        if not isinstance(value, dict):
            raise self._lost(f"wrote JSON that is no object: {answer[:200]!r}")
        return value

    def _exchange(self, waiting: bytes) -> bytes:
        deadline = time.monotonic() + self._timeout
        with selectors.DefaultSelector() as selector:
            selector.register(self._from, selectors.EVENT_READ)
            selector.register(self._to, selectors.EVENT_WRITE)
            while b"\n" not in self._received:
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    raise self._lost(f"gave no answer within {self._timeout:g} s")
                for key, _ in ready:
                    if key.fileobj is self._from:
                        self._receive()
                    else:
                        waiting = self._send(waiting)
                        if not waiting:
                            selector.unregister(self._to)
        answer, _, self._received = self._received.partition(b"\n")
        if waiting or self._received.strip():
            raise self._lost(f"wrote more than one line for one question: {answer[:200]!r}")
        return answer

    def _send(self, waiting: bytes) -> bytes:
        try:
            return waiting[os.write(self._to.fileno(), waiting[:65536]) :]
        except BrokenPipeError:
            raise self._lost("closed its input") from None

    def _receive(self) -> None:
        received = os.read(self._from.fileno(), 65536)
        if not received:
            raise self._lost("closed its output")
        self._received += received
        if len(self._received) > LONGEST_LINE:
            raise self._lost(f"wrote a line of more than {LONGEST_LINE} bytes")

    def _lost(self, what: str) -> EngineLostError:
        """What went wrong, how the process ended, and the end of what it wrote to stderr."""
        try:
            status = f"it exited with status {self._process.wait(timeout=0.2)}"
        except subprocess.TimeoutExpired:
            status = "it is still running"
        self._errors.seek(0)
        told = self._errors.read()[-2000:].decode("utf-8", "replace").strip()
        return EngineLostError(
            f"{self.command!r} {what} ({status}); it was asked {self._asked}"
            + (f"; its standard error ends with:\n{told}" if told else "")
        )
