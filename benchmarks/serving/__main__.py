"""Measure the built-in server with an export: `python -m benchmarks.serving COMMAND EXPORT`.

COMMAND: throughput or switches, both with a comma, or all.
EXPORT: the folder of an exported classifier of texts or of rows of a table.
Each command starts its own server.
"""

import argparse
import importlib
import os
from collections.abc import Iterator
from pathlib import Path

from benchmarks import results

COMMANDS = ("throughput", "switches")


def parser() -> argparse.ArgumentParser:
    """Create the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", help="a command, or several with a comma")
    parser.add_argument("export", type=Path)
    parser.add_argument("--reports", type=Path, help="texts to ask about: lines, or a csv file with `Description`")
    parser.add_argument("--rows", type=Path, help="a csv or tsv file of rows to ask about, for a model of tables")
    parser.add_argument("--short", action="store_true", help="a minute or less, for a first look")
    results.add_option(parser)
    return parser


def main(arguments: argparse.Namespace) -> Iterator[results.Table]:
    """Run the commands in order."""
    from benchmarks.serving.exports import reports, rows

    asked = rows(arguments.rows, arguments.export) if arguments.rows else reports(arguments.reports)
    for name in COMMANDS if arguments.command == "all" else arguments.command.split(","):
        command = importlib.import_module(f"benchmarks.serving.{name}")
        yield command.main(arguments.export, asked, short=arguments.short)


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    options = parser().parse_args()
    results.publish(main(options), command=results.own_command(), record=options.record)
