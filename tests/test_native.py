"""Standard error of native libraries is hidden only during the block."""

import gc
import logging
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


def test_loaded_objects_are_excluded_from_garbage_collection():
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]


def test_later_objects_are_garbage_collected():
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


def test_too_little_address_space_is_reported_without_abort():
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "the limit of address space is too low for TensorFlow: expected at least 4,294,967,296 bytes" in done.stderr


@pytest.mark.parametrize(
    ("message", "is_shown"),
    [("`%s` is not a valid tf.function parameter name. Sanitizing to `%s`.", False), ("%s of %s", True)],
)
def test_names_of_columns_are_no_warning(message, is_shown, caplog):
    native.import_tensorflow()
    logging.getLogger("absl").warning(message, "13", "arg_13")
    assert bool(caplog.records) == is_shown
