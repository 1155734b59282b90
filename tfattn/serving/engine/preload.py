"""TensorFlow for the processes of versions, loaded once by the process from which they are forked.

A process with one thread may be forked without care; the libraries of linear algebra below NumPy would start some.
"""

import os

from tfattn import native

os.environ["OPENBLAS_NUM_THREADS"] = "1"

with native.errors_hidden():  # what goes wrong, each process says itself
    native.import_tensorflow()
    from tfattn.serving.engine import hosting  # noqa: F401
