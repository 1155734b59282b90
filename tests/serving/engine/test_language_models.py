"""The engine of a language model: chosen by its files, with the SavedModel for files that cannot be used."""

import subprocess
import sys

import pytest

from tfattn.errors import ServingError
from tfattn.files import write_manifest
from tfattn.litert.decoder_file import FILES, FOLDER, TOKENIZER
from tfattn.litert.model_file import add_metadata, parse
from tfattn.serving.engine.language_models import open_language_model
from tfattn.serving.engine.litert_decoder import LiteRtDecoder

SAVED = object()


def opened(folder, engine):
    return open_language_model(folder, engine=engine, saved_model=lambda: SAVED, num_threads=1)


def described(content, **changes):
    """Change entries of the description; `...` removes an entry."""
    known = parse(content)
    entries = {name: value for name, value in {**known.description, **changes}.items() if value is not ...}
    return add_metadata(content, entries, known.files)


@pytest.fixture
def damaged(litert_version, tmp_path):
    """Writes a version whose LiteRT file is changed by a function."""

    def write(change, *, has_saved_model=True):
        path = tmp_path / FOLDER / FILES["float32"]
        path.parent.mkdir(parents=True)
        path.write_bytes(change((litert_version / FOLDER / FILES["float32"]).read_bytes()))
        if has_saved_model:
            (tmp_path / "saved_model.pb").touch()
        return tmp_path

    return write


def test_auto_prefers_litert_and_tensorflow_is_a_choice(litert_version, tmp_path):
    assert isinstance(opened(litert_version, "auto"), LiteRtDecoder)
    assert opened(litert_version, "tensorflow") is SAVED and opened(tmp_path, "auto") is SAVED
    with pytest.raises(ServingError, match=r"no LiteRT file.*export: \{formats: \[saved_model, litert\]\}"):
        opened(tmp_path, "litert")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda content: content[:-100], "truncated or damaged"),
        (lambda content: b"no flatbuffer", "not a LiteRT model"),
        (lambda content: add_metadata(content, {"task": "classification"}, {}), "not of a language model"),
        (lambda content: described(content, window=...), "received metadata without window"),
        (lambda content: add_metadata(content, parse(content).description, {TOKENIZER: b"{"}), "cannot read the token"),
    ],
)
def test_the_saved_model_answers_for_a_file_that_cannot_be_used(damaged, capsys, change, said):
    folder = damaged(change)
    assert opened(folder, "auto") is SAVED
    assert said in " ".join(capsys.readouterr().err.split())
    with pytest.raises(ServingError, match=said):
        opened(folder, "litert")


def test_the_file_of_another_model_is_refused(damaged, capsys):
    folder = damaged(lambda content: content)
    write_manifest(folder)
    assert isinstance(opened(folder, "litert"), LiteRtDecoder)
    path = folder / FOLDER / FILES["float32"]
    path.write_bytes(described(path.read_bytes(), suppressed_ids=[3]))
    assert opened(folder, "auto") is SAVED
    assert "the LiteRT file is of another export" in " ".join(capsys.readouterr().err.split())
    path.rename(path.with_name(FILES["int8"]))
    with pytest.raises(ServingError, match=r"of another export: expected the file of manifest.json, received no such"):
        opened(folder, "litert")


def test_a_damaged_file_without_a_saved_model_is_an_error(damaged):
    with pytest.raises(ServingError, match="truncated or damaged"):
        opened(damaged(lambda content: content[:-100], has_saved_model=False), "auto")


def test_texts_are_generated_without_tensorflow():
    program = "import sys, tfattn.serving.client.generate; assert 'tensorflow' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
