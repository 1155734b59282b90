"""What native libraries write to standard error is hidden for as long as it should be."""

import gc
import os
import subprocess
import sys

import pytest

from tfattn import native


def test_standard_error_is_hidden_while_the_block_runs(capfd):
    with native.errors_hidden():
        os.write(2, b"hidden")
    os.write(2, b"seen")
    with pytest.raises(ValueError), native.errors_hidden():
        raise ValueError
    os.write(2, b" again")
    assert capfd.readouterr().err == "seen again"


def test_no_file_is_left_open():
    before = os.listdir("/proc/self/fd")
    with native.errors_hidden():
        pass
    assert os.listdir("/proc/self/fd") == before


LOADED = """
import gc
from tfattn import native
native.import_tensorflow()
print(gc.isenabled(), gc.get_freeze_count() > 100_000)
"""


def test_what_is_loaded_is_never_looked_through_for_garbage():
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]


def test_what_is_made_later_is_looked_through_for_garbage():
    frozen = gc.get_freeze_count()
    native.with_tensorflow("tfattn.native")
    assert gc.isenabled() and gc.get_freeze_count() == frozen


LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (2_500_000_000, resource.RLIM_INFINITY))
from tfattn import native
from tfattn.cli import program
program.app = native.import_tensorflow
program.main()
"""


def test_too_little_address_space_is_one_message_and_no_abort():
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "the limit of address space is too low for TensorFlow: expected at least 4,294,967,296 bytes" in done.stderr
