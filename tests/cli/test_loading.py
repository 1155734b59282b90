"""Which models commands export first."""

from pathlib import Path

import pytest

from tfattn.cli import loading


@pytest.mark.parametrize(
    ("weights", "model", "name"),
    [
        ("tiny.gguf", "tiny.gguf", "tiny"),
        ("tiny/weights.gguf", "tiny", "tiny"),
        ("tiny/config.json", "tiny", "tiny"),
        ("tiny/config.json", ".", "tiny"),
        ("tiny/notes.txt", "tiny", "tiny"),
    ],
)
def test_weights_are_used_by_the_name_of_their_export(tmp_path, monkeypatch, weights, model, name):
    (tmp_path / weights).parent.mkdir(exist_ok=True)
    (tmp_path / weights).touch()
    (tmp_path / "saved_models" / "tiny").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "tiny" if model == "." else tmp_path)
    assert loading.exported(model, tmp_path / "saved_models") == name


@pytest.mark.parametrize("model", ["elsewhere/tiny", "missing.gguf", "saved_models"])
def test_other_models_stay_as_given(tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere" / "tiny" / "1").mkdir(parents=True)
    assert loading.exported(model, tmp_path / "saved_models") == model


@pytest.mark.parametrize(
    ("exports", "engine", "expected"),
    [
        (["litert/tiny"], "auto", "litert/tiny"),
        (["litert/tiny", "tiny"], "auto", "tiny"),  # a SavedModel that is there already is used
        (["litert/tiny", "tiny"], "litert", "litert/tiny"),
        (["litert/tiny", "tiny"], "tensorflow", "tiny"),
    ],
)
def test_generation_uses_the_export_of_its_engine(tmp_path, monkeypatch, exports, engine, expected):
    (tmp_path / "tiny.gguf").touch()
    for name in exports:
        (tmp_path / "saved_models" / name / "1").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(loading.importlib.util, "find_spec", lambda name: name)
    found = loading.exported_decoder("tiny.gguf", Path("saved_models"), engine)
    assert found == (expected if expected == "tiny" else f"saved_models/{expected}")
    assert loading.exported_decoder("other", Path("saved_models"), engine) == "other"
