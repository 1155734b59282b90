"""`tfattn init` writes a pipeline without errors for every kind of data, and a message for what it cannot use."""

import io
import re
import sys
from pathlib import Path

import pytest

from tests.recipes.data_files import (
    alpaca,
    archive,
    chats,
    churn,
    entities,
    excel,
    housing,
    images,
    labels,
    lines_of_json,
    pairs,
    parallel,
    parquet,
    questions,
    sharegpt,
    text,
    titles,
)
from tfattn.config.resolve import resolve
from tfattn.recipes.datasets import pipeline_name

DATA = {
    churn: ("feature_tokenizer_transformer", "classification", "customerID", "joined"),
    housing: ("feature_tokenizer_transformer", "regression", "header: false", "the last column of classes"),
    titles: ("modern_bert", "classification", 'delimiter: ";"', "Chinese"),
    pairs: ("bert", "regression", "text_a: sentence_A", "pair_ID"),
    images: ("vit", "classification", "image_folder", "mirror"),
    archive: ("vit", "classification", "inside: digits/train", "inside: digits/test", "no mirror images"),
    lines_of_json: ("bert", "multi_label_classification", "name: jsonl"),
    parallel: ("transformer", "translation", "target_path: train.de", "from scratch"),
    chats: ("gpt", "chat", "messages: messages", "24 chats"),
    sharegpt: ("gpt", "chat", "messages: conversations", "OpenAI or ShareGPT"),
    alpaca: ("gpt", "chat", "instruction: instruction", "input: input", "output: output"),
    entities: ("bert", "token_classification", "scheme: iob2", "LOC, PER"),
    questions: ("bert", "question_answering", "group: title", "20 texts"),
    labels: ("bert", "multi_label_classification", "labels: labels", "3 different labels"),
    excel: ("bert", "classification", "name: excel", "2 different values"),
    parquet: ("bert", "classification", "name: parquet", "2 different values"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("write", DATA, ids=lambda write: write.__name__)
def test_init_writes_a_pipeline_without_errors(command, write):
    model, task, *words = DATA[write]
    answer = command("init", *write())
    assert answer.status == 0, answer.errors
    path = answer.output.strip()
    values = resolve(path).values
    assert (values["model"]["name"], values["task"]["name"]) == (model, task)
    written = Path(path).read_text()
    for word in words:
        assert word in written
    assert f"tfattn run {path}" in written and f"tfattn run {path}" in answer.errors


def broken(content: str) -> list[str]:
    Path("rows.csv").write_text(content)
    return ["rows.csv"]


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda: ["gone.csv"], "gone.csv: cannot read the file"),
        (lambda: broken(""), "the file is empty"),
        (lambda: broken("text\none\n"), "the file has a single column"),
        (
            lambda: broken("text,label\n" + "".join(f"{text(n)},c{n}\n" for n in range(40))),
            "all values of the target are diff",
        ),
        (lambda: broken("a,score,grade\n" + "1,2.5,x\n2,3.5,y\n" * 30), "several columns may be the target.*--target"),
        (lambda: broken("".join(f"a{n};b,c\n" for n in range(30))), "several delimiters are possible.*--delimiter"),
        (lambda: [*parallel(), "third"], "two files of parallel texts"),
        (lambda: churn() * 2, "two files are parallel texts"),
        (lambda: Path("folder").mkdir() or ["folder"], "a folder for each of at least two classes"),
        (list, "expected either data"),
    ],
)
def test_what_cannot_be_used_is_one_message(command, write, message):

    answer = command("init", *write())
    assert answer.status != 0
    assert re.search(message, answer.errors)
    assert answer.errors.count("\n") == 1


class Terminal(io.StringIO):
    """Standard input of a user at a terminal."""

    def isatty(self):
        return True


def test_on_a_terminal_the_target_is_asked_for(command, monkeypatch):
    monkeypatch.setattr(sys, "stdin", Terminal("grade\n"))
    answer = command("init", *broken("a,score,grade\n" + "1,2.5,x\n2,3.5,y\n" * 30))
    assert answer.status == 0, answer.errors
    assert "label: grade" in Path("rows.yaml").read_text()


def test_notes_say_what_to_look_at(command):
    rows = "".join(f"{text(n)},{'' if n % 2 else 'ab'[n % 4 // 2]}\n" for n in range(80))
    assert "the target is missing in 40 of 80 rows" in command("init", *broken("text,label\n" + rows)).errors
    rows = "".join(f"{n},{'1e300' if n == 3 else n * 2},{n % 2}\n" for n in range(80))
    assert "1e300, which is outside of the range" in command("init", "--force", *broken("a,b,label\n" + rows)).errors


def test_names_of_pipelines():
    assert pipeline_name("data/Meine Titel.csv.gz") == "meine_titel"
    assert pipeline_name("数据.csv") == "model"
