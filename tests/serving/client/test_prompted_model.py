"""A language model that answers rows by a recipe."""

import json
import math

import pytest

from tests.serving import authors
from tfattn.errors import RefusedError, ServingError
from tfattn.serving.client import local
from tfattn.serving.client.prompted_model import PromptedModel
from tfattn.serving.client.recipe import Recipe


class Liker:
    """Finds words the likelier the longer they are, and likes what stands in the prompt; writes prompts backwards."""

    def __init__(self):
        self.asked = []

    def predict(self, rows, *, signature="serving_default"):
        self.asked.append([row["text"] for row in rows])
        if any(len(row["text"]) > 40 for row in rows):
            raise RefusedError("too long", received="too long")
        if signature == "score":
            return [
                {"score": -1.0 / len(row["continuation"]) + (row["continuation"] in row["text"]), "length": 2}
                for row in rows
            ]
        return [{"text": row["text"][::-1], "score": 0.0} for row in rows]


def labels(rows, **options):
    recipe = Recipe(template="{a}:", labels={"0": " bad", "1": " goood"}, **options)
    return PromptedModel(Liker(), recipe, has_targets=True), rows


def test_the_most_probable_label_is_the_answer_and_scores_sum_to_one():
    model, rows = labels([{"a": "it is bad"}, {"a": "it is"}])
    first, second = model.predict(rows)
    assert first["label"] == "0" and second["label"] == "1"
    assert first["score"] == first["scores"]["0"] == pytest.approx(1 / (1 + math.exp(-1 / 6 + 1 / 4 - 1)))
    assert sum(second["scores"].values()) == pytest.approx(1)


def test_the_probabilities_after_an_empty_row_are_divided_out():
    model, rows = labels([{"a": "it is"}, {"a": "it is bad"}], without="N/A")
    first, second = model.predict(rows)
    assert first["score"] == pytest.approx(0.5)
    assert second["scores"]["0"] == pytest.approx(1 / (1 + math.exp(-1)))


def test_words_of_several_tokens_are_compared_by_their_mean():
    model, rows = labels([{"a": "it is bad"}], per_token=True)
    assert model.predict(rows)[0]["scores"]["0"] == pytest.approx(1 / (1 + math.exp((-1 / 6 + 1 / 4 - 1) / 2)))


def test_correct_answers_are_counted():
    model, _ = labels([])
    model.predict([{"a": "it is bad", "target": "0"}, {"a": "x", "target": "1"}, {"a": "x", "target": "0"}])
    model.predict([{"a": "x"}])
    assert (model.num_right, model.num_rows) == (2, 3)


def test_answers_are_extracted_from_generated_text():
    model = PromptedModel(Liker(), Recipe(template="({a})", answer=r"\w+"), has_targets=True)
    assert model.predict([{"a": "abc", "target": " CBA"}]) == [{"text": "cba"}]
    assert model.writes_text and model.num_right == 1
    assert model.trained_on.columns == {"a": "a", "target": "label"}


def test_examples_that_exceed_the_context_are_refused_before_the_first_row(tmp_path):
    (tmp_path / "few.csv").write_text(f"a,label\n{'x' * 50},0\n{'x' * 50},1\n")
    recipe = Recipe(
        template="{a}:",
        labels={"0": " bad", "1": " goood"},
        without="N/A",
        examples=str(tmp_path / "few.csv"),
        num_examples=2,
    )
    with pytest.raises(RefusedError):
        PromptedModel(Liker(), recipe, has_targets=False)


@pytest.fixture(scope="module")
def author(authored):
    return local.load(authors.NAME, authored)


def test_an_export_answers_with_the_most_probable_words(author):
    words = {"a": " To be", "b": " the", "c": "日本"}
    model = PromptedModel(author, Recipe(template="{text} is", labels=words), has_targets=False)
    rows = [{"text": "To be"}, {"text": "a much longer question, whether it"}]
    together = model.predict(rows)
    assert [model.predict([row])[0]["label"] for row in rows] == [one["label"] for one in together]
    asked = [{"text": "To be is", "continuation": word} for word in words.values()]
    scores = [one["score"] for one in author.predict(asked, signature="score")]
    assert together[0]["label"] == "abc"[scores.index(max(scores))]


def test_an_export_generates_until_a_stop_string(author):
    rows = [{"text": "To be"}]
    (whole,) = PromptedModel(author, Recipe(template="{text}", max_tokens=20), has_targets=False).predict(rows)
    recipe = Recipe(template="{text}", max_tokens=20, stop=("\0", whole["text"][0]))
    (cut,) = PromptedModel(author, recipe, has_targets=False).predict(rows)
    assert whole["text"] and not cut["text"]


def test_a_command_answers_a_file(authored, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.yaml").write_text('template: "{text}"\nmax_tokens: 500\n')
    (tmp_path / "in.csv").write_text("text,label\nTo be,x\nwhether,y\n")
    options = ["--folder", authored, "--input", "in.csv", "--output", "out.jsonl", "--accuracy"]
    answer = command("prompt", "recipe.yaml", authors.NAME, *options, "--set", "max_tokens=5")
    assert answer.status == 0, answer.errors
    assert "accuracy 0.0000: 0 of 2 rows" in answer.errors
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["source"] for line in lines] == ["To be", "whether"] and all(line["text"] for line in lines)


def test_other_models_than_language_models_are_refused(models):
    recipe = Recipe(template="{text}", labels={"a": " a", "b": " b"})
    with pytest.raises(ServingError, match="no such signature: expected one of serving_default, received score"):
        PromptedModel(local.load("reports", models), recipe, has_targets=False).predict([{"text": "x"}])
