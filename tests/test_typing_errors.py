"""Messages suggest the right name for at least 95 % of typing errors, of all kinds of names, in the real validation."""

import os
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from tfattn import cli, registry
from tfattn.catalog import PRETRAINED_PACKAGES
from tfattn.config.read import read_yaml
from tfattn.config.resolve import resolve
from tfattn.config.schema import key_paths, keys_of
from tfattn.errors import TfattnError
from tfattn.files import SCHEME
from tfattn.files.shipped import shipped_files
from tfattn.formats.csv_files import CsvFile
from tfattn.recipes.shipped import find_recipe, recipes
from tfattn.similar_names import SYNONYMS, similar_names, typing_errors

NUM_ERRORS = 150
PIPELINE = read_yaml(f"{SCHEME}pipelines/telco_churn.yaml").values | {
    "data": read_yaml(f"{SCHEME}configs/data/telco_churn.yaml").values
}
TABLE = PIPELINE["data"]["preprocessing"]
COLUMNS = [*TABLE["numeric"], *TABLE["categorical"], "Churn"]
KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")

Case = tuple[str, Callable[[str], Any]]  # a right name, and the validation of a word in its place


# The rules by which people mistype: the name, and the position of the error.
def _swapped(name: str, at: int) -> str:
    return name[:at] + name[at + 1 : at + 2] + name[at] + name[at + 2 :]


def _missing(name: str, at: int) -> str:
    return name[:at] + name[at + 1 :]


def _double(name: str, at: int) -> str:
    return name[:at] + name[at] + name[at:]


def _neighbor_key(name: str, at: int) -> str:
    row = next((row for row in KEYBOARD if name[at].lower() in row), "")
    index = row.find(name[at].lower())
    return name[:at] + (row[index + 1 : index + 2] or row[index - 1 : index]) + name[at + 1 :] if row else name


def _other_number(name: str, at: int) -> str:
    return name[:-1] if name.endswith("s") else f"{name}s"


def _other_separator(name: str, at: int) -> str:
    return name.replace("_", "-") if "_" in name else name.replace("-", "_")


def _no_separator(name: str, at: int) -> str:
    return name.replace("_", "").replace("-", "")


def _other_case(name: str, at: int) -> str:
    return name.upper() if name.islower() else name.lower()


RULES = (
    *(_swapped, _missing, _double, _neighbor_key),
    *(_other_number, _other_separator, _no_separator, _other_case),
)


def _overridden(path: str) -> Callable[[str], Any]:
    """Return a function that checks the pipeline with a word as the last key of a path."""
    section = path.rpartition(".")[0]
    return lambda word: resolve(PIPELINE, [f"{section}.{word}=1".lstrip(".")])


def _named(path: str) -> Callable[[str], Any]:
    return lambda word: resolve(PIPELINE, {path: {"name": word}})


def _invoke(*arguments: str) -> None:
    outcome = CliRunner().invoke(cli.app, [*arguments])
    if isinstance(outcome.exception, TfattnError):
        raise outcome.exception
    assert outcome.exit_code, arguments
    raise TfattnError(outcome.output)


@pytest.fixture(scope="module")
def cases(tmp_path_factory) -> dict[str, list[Case]]:
    """Return the right names of each kind."""
    folder = tmp_path_factory.mktemp("data")
    rows = [",".join(str(index + number % 7) for index in range(len(COLUMNS))) for number in range(20)]
    (folder / "churn.csv").write_text("\n".join([",".join(COLUMNS), *rows]))
    for name in shipped_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("name: x\n")
    config = resolve(PIPELINE)
    keys = [".".join(path) for path in config.origins if path]
    commands = cli_commands()
    parts = {
        "data.preprocessing": "preprocessors",
        "data.source": "sources",
        "model": "models",
        "task": "tasks",
        "training.optimizer": "optimizers",
        "training.schedule": "schedules",
    }
    return {
        "key": [(key.rpartition(".")[2], _overridden(key)) for key in keys],
        "part": [(name, _named(path)) for path, catalog in parts.items() for name in registry.names(catalog)],
        "command": [(name, _invoke) for name in commands],
        "option": [
            (option.removeprefix("--"), lambda word, command=command: _invoke(command, f"--{word}"))
            for command, options in commands.items()
            for option in options
        ],
        "file": [(name, lambda word: read_yaml(folder / word)) for name in shipped_files()],
        "shipped file": [(name, lambda word: read_yaml(f"{SCHEME}{word}")) for name in shipped_files()],
        "recipe": [(recipe.name, find_recipe) for recipe in recipes()],
        "column": [
            (name, lambda word: list(CsvFile(path=str(folder / "churn.csv"), fields={"label": word}).rows()))
            for name in COLUMNS
        ],
        "target": [
            (name, lambda word: _invoke("init", str(folder / "churn.csv"), "--target", word)) for name in COLUMNS
        ],
        "catalog": [(name, lambda word: _invoke("list", word)) for name in ("models", "optimizers", "preprocessors")],
        "pretrained": [
            (name, lambda word: resolve(PIPELINE, {"model": {"name": "bert", "pretrained": word}}))
            for name in PRETRAINED_PACKAGES
        ],
        "value": [
            (value, lambda word, path=path: resolve(PIPELINE, [f"{path}={word}"]))
            for path, values in {
                "training.selection": ("best_epoch", "last_epoch"),
                "runtime.precision": ("float32", "bfloat16", "float16"),
                "data.preprocessing.scaling": ("standard", "quantile"),
            }.items()
            for value in values
        ],
    }


def cli_commands() -> dict[str, list[str]]:
    """Return the options of each command that is parsed by the program itself."""
    commands = cli.program.typer.main.get_command(cli.app).commands
    return {
        name: [option for parameter in command.params for option in parameter.opts if option.startswith("--")]
        for name, command in commands.items()
        if name != "create-pretraining-data"
    }


def mistyped(cases: dict[str, list[Case]], number: int) -> Iterator[tuple[str, str, str, Callable[[str], Any]]]:
    """Yield kinds, right names, words with an error, and their validations; the kinds and the rules take turns."""
    random_numbers = random.Random(7)
    kinds = list(cases)
    known = {kind: {name for name, _ in names} for kind, names in cases.items()}
    found = 0
    while found < number:
        kind, rule = kinds[found % len(kinds)], random_numbers.choice(RULES)
        name, validate = random_numbers.choice(cases[kind])
        word = rule(name, random_numbers.randrange(len(name)))
        # Another right name has no message, nor has the same path; nobody recognizes an error in one or two letters.
        if len(name) > 2 and len(word) > 2 and os.path.normpath(word) not in known[kind]:
            found += 1
            yield kind, name, word, validate


def suggestion(word: str, validate: Callable[[str], Any]) -> str:
    """Return the suggested name of the message about a word; "" if there is none."""
    with pytest.raises(TfattnError) as caught:
        validate(word)
    found = re.search(r"Did you mean `(?:--)?([^`=]*)", str(caught.value))
    return found[1] if found else ""


def test_typing_errors_have_the_right_suggestion(cases):
    wrong = []
    for kind, name, word, validate in mistyped(cases, NUM_ERRORS):
        found = suggestion(word, validate)
        if found != name and not found.endswith(f"/{name}"):
            wrong.append(f"{kind} {name}: {word} suggests {found or 'nothing'}")
    print("\n".join(wrong))
    assert len(wrong) <= 0.05 * NUM_ERRORS, "\n".join(wrong)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("training.lr", "training.optimizer.learning_rate"),
        ("training.optimizer.lr", "learning_rate"),
        ("training.learning_rat", "training.optimizer.learning_rate"),
        ("model.epochs", "training.epochs"),
        ("epochs", "training.epochs"),
        ("training.batch_size", "data.batching.batch_size"),
        ("training.batchsize", "data.batching.batch_size"),
        ("training.num_train_epochs", "epochs"),
        ("model.hidden_size", "hidden_dim"),
        ("model.heads", "num_heads"),
        ("model.numb_layers", "num_layers"),
        ("data.split.val", "validation"),
        ("data.tokenizer", "preprocessing"),
        ("dataset", "data"),
        ("data.delimiter", "data.source.delimiter"),
        ("training.precision", "runtime.precision"),
    ],
)
def test_other_words_and_other_sections_of_keys(key, expected):
    assert suggestion(key.rpartition(".")[2], _overridden(key)) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["fit", "p.yaml"], "train"),
        (["eval", "p.yaml"], "evaluate"),
        (["run", "p.yaml", "--epochs", "3"], "set training.epochs"),
        (["train", "p.yaml", "--lr", "3"], "set training.optimizer.learning_rate"),
        (["run", "p.yaml", "--sed", "a=b"], "set"),
        (["predict", "m", "--out", "a"], "output"),
        (["--verison"], "version"),
        (["run", "factory_reports"], "package://pipelines/factory_reports.yaml"),
        (["run", "pipeline/telco_churn.yaml"], "package://pipelines/telco_churn.yaml"),
        (["evaluate", "package://pipelines/telco_chrun.yaml"], "pipelines/telco_churn.yaml"),
    ],
)
def test_other_words_for_commands_and_options(arguments, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert suggestion("", lambda _: _invoke(*arguments)) == expected


def test_a_path_is_corrected_in_each_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "2024").mkdir(parents=True)
    (tmp_path / "data" / "2024" / "reports.csv").write_text("text,label\na,b\n")
    source = CsvFile(path="dta/2024/report.csv", fields={"text": "text"})
    with pytest.raises(TfattnError, match=r"Did you mean `data/2024/reports\.csv`\?"):
        list(source.rows())
    with pytest.raises(TfattnError, match="Check `path`"):
        list(CsvFile(path="elsewhere/x.csv", fields={"text": "text"}).rows())


def test_synonyms_are_names_that_exist():
    keys = {path[-1] for path in key_paths(("sections", "pipeline"), {}, {"task": {"name": "classification"}})}
    keys |= {key for name in ("serving", "comparison", "prompt") for key in keys_of("sections", name)}
    keys |= {name for catalog in ("models", "tasks", "optimizers", "preprocessors") for name in registry.names(catalog)}
    keys |= {"data", "ema"} | {option.removeprefix("--") for names in cli_commands().values() for option in names}
    unknown = {word: names for word, names in SYNONYMS.items() if not {*names} <= keys | {*cli_commands()}}
    assert not unknown


@pytest.mark.parametrize(
    ("word", "name", "errors"),
    [("epcohs", "epochs", 1), ("epoch", "epochs", 1), ("epoochs", "epochs", 0.5), ("epixhs", "epochs", 1)],
)
def test_typing_errors_are_counted(word, name, errors):
    assert typing_errors(word, name) == typing_errors(name, word) == errors


def test_words_that_are_not_similar_have_no_suggestion():
    assert not similar_names("xyz", ["epochs", "steps"]) and not similar_names("", ["epochs"])
