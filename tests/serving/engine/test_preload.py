"""The fork server of the processes of versions."""

import subprocess
import sys

COUNT = "import os; from tfattn.serving.engine import preload; print(len(os.listdir('/proc/self/task')))"


def test_the_fork_server_has_one_thread():
    counted = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
    assert counted.stdout.strip() == "1"
