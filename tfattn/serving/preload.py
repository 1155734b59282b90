"""What the processes of versions have in common: TensorFlow, loaded once by the process that they are forked from.

A process with one thread may be forked without care; the libraries of linear algebra below NumPy would start some.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
errors = os.dup(2)
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # TensorFlow has much to say; what goes wrong, each process says itself

from tfattn.serving import hosting  # noqa: E402, F401

os.dup2(errors, 2)
os.close(errors)
