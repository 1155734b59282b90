"""`python -m benchmarks [NAME ...] [--record]`: some of the benchmarks named here, or all of them without a name."""

import argparse
import importlib
import os

from benchmarks import results

NAMES = (
    "encoder",
    "tokenization",
    "features",
    "reading",
    "image_input",
    "fine_tuning",
    "vision",
    "pretraining",
    "translation_training",
    "translation_decoding",
    "decoding_cost",
    "generation",
    "weight_reading",
    "streaming",
    "guidance",
    "word2vec",
    "attention_page",
)


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    # Without a name, argparse looks for the empty list among the choices.
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*NAMES, []], help=", ".join(NAMES))
    results.add_option(parser)
    return parser


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    arguments = parser().parse_args()
    for name in arguments.names or NAMES:
        tables = importlib.import_module(f"benchmarks.{name}").main()
        results.publish(tables, command=f"python -m benchmarks {name}", record=arguments.record)
