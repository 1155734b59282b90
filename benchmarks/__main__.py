"""Run benchmarks by name, or all: `python -m benchmarks [NAME ...] [--record]`."""

import argparse
import importlib
import os

from benchmarks import results

NAMES = (
    "encoder",
    "litert",
    "tokenization",
    "features",
    "reading",
    "image_input",
    "fine_tuning",
    "vision",
    "pretraining",
    "translation_training",
    "translation_decoding",
    "architectures",
    "decoders",
    "decoding_cost",
    "generation",
    "litert_decoding",
    "litert_quality",
    "weight_reading",
    "streaming",
    "guidance",
    "tool_calls",
    "word2vec",
    "attention_page",
    "label_errors",
    "written",
)


def parser() -> argparse.ArgumentParser:
    """Create the parser of the command line."""
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
