"""The cost of a command: its own status, time and memory."""

import sys

from benchmarks.memory_peak import measure, memory_in_use

HOLD = "import time; held = bytearray(b'x') * 2**28; time.sleep(0.3); raise SystemExit(3)"


def test_status_time_and_memory_of_a_command_are_measured():
    cost = measure([sys.executable, "-c", HOLD], interval=0.02)
    assert cost.status == 3
    assert cost.seconds > 0.3 and cost.cpu_seconds > 0
    assert cost.peak >= cost.before > 0
    assert 0 <= cost.peak_at <= cost.seconds
    assert str(cost).startswith(f"{cost.seconds:.0f} s, ")


def test_memory_in_use_is_less_than_the_memory_of_the_machine():
    assert 0 < memory_in_use() < 4096
