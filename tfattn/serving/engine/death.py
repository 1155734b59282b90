"""The reason why a process ended, in one line, taken from its standard error."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path

# Lines of TensorFlow's log: `I0000 00:00:1795.1 123 file.cc:9] ...`, `2031-05-06 07:08:09.1: W tensorflow/...`. The
# fatal ones, which begin with F, end a process.
_TIME = r"\d{4}-\d\d-\d\d [\d:.]+: "
_NATIVE = re.compile(rf"[IWE]\d{{4}} [\d:.]+ |{_TIME}[IWE] |WARNING: All log messages before")
_FATAL = re.compile(rf"(?:F\d{{4}} [\d:.]+ |{_TIME}F )[^\]]*\] (.*)")
_TRACEBACK = "Traceback (most recent call last):"

VMSTAT = Path("/proc/vmstat")


def reason(exit_code: int, errors: str, *, killed_because: str = "", out_of_memory: bool = False) -> str:
    """Find the reason why a process ended.

    Args:
        exit_code: as multiprocessing gives it: the exit status, or a signal's number below zero.
        errors: the last of what it wrote to standard error.
        killed_because: why the server has killed it; empty where it has not.
        out_of_memory: whether the kernel has ended processes meanwhile because memory ran out.

    Example:
        >>> reason(-9, "", out_of_memory=True)
        'SIGKILL, as memory ran out'
    """
    ending = f"exit status {exit_code}" if exit_code >= 0 else _signal_name(-exit_code)
    if exit_code == -signal.SIGKILL:
        because = killed_because or ("memory ran out" if out_of_memory else "")
        return f"{ending}, as {because}" if because else ending  # it had no time to say anything
    said = _last_line(errors)
    return f"{ending}: {said}" if said else ending


def out_of_memory_kills() -> int:
    """Count the processes that the kernel has ended because memory ran out, since the machine started."""
    try:
        found = re.search(r"^oom_kill (\d+)$", VMSTAT.read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0


def _last_line(errors: str) -> str:
    """Find the message of an exception or of a fatal error, or else the last line that is not a log line."""
    lines = errors.splitlines()
    if _TRACEBACK in lines:
        after = lines[len(lines) - lines[::-1].index(_TRACEBACK) :]
        raised = [line for line in after if line and not line[0].isspace()]
        if raised:
            return raised[0]
    said = list(_without_logs(lines))
    return said[-1] if said else ""


def _without_logs(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if fatal := _FATAL.match(line):
            yield fatal[1]
        elif line.strip() and not _NATIVE.match(line):
            yield line.strip()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time one
        return f"signal {number}"
