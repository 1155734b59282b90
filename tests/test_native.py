"""What native libraries write to standard error is hidden for as long as it should be."""

import os

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
