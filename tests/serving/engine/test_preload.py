"""What processes of versions are forked from."""

import subprocess
import sys

COUNT = "import os; from tfattn.serving.engine import preload; print(len(os.listdir('/proc/self/task')))"


def test_what_is_forked_has_one_thread():
    counted = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
    assert counted.stdout.strip() == "1"
