"""Recording of tables: a benchmark replaces only its own section of RESULTS.md."""

import argparse
import importlib
import re
import shlex
import sys

import pytest

from benchmarks import __main__ as all_benchmarks
from benchmarks import results
from benchmarks.results import RESULTS, Table
from benchmarks.timing import comparison

READING, OTHER = "python -m benchmarks reading", "python -m benchmarks reading --rows a.tsv"
COMMANDS = re.findall(r"^<!-- (python .*) -->$", RESULTS.read_text(encoding="utf-8"), flags=re.MULTILINE)


def table(rate: str) -> Table:
    return Table(title="reading", columns=["", "rows/s"], rows=[["tfattn", rate], ["a | b", "7"]], notes=["Shuffled."])


def record(text: str, rate: str, command: str = READING) -> str:
    return results.replace_section(text, [table(rate)], command=command, where="On a day.")


def test_a_new_command_is_appended_and_later_replaced():
    first = record(record("# Results\n\nBy hand.\n", "84,600"), "12", OTHER)
    assert first.index("By hand.") < first.index("84,600") < first.index("   12 |")
    second = record(first.replace("By hand.", "Said anew."), "90,000")
    assert second == first.replace("By hand.", "Said anew.").replace("84,600", "90,000")


def test_a_table_is_aligned_markdown_with_escaped_cells():
    title, _, head, rule, *rows, _, note = str(table("84,600")).splitlines()
    assert title == "reading:" and note == "Shuffled."
    assert rule == "| ------ | -----: |"
    assert {len(line) for line in (head, rule, *rows)} == {len(rule)}
    assert rows[1].split(" | ")[0].strip("| ") == r"a \| b"


def test_a_comparison_has_rates_and_ratios_to_the_first():
    shown = comparison("reading", {"tfattn": 2.0, "peer": 3.0}, unit="rows", amount=600)
    assert shown.rows == [["tfattn", "2", "300", ""], ["peer", "3", "200", "1.50"]]


def test_tables_are_recorded_only_on_request(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(results, "RESULTS", tmp_path / "RESULTS.md")
    results.RESULTS.write_text("By hand.\n")
    results.publish([table("84,600")], command=READING, record=False)
    assert "84,600" in capsys.readouterr().out and results.RESULTS.read_text() == "By hand.\n"
    results.publish([table("84,600")], command=READING, record=True)
    assert results.RESULTS.read_text().startswith("By hand.\n") and str(table("84,600")) in results.RESULTS.read_text()


def test_the_command_excludes_the_record_option(monkeypatch):
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", argparse.Namespace(name="benchmarks.serving.__main__"))
    monkeypatch.setattr(sys, "argv", ["...", "throughput", "--record", "saved_models/mine"])
    assert results.own_command() == "python -m benchmarks.serving throughput saved_models/mine"


@pytest.mark.parametrize("command", COMMANDS)
def test_recorded_commands_are_valid(command):
    module, *arguments = shlex.split(command)[2:]
    package = module in ("benchmarks", "benchmarks.serving")
    read = importlib.import_module(f"{module}.__main__" if package else module).parser()
    assert read.parse_args([*arguments, "--record"]).record


def test_every_benchmark_has_a_section():
    named = {word for command in COMMANDS for word in command.split()}
    assert set(all_benchmarks.NAMES) <= named
