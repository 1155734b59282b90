"""A process that parses and compiles grammars first, with limits on processor time and memory.

llguidance compiles most grammars within milliseconds, but a few, such as several `multipleOf` of a number, take minutes
and gigabytes, and cannot be stopped in the same process. A grammar that compiles here is safe to compile again.
"""

import contextlib
import json
import math
import os
import resource
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from llguidance import LLMatcher

from tfattn.errors import ServingError
from tfattn.guidance.grammar import Alphabet, field_grammar
from tfattn.guidance.matcher import compile_grammar, matcher_error
from tfattn.guidance.vocabulary import Vocabulary

PROCESSOR_SECONDS = 2
MEMORY = 1 << 30  # bytes of address space


class Sandbox:
    """A separate process for the fields of requests, which starts at the first request.

    Thread-safe; requests wait for each other.

    Example:
        >>> Sandbox().grammar("guided_choice", ["yes", "no"]).splitlines()[-1]
        'TEXT: "yes" | "no"'
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def grammar(self, name: str, value: Any, alphabet: Alphabet = None) -> str:
        """Return the grammar of a field, see `grammar.field_grammar`.

        Raises:
            ServingError: the field is invalid, no text is valid, or compilation exceeds the limits.
        """
        with self._lock:
            process = self._running()
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps([name, value, alphabet]).encode() + b"\n")
                process.stdin.flush()
            reply = process.stdout.readline()
            if not reply:
                process.wait()
                raise ServingError(
                    "the guide takes too much computation",
                    where=name,
                    expected=f"at most {PROCESSOR_SECONDS} s and {MEMORY >> 20:,} MiB to compile it",
                    remedy="Simplify it: use fewer patterns, factors and choices at the same time.",
                )
        grammar, error = json.loads(reply)
        if error is not None:
            raise ServingError(error.pop("what"), **error)
        return grammar

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-c", "from tfattn.guidance.sandbox import serve; serve()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
            weakref.finalize(self, _end, self._process)
        return self._process


def serve() -> None:
    """Answer requests from standard input, a JSON line each, until it is closed."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    vocabulary = Vocabulary([bytes([value]) for value in range(256)])
    for line in sys.stdin.buffer:
        with _limited():
            reply = _reply(vocabulary, *json.loads(line))
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


def _reply(vocabulary: Vocabulary, name: str, value: Any, alphabet: Alphabet) -> tuple[str, dict[str, str] | None]:
    try:
        grammar = field_grammar(name, value, alphabet)
        matcher: LLMatcher = compile_grammar(vocabulary, grammar, where=name)
        matcher.compute_bitmask()
        if matcher.is_error():
            raise matcher_error(matcher, where=name)
    except ServingError as error:
        return "", {part: getattr(error, part) for part in ("what", "where", "expected", "received", "remedy")}
    return grammar, None


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Limit the processor time of a block; the kernel ends the process if it takes longer."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    until = math.ceil(usage.ru_utime + usage.ru_stime) + PROCESSOR_SECONDS
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (until, hard))
    yield
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, hard))


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()
