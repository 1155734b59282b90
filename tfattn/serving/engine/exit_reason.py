"""The reason why a process ended, in one line, extracted from its exit code and standard error."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path

# Lines of TensorFlow's log: `I0000 00:00:1795.1 123 file.cc:9] ...`, `2031-05-06 07:08:09.1: W tensorflow/...`. Fatal
# lines have the level F and end the process.
_TIME = r"\d{4}-\d\d-\d\d [\d:.]+: "
_NATIVE = re.compile(rf"[IWE]\d{{4}} [\d:.]+ |{_TIME}[IWE] |WARNING: All log messages before")
_FATAL = re.compile(rf"(?:F\d{{4}} [\d:.]+ |{_TIME}F )[^\]]*\] (.*)")
_NO_INSTRUCTION = "the processor lacks an instruction of TensorFlow or LiteRT; set `engine` to the other"
_TRACEBACK = "Traceback (most recent call last):"

VMSTAT = Path("/proc/vmstat")


def exit_reason(exit_code: int, errors: str, *, killed_because: str = "", out_of_memory: bool = False) -> str:
    """Return the reason why a process ended, in one line.

    Args:
        exit_code: the exit code of multiprocessing: the exit status, or the negative number of a signal.
        errors: the end of the process's standard error.
        killed_because: why the server killed the process; empty if the server did not.
        out_of_memory: whether the kernel has killed processes meanwhile because memory ran out.

    Example:
        >>> exit_reason(-9, "", out_of_memory=True)
        'SIGKILL, as memory ran out'
    """
    ending = f"exit status {exit_code}" if exit_code >= 0 else _signal_name(-exit_code)
    if exit_code == -signal.SIGKILL:
        because = killed_because or ("memory ran out" if out_of_memory else "")
        return f"{ending}, as {because}" if because else ending  # SIGKILL leaves no time for a message
    message = _last_line(errors) or (_NO_INSTRUCTION if exit_code == -signal.SIGILL else "")
    return f"{ending}: {message}" if message else ending


def out_of_memory_kills() -> int:
    """Return the number of processes that the kernel has killed since boot because memory ran out."""
    try:
        found = re.search(r"^oom_kill (\d+)$", VMSTAT.read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0


def _last_line(errors: str) -> str:
    """Return the message of an exception or a fatal error, or else the last line that is not a log line."""
    lines = errors.splitlines()
    if _TRACEBACK in lines:
        after = lines[len(lines) - lines[::-1].index(_TRACEBACK) :]
        raised = [line for line in after if line and not line[0].isspace()]
        if raised:
            return raised[0]
    messages = list(_without_logs(lines))
    return messages[-1] if messages else ""


def _without_logs(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if fatal := _FATAL.match(line):
            yield fatal[1]
        elif line.strip() and not _NATIVE.match(line):
            yield line.strip()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
