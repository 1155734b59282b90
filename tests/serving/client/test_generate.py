"""Text generation in the terminal: texts are printed as they are generated, and invalid settings before loading."""

import pytest

from tests.serving.generation.stand_in import StandIn
from tfattn.errors import DataError
from tfattn.serving.client import generate as commands


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A model that writes what it is told to, in place of a SavedModel."""
    stand_in = StandIn(tmp_path, script=b"Paris, of course.")
    monkeypatch.setattr(commands.model_store, "find", lambda model, folder: tmp_path)
    monkeypatch.setattr(commands, "open_language_model", lambda folder, **options: stand_in)
    return stand_in


def told(command, *arguments, **settings):
    said = []
    command("any", *arguments, folder=None, engine="auto", settings=settings, say=said.append)
    return said


def test_a_text_is_printed_in_pieces(model):
    said = told(commands.generate, "Where?", temperature=0.0, max_tokens=17)
    assert len(said) > 3 and "".join(said).strip() == "Paris, of course."


def test_several_texts_are_printed_with_numbers(model):
    said = "".join(told(commands.generate, "Where?", temperature=0.0, n=2, max_tokens=5))
    assert said.splitlines() == ["[1] Paris", "[2] Paris"]


def test_a_chat_continues_with_all_earlier_messages(model):
    said = "".join(told(commands.chat, ["Where?\n", "\n", "Sure?\n"], temperature=0.0, max_tokens=5))
    assert said.splitlines() == ["Paris", "Paris"]
    # The second turn finds the first one read already, and the answer too.
    assert sum(model.read) < 2 * len("Where?Paris") + len("Sure?") + 60


def test_a_guided_text_is_one_of_the_choices(model):
    said = told(commands.generate, "Where?", guided={"guided_choice": ["Pisa", "Paris"]})
    assert "".join(said) == "Paris\n"
    with pytest.raises(DataError, match="guided_json: the schema is no JSON"):
        told(commands.generate, "Where?", guided={"guided_json": "{"})


def test_log_probabilities_are_printed_by_token(model, capsys):
    told(commands.generate, "Where?", temperature=0.0, max_tokens=2, logprobs=1)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("loading ") and [line.partition(":")[0] for line in lines[1:3]] == [
        "'P' -0.500",
        "'a' -0.500",
    ]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"temperature": -1.0}, "temperature: .* received -1"),
        ({"top_p": 1.5}, "top_p: .* received 1.5"),
        ({"n": 0}, "n: .* received 0"),
        ({"stop": ("x" * 2**20,)}, "stop"),
    ],
)
def test_invalid_settings_are_refused(settings, said):
    for command, prompt in ((commands.generate, "a"), (commands.chat, ["a"])):
        with pytest.raises(DataError, match=said):
            told(command, prompt, **settings)


def test_a_prompt_that_is_too_long_is_refused(model):
    with pytest.raises(DataError, match="refuses the prompt"):
        told(commands.generate, "x" * 500)
