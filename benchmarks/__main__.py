"""`python -m benchmarks [NAME ...]`: some of the benchmarks named here, or all of them without a name."""

import importlib
import os
import sys

NAMES = (
    "encoder",
    "tokenization",
    "reading",
    "fine_tuning",
    "translation_training",
    "translation_decoding",
    "decoding_cost",
)

if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    for name in sys.argv[1:] or NAMES:
        importlib.import_module(f"benchmarks.{name}").main()
