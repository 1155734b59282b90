"""TensorFlow, imported once by the fork server for the processes of all versions.

Only a process with a single thread forks safely, so OpenBLAS below NumPy must not start threads.
"""

import os

from tfattn import native

os.environ["OPENBLAS_NUM_THREADS"] = "1"

with native.errors_hidden():  # each process reports its own errors
    native.import_tensorflow()
    from tfattn.serving.engine import hosting  # noqa: F401
