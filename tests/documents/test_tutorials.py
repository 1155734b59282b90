"""Each tutorial runs from its first to its last block, in an empty folder, with models that train in seconds."""

import shlex
import subprocess
import sys
from contextlib import ExitStack

import pytest

from benchmarks.serving.running import running
from tests.documents.blocks import TUTORIALS, blocks_of
from tests.documents.conftest import TINY_ENCODER
from tfattn.preprocessing.byte_bpe import ByteBpe

REST = "http://127.0.0.1:8501"
TINY = {
    "reports.yaml": TINY_ENCODER,
    "colors.yaml": [
        "model={from: package://configs/models/transformer_tiny.yaml}",
        "data.max_rows=300",
        "runtime={}",  # a process can divide the processor only once
        "training.epochs=1",
    ],
    "my_bert.yaml": ["model.hidden_dim=16", "model.num_layers=1", "model.intermediate_dim=32", "training.steps=2"],
    "my_reports.yaml": ["training.epochs=1"],
    "chats.yaml": [
        "model={name: gpt, hidden_dim: 16, num_layers: 1, num_heads: 2, intermediate_dim: 32}",
        "data.preprocessing={name: byte_bpe, vocabulary: vocabulary, special_tokens: [<|im_start|>, <|im_end|>], "
        "max_length: 127}",
        "data.max_rows=100",
        "training.epochs=1",
    ],
}
# Their exports have many signatures, which take a minute.
SLOW = {"translation", "own_chat"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, but for a vocabulary instead of that of published weights, which are not everywhere."""
    tokens = ("<|im_start|>", "<|im_end|>")
    vocabulary = ByteBpe(vocabulary_size=280, special_tokens=tokens)
    vocabulary.fit([{"text": "user assistant Leak. Replace components. user assistant"}])
    (tmp_path / "vocabulary").mkdir()
    vocabulary.save(tmp_path / "vocabulary")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "tutorial",
    [pytest.param(path, marks=[pytest.mark.slow] if path.stem in SLOW else [], id=path.stem) for path in TUTORIALS],
)
def test_a_tutorial_runs(tutorial, command, folder):
    address = REST
    with ExitStack() as servers:
        for block in blocks_of(tutorial):
            if block.path and not block.is_part:
                block.path.write_text(block.text, encoding="utf-8")
            if block.language != "sh" or block.not_run:
                continue
            for line in block.text.replace("\\\n", " ").splitlines():
                program, *words = shlex.split(line, comments=True)
                if (program, words) == ("tfattn", ["serve"]):
                    address = servers.enter_context(running(folder / "saved_models", worker_threads=1)).rest
                elif program == "tfattn":
                    tiny = TINY.get(words[1], ()) if words[0] == "run" else ()
                    answer = command(*words, *(word for override in tiny for word in ("--set", override)))
                    assert answer.status == 0, f"{block.place}: {line}: {answer.errors}"
                else:
                    _try(line.replace(REST, address), block.place)


def _try(line: str, place: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f'python() {{ {sys.executable} "$@"; }}\n{line}'], capture_output=True, text=True
    )
    assert done.returncode == 0 and '"error"' not in done.stdout, f"{place}: {line}: {done.stdout}{done.stderr}"
