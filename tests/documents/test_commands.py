"""Every command of the documents does what it should, on samples and with models that train in seconds.

A block behind `<!-- checked, not run: REASON -->` is only read: its options as the command line reads them, its
pipelines as `tfattn check` does.
"""

import configparser
import importlib.util
import re
import subprocess
import sys

import pytest
import typer

from tests.documents.blocks import DOCUMENTS, PROJECT, Block, blocks
from tests.documents.conftest import tiny
from tfattn import cli
from tfattn.config.resolve import resolve_section

BLOCKS = blocks("sh", "console")
# A reader's own file is that which the model has been trained on already.
OWN_FILE, SAMPLE = "data.source.path=reports.csv", "data.source.path=data/factory_reports.csv"
WITH_PIPELINE = {"run", "prepare", "train", "evaluate", "export"}
COMMANDS = typer.main.get_command(cli.app).commands


def places(blocks: list[Block]) -> list[str]:
    return [block.place for block in blocks]


def test_how_to_documents_have_commands():
    documents = {block.place.partition(":")[0] for block in BLOCKS}
    assert documents == {str(path.relative_to(PROJECT)) for path in DOCUMENTS} - {
        "docs/not_offered.md",
        "docs/trust.md",
    }


RUN = [block for block in BLOCKS if not block.not_run]
CHECKED = [block for block in BLOCKS if block.not_run]
SCRIPTS = [block for block in blocks("python") if block.path is None]


@pytest.mark.parametrize("block", RUN, ids=places(RUN))
def test_commands_run(block, folder_with_models, command, monkeypatch, request):
    monkeypatch.chdir(folder_with_models)
    server = request.getfixturevalue("server") if "850" in block.text else None
    for words in block.commands:
        if server is not None:
            words = [_at(server, word) for word in words]
        if words[0] == "tfattn":
            _run(words[1:], block, command)
        else:
            _try(words)


@pytest.mark.parametrize("block", SCRIPTS, ids=places(SCRIPTS))
def test_python_runs(block, server):
    if block.not_run:
        compile(block.text, block.place, "exec")
        return
    text = block.text.replace("127.0.0.1:8500", server.grpc).replace("http://127.0.0.1:8501", server.rest)
    exec(compile(text, block.place, "exec"), {})


@pytest.mark.parametrize("block", CHECKED, ids=places(CHECKED))
def test_commands_that_do_not_run_are_well_formed(block, folder, command, monkeypatch):
    monkeypatch.chdir(folder)
    for program, *words in block.commands:
        if program == "tfattn":
            _check(words, command)
        elif program == "python":
            assert words[0] == "-m" and importlib.util.find_spec(words[1])
        else:
            assert program in ("docker", "kubectl", "export", "llama-cli", "npm", "pip")


def test_installed_extras_exist():
    setup = configparser.ConfigParser()
    setup.read(PROJECT / "setup.cfg")
    named = {name for path in DOCUMENTS for name in re.findall(r"'tfattn\[(\w+)\]'", path.read_text())}
    assert named <= set(setup["options.extras_require"])


def _run(words: list[str], block: Block, command) -> None:
    """Run a command of tfattn in this process."""
    if words[0] == "serve":  # the fixture `server` has started one
        _check(words, command)
        return
    words = words[: words.index(">")] if ">" in words else words
    words = [word.replace(OWN_FILE, SAMPLE) for word in words]
    answer = command(
        *words, *(tiny(words[1]) if words[0] in WITH_PIPELINE and not {"--on", "--format"} & set(words) else ())
    )
    errors = [line for line in block.text.splitlines() if block.language == "console" and line.startswith("error: ")]
    assert bool(answer.status) == bool(errors), answer.errors
    assert set(errors) <= set(answer.errors.splitlines())


def _try(words: list[str]) -> None:
    """Run another command as a process."""
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (PROJECT / "Makefile").read_text(), flags=re.MULTILINE), words[1]
        return
    assert words[0] in ("cat", "curl", "python")
    program = [sys.executable] if words[0] == "python" else words[:1]
    done = subprocess.run([*program, *words[1:]], capture_output=True, text=True)
    assert done.returncode == 0 and '"error"' not in done.stdout, done.stdout + done.stderr


def _check(words: list[str], command) -> None:
    """Read a command of tfattn as the command line does, and check what it names."""
    options = COMMANDS[words[0]].make_context(words[0], words[1:]).params
    overrides = list(options.get("set") or ())
    if options.get("on") or (words[0] == "export" and options["format"]):  # of a model, which may not be here
        return
    if any("keras://" in override for override in overrides):  # there is no local stand-in for Kaggle
        return
    if "pipeline" in options:
        answer = command("check", options["pipeline"], *(word for one in overrides for word in ("--set", one)))
        assert answer.status == 0, answer.errors
    elif words[0] == "serve":
        assert resolve_section("serving", options["config"], overrides)
    elif words[0] == "prompt":
        assert resolve_section("prompt", options["recipe"], overrides)


def _at(server, word: str) -> str:
    """Put the address of the server that runs in the place of the usual one."""
    word = re.sub(r"(http://127\.0\.0\.1|localhost):8501", server.rest, word)
    return word.replace("127.0.0.1:8500", server.grpc)
