"""Prompt recipes: prompts of rows, and answers from generated text."""

import re

import pytest

from tfattn.config.build import build
from tfattn.config.resolve import resolve_section
from tfattn.errors import ConfigError, DataError
from tfattn.serving.client.recipe import Recipe

LABELS = {"0": " bad", "1": " good"}


@pytest.fixture
def reviews(tmp_path):
    path = tmp_path / "reviews.tsv"
    rows = [f"text {number} \t{number % 2}" for number in range(20)]
    path.write_text("\n".join(["sentence\tlabel", *rows]))
    return str(path)


def sentiment(**options):
    return Recipe(template="Review: {sentence}\nIt is", labels=LABELS, **options)


def test_values_of_columns_are_stripped():
    recipe = Recipe(template="{a} and {the b}: {a}?")
    assert recipe.columns == ("a", "the b")
    assert recipe.prompt({"a": " {the b} ", "the b": "y\n"}, examples=[]) == "{the b} and y: {the b}?"


def test_a_prompt_has_instruction_examples_and_row_in_order():
    recipe = Recipe(template="{a} =", instruction="Say:", separator="\n")
    assert recipe.prompt({"a": "x"}, examples=["1 = 2", "3 = 4"]) == "Say:\n1 = 2\n3 = 4\nx ="


def test_the_seed_chooses_the_same_number_of_examples_for_each_label(reviews):
    first, again, other = (
        sentiment(examples=reviews, num_examples=6, seed=seed).chosen_examples() for seed in (1, 1, 2)
    )
    assert first == again != other
    for examples in (first, other):
        assert len(set(examples)) == 6
        assert sum(one.endswith("It is good") for one in examples) == 3
        for one in examples:
            number = int(re.match(r"Review: text (\d+)\nIt is", one)[1])
            assert one.endswith(LABELS[str(number % 2)])
    assert sentiment(examples=reviews).chosen_examples() == []


def test_answers_of_examples_follow_a_space(reviews):
    recipe = Recipe(template="{sentence} ->", examples=reviews, num_examples=1)
    assert re.fullmatch(r"text \d+ -> [01]", recipe.chosen_examples()[0])
    recipe = Recipe(template="{sentence}\n", examples=reviews, num_examples=1)
    assert re.fullmatch(r"text \d+\n[01]", recipe.chosen_examples()[0])


def test_too_few_examples_and_unknown_labels_are_named_with_their_location(reviews):
    with pytest.raises(DataError, match="reviews.tsv: the file has too few examples: expected 30, of each label the"):
        sentiment(examples=reviews, num_examples=30).chosen_examples()
    recipe = Recipe(template="{sentence}", labels={"0": " no", "10": " yes"}, examples=reviews, num_examples=1)
    with pytest.raises(
        DataError, match="reviews.tsv:3: the label is none of the recipe: expected one of 0, 10, received '1'"
    ):
        recipe.chosen_examples()
    with pytest.raises(DataError, match="there is no column for the input `title`"):
        Recipe(template="{title}", examples=reviews, num_examples=1).chosen_examples()


@pytest.mark.parametrize(
    ("answer", "written", "read"),
    [
        (None, " Paris ", "Paris"),
        (r"\d+", "about 12 or 13", "12"),
        (r"is (\w+)\.", "It is Paris. It is", "Paris"),
        (r"is (\w+)\.", "No idea", ""),
        (r"yes|(no)", "yes", ""),
    ],
)
def test_an_answer_is_extracted(answer, written, read):
    assert Recipe(template="{a}", answer=answer).read(written) == read


def test_a_correct_answer_may_differ_in_case_and_spaces():
    recipe = Recipe(template="{a}")
    assert recipe.is_right(" new  YORK", "New York") and not recipe.is_right("York", "New York")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"template": "no column"}, "no prompt of a row: expected {COLUMN} of at least one"),
        ({"template": "{target}"}, "no prompt of a row: expected .* none named target"),
        ({"per_token": True}, "nothing is compared: expected `labels` in the same file"),
        ({"without": "N/A"}, "nothing is compared"),
        ({"labels": LABELS, "stop": ("\n",)}, "nothing is written: expected no `labels` in the same file"),
        ({"labels": LABELS, "answer": "a"}, "nothing is written"),
        ({"num_examples": 2}, "there is no file of examples"),
        ({"answer": "("}, "no regular expression"),
    ],
)
def test_contradicting_keys_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        Recipe(**({"template": "{a}"} | options))


def test_errors_of_a_file_have_locations(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text('template: "{a}"\nlabels: {yes: " yes", no: " no"}\nstop: ["x"]\n')
    with pytest.raises(ConfigError, match="mine.yaml:3.*stop: nothing is written"):
        build(resolve_section("prompt", path))
    path.write_text('template: "{a}"\nlabels: {yes: " yes"}\n')
    with pytest.raises(ConfigError, match="mine.yaml:2.*labels"):
        resolve_section("prompt", path)
    path.write_text("templat: x\n")
    with pytest.raises(ConfigError, match="Did you mean `template`"):
        resolve_section("prompt", path)
