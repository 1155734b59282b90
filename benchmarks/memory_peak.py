"""Time and peak memory of a command: `python -m benchmarks.memory_peak COMMAND ...`.

Memory is that of all processes of the machine, MemTotal minus MemAvailable, sampled each second; shared memory counts
once. Run no other programs on the machine.
"""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MEMINFO = Path("/proc/meminfo")
GIB = 2**20  # in the unit of /proc/meminfo


@dataclass(frozen=True)
class Measured:
    """The cost of a command.

    Attributes:
        status: the exit status.
        seconds: the wall time.
        cpu_seconds: the CPU time of all its processes that have ended.
        before, peak: memory in use, in GiB.
        peak_at: seconds from the start to the peak.
    """

    status: int
    seconds: float
    cpu_seconds: float
    before: float
    peak: float
    peak_at: float

    def __str__(self) -> str:
        return (
            f"{self.seconds:.0f} s, {self.cpu_seconds:.0f} s of CPU; memory {self.before:.1f} GiB before, "
            f"{self.peak:.1f} GiB at the peak after {self.peak_at:.0f} s"
        )


def memory_in_use() -> float:
    """Return the memory in use, in GiB."""
    lines = (line.split() for line in MEMINFO.read_text().splitlines())
    values = {name.rstrip(":"): int(value) for name, value, *_ in lines}
    return (values["MemTotal"] - values["MemAvailable"]) / GIB


def measure(command: Sequence[str], *, interval: float = 1.0) -> Measured:
    """Run a command with the standard streams of this process, and sample memory until it ends."""
    before = memory_in_use()
    peak, peak_at = before, 0.0
    started = time.perf_counter()
    with subprocess.Popen(command) as process:
        while True:
            try:
                process.wait(timeout=interval)
                break
            except subprocess.TimeoutExpired:
                if (now := memory_in_use()) > peak:
                    peak, peak_at = now, time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Measured(
        status=process.returncode,
        seconds=time.perf_counter() - started,
        cpu_seconds=used.ru_utime + used.ru_stime,
        before=before,
        peak=peak,
        peak_at=peak_at,
    )


def parser() -> argparse.ArgumentParser:
    """Create the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory_peak", description=__doc__)
    parser.add_argument("command", nargs=argparse.REMAINDER, help="such as: make test")
    return parser


if __name__ == "__main__":
    arguments = parser().parse_args()
    if not arguments.command:
        sys.exit("expected a command, such as: python -m benchmarks.memory_peak make test")
    result = measure(arguments.command)
    print(result, file=sys.stderr)
    sys.exit(result.status)
