"""The file benchmarks/RESULTS.md: results with their command, date and machine.

A benchmark returns tables. `publish` prints them and, with `--record`, replaces the earlier tables of the same command.
All other text in the file is written by hand and unchanged.
"""

import argparse
import datetime
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")
RECORD = "--record"
END = "<!-- end -->"


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of results with a row per candidate, converted to Markdown by `str`.

    Args:
        title: a line that names the measurement.
        columns: the column headers, first the candidates.
        rows: the cells of each row.
        notes: sentences below the table.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def __str__(self) -> str:
        lines = [[cell.replace("|", "\\|") for cell in row] for row in (self.columns, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
        head, *body = [_line(cells, widths) for cells in lines]
        return "\n".join(
            [f"{self.title}:", "", head, _line(rule, widths), *body, *(f"\n{note}" for note in self.notes)]
        )


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add `--record` to the command line of a benchmark."""
    parser.add_argument(RECORD, action="store_true", help=f"write the tables to {RESULTS.parent.name}/{RESULTS.name}")


def own_command() -> str:
    """Return the command of this process, without `--record`."""
    module = sys.modules["__main__"].__spec__.name.removesuffix(".__main__")
    return " ".join(["python -m", module, *(word for word in sys.argv[1:] if word != RECORD)])


def publish(tables: Iterable[Table], *, command: str, record: bool) -> None:
    """Print tables as they are computed, and record them at the end.

    Args:
        tables: the tables, possibly computed on iteration.
        command: the command that measures them.
        record: whether to write them to RESULTS.md.
    """
    seen = []
    for table in tables:
        print(f"\n{table}", flush=True)
        seen.append(table)
    if record:
        text = RESULTS.read_text(encoding="utf-8")
        RESULTS.write_text(replace_section(text, seen, command=command, where=_day_and_machine()), encoding="utf-8")


def replace_section(text: str, tables: Sequence[Table], *, command: str, where: str) -> str:
    """Return the text of the results file with new tables of a command.

    Args:
        text: the text of the file; an unknown command is appended.
        tables: the new tables.
        command: the command, which identifies the tables.
        where: the date and the machine.
    """
    begin = f"<!-- {command} -->"
    section = "\n\n".join([begin, f"```sh\n{command}\n```", where, *map(str, tables), END])
    old = re.compile(f"{re.escape(begin)}.*?{re.escape(END)}", re.DOTALL)
    if old.search(text):
        return old.sub(lambda _: section, text, count=1)
    return f"{text.rstrip()}\n\n{section}\n"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return " | ".join(["| " + first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]) + " |"


def _day_and_machine() -> str:
    import tensorflow as tf

    from tfattn.training.environment import device
    from tfattn.training.precision import fastest
    from tfattn.training.runtime import num_cores

    machine = f"{device(1)}, {num_cores()} cores, {fastest()[0]} unless stated otherwise, TensorFlow {tf.__version__}"
    return f"{datetime.date.today()}: {machine}."
