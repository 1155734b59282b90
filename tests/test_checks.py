"""Checks of configurations before long computations, and their messages."""

import re
from pathlib import Path

import pytest

from tfattn import catalog
from tfattn.checks import check
from tfattn.config.resolve import resolve
from tfattn.errors import ConfigError, ConfigProblems
from tfattn.training.optimizers import Sgd

TEXTS = """\
name: tiny
data:
  source: {name: csv, path: rows.csv, fields: {text: words, label: kind}}
  preprocessing: {name: wordpiece, vocabulary_size: 100, max_length: 16}
  batching: {batch_size: 4}
  split: {validation: 0.2}
model: {name: bert, hidden_dim: 16, num_layers: 1, num_heads: 2, intermediate_dim: 8, max_sequence_length: 16}
task: {name: classification}
"""
TABLE = """\
name: tiny
data:
  source: {name: csv, path: rows.csv, fields: {label: kind}}
  preprocessing: {name: table, numeric: [age, height]}
  batching: {batch_size: 4}
  split: {validation: 0.5}
model: {name: feature_tokenizer_transformer, hidden_dim: 8, num_layers: 1, num_heads: 2}
task: {name: classification}
training: {epochs: 1}
"""
PERIODIC = TABLE.replace("num_heads: 2", "num_heads: 2, numeric_embedding: periodic")
NUMBERS = "data.source={name: csv, path: rows.csv, fields: {target: weight}}"
ROWS = "age,height,kind\n" + "".join(f"{20 + n},{150 + 3 * n},{'abc'[n % 3]}\n" for n in range(24))


@pytest.fixture
def checked(tmp_path, monkeypatch):
    """Return a function that checks a pipeline with overrides and returns its errors."""
    monkeypatch.chdir(tmp_path)

    def of(pipeline, *overrides):
        (tmp_path / "tiny.yaml").write_text(pipeline)
        try:
            check(resolve("tiny.yaml", list(overrides)))
        except ConfigError as error:
            return str(error)
        return ""

    return of


def test_validation_rows_are_required(checked):
    message = checked(TEXTS, "data.split.validation=0")
    assert "data.split.validation: there are no validation rows: expected a fraction above 0" in message
    apart = "data.validation_source={name: csv, path: v.csv, fields: {text: words, label: kind}}"
    assert checked(TEXTS, "data.split.validation=0", apart) == ""
    assert checked(TABLE, "data.split={validation: 0, folds: 3}") == ""


@pytest.mark.parametrize("pipeline", [TEXTS, TABLE])
def test_a_good_pipeline_passes(checked, pipeline):
    assert checked(pipeline) == ""


@pytest.mark.parametrize(
    ("override", "place"),
    [
        ("model.hidden_dim=600000", "model.hidden_dim"),
        ("model.vocabulary_size=1000000000000", "model.vocabulary_size"),
        ("data.preprocessing.vocabulary_size=1000000000000", "data.preprocessing.vocabulary_size"),
        ("model.max_sequence_length=1000000000000", "model.max_sequence_length"),
        ("model.num_frequencies=1000000000000", "model.num_frequencies"),
    ],
)
def test_a_model_too_large_is_refused_with_the_key_to_lower(checked, override, place):
    message = checked(TEXTS if "frequencies" not in override else PERIODIC, override)
    assert message.startswith(f"--set {place}: {place}: the model is too large for this machine: expected at most its ")
    assert message.endswith(f"Lower `{place}`.")


def test_a_check_takes_no_memory_for_weights(checked):
    checked(TEXTS)
    before = _peak(reset=True)
    assert checked(TEXTS, f"model.vocabulary_size={2**24}", "training.optimizer={name: sgd, momentum: 0}") == ""
    assert _peak() - before < 2**18  # KiB; the weights have 2**20


def _peak(*, reset: bool = False) -> int:
    """Return the peak of this process's memory in KiB; that of earlier tests is forgotten with `reset`."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text()).group(1))


def test_the_optimizer_and_averages_count(checked):
    def received(*more):
        huge = ("task.pooling=pooler", "model.hidden_dim=600000")
        return checked(TEXTS, *huge, *more).partition(" of weights, ")[2].partition(" GiB")[0]

    adamw, sgd = received(), received("training.optimizer={name: sgd, momentum: 0}")
    averaged = received("training.averaging={name: last_epochs, epochs: 3}")
    numbers = [float(text.replace(",", "")) for text in (sgd, adamw, averaged)]
    assert [round(number / numbers[0], 3) for number in numbers] == [1, 2, 4]


@pytest.mark.parametrize(
    ("pipeline", "overrides", "message"),
    [
        (
            TEXTS,
            ["training.monitor=acuracy"],
            "expected one of loss, accuracy, macro_precision, macro_recall, macro_f1, matthews_correlation",
        ),
        (TEXTS, ["training.monitor=acuracy"], "--set training.monitor: training.monitor: the task has no such metric"),
        (TEXTS, ["training.monitor=sensitivity"], "the task has no such metric"),
        (TABLE, ["training.monitor=sensitivity", "data.targets.labels=[a, b, c]"], "the task has no such metric"),
        (TEXTS, ["task.class_weights={A: 2}", "data.targets.labels=[a, b]"], "received 'A'. Did you mean `a`?"),
        (TABLE, ["task.positive=c", "data.targets.labels=[a, b]"], "task.positive: the data have no such label"),
        (TABLE, ["task.specificity=1.0", "data.targets.labels=[a, b, c]"], "there is no positive label to find"),
    ],
)
def test_metrics_and_labels_are_checked(checked, pipeline, overrides, message):
    assert message in checked(pipeline, *overrides)


@pytest.mark.parametrize(
    "overrides",
    [
        ["training.monitor=sensitivity"],  # there may be two labels
        ["training.monitor=sensitivity", "data.targets.labels=[a, b, c]", "task.positive=b"],
        ["task.positive=whatever", "task.specificity=1.0"],
        ["task.class_weights={whatever: 2.0}"],
        ["task.class_weights=balanced"],
        ["training.monitor=loss"],
    ],
)
def test_values_that_depend_on_data_pass(checked, overrides):
    assert checked(TABLE, *overrides) == ""


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["data.targets.lables=[a, b]"], "data.targets.lables: unknown key. Did you mean `labels`?"),
        (["data.targets.labels=[a]"], "data.targets.labels: not a list of classes: expected at least two, each once"),
        (["data.targets.separator=;"], "data.targets.separator: unknown key. Did you mean `data.source.delimiter`?"),
        (["task.name=tabular_regression"], "data.source.fields: no column is given for `target`"),
        (["task.name=tabular_regresion"], "task.name: unknown name in tasks"),
        (
            ["task.name=tabular_regression", "data.source.fields={target: kind}", "data.batching.balanced=true"],
            "data.batching.balanced: there are no classes to balance",
        ),
        (
            ["task.name=tabular_regression", "data.source.fields={target: kind}", "task.loss=huge"],
            "expected one of 'mean_squared_error', 'mean_absolute_error', 'huber'",
        ),
    ],
)
def test_targets_are_checked_for_the_task(checked, overrides, message):
    found = checked(TABLE, *overrides)
    assert message in found and len(found.splitlines()) == 1


@pytest.mark.parametrize(
    ("task", "role", "more"),
    [
        ("regression", "target", ["ensemble={folds: 3}", "training.monitor=spearman"]),
        ("multi_label_classification", "labels", ["data.targets.separator=;", "ensemble={seeds: 2}"]),
    ],
)
def test_a_label_column_is_not_a_target_of_other_tasks(checked, task, role, more):
    fields = f"data.source.fields={{{role}: kind, label: age}}"
    assert checked(TABLE, f"task.name={task}", fields, *more) == ""


class Slow(Sgd):
    """A plugin optimizer that refuses its values.

    Args:
        momentum: of which there is none.
    """

    def __init__(self, *, momentum: float = 0.5):
        raise ConfigError("too slow", key="momentum")


def test_errors_of_all_sections_are_reported_together(tmp_path, monkeypatch):
    monkeypatch.setitem(catalog.CATALOGS["optimizers"], "slow", f"{__name__}:Slow")
    (tmp_path / "tiny.yaml").write_text(TEXTS)
    config = resolve(tmp_path / "tiny.yaml", ["training.optimizer={name: slow}", "data.split.validation=1"])
    with pytest.raises(ConfigProblems) as caught:
        check(config)
    assert [problem.key for problem in caught.value.problems] == ["validation", "momentum"]


def test_maximum_lengths_are_checked(checked):
    assert "data.preprocessing.max_length: above `model.max_sequence_length`: expected at most " in checked(
        TEXTS, "data.preprocessing.max_length=17"
    )


def test_the_command_reports_what_it_checked(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(TEXTS)
    quick, deep = command("check", "tiny.yaml"), command("check", "tiny.yaml", "--deep")
    assert quick.output == "tiny.yaml: no errors in keys and values; --deep builds all parts too\n"
    assert deep.output == "tiny.yaml: no errors\n"
    found = command("check", "tiny.yaml", "--deep", "--set", "data.split.validation=1")
    assert found.status == 2 and "data.split.validation: no rows are left for training" in found.errors


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "training.monitor=sensitivity",
            "training.monitor: the task has no such metric: expected one of loss, accuracy",
        ),
        ("task.positive=C", "task.positive: the data have no such label: expected one of a, b, c, received 'C'"),
        ("task.class_weights={C: 2.0}", "expected some of a, b, c, received 'C'. Did you mean `c`?"),
    ],
)
def test_errors_of_the_data_are_reported_before_training(tmp_path, monkeypatch, command, override, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(TABLE)
    (tmp_path / "rows.csv").write_text(ROWS)
    # As the data are prepared, and again for the data that have been.
    for stage in ("prepare", "train"):
        answer = command(stage, "tiny.yaml", "--set", override)
        assert answer.status == 2 and message in answer.errors
        assert "train: runs" not in answer.errors
    assert not list(tmp_path.rglob("checkpoints"))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ["calibration={coverage: 0.9}", "data.split.calibration=0.3"],
            "there are too few calibration rows for a coverage of 0.9: expected at least 9, received 7",
        ),
        (
            ["calibration={coverage: 0.7, by_class: true}", "data.split.calibration=0.3"],
            "too few calibration rows of the label 'c' for a coverage of 0.7: expected at least 3, received 2",
        ),
        (
            ["calibration={temperature: true}", "data.split={hold_out: {kind: [c]}, group: age, stratify: false}"],
            "a label has no calibration row: expected at least one validation row of each label, received none of c",
        ),
    ],
)
def test_too_few_calibration_rows_are_reported_before_training(tmp_path, monkeypatch, command, overrides, message):
    monkeypatch.chdir(tmp_path)
    source = "data.source={name: csv, path: rows.csv, fields: {label: kind, kind: kind, age: age}}"
    labels = "data.targets={labels: [a, b, c]}"
    (tmp_path / "tiny.yaml").write_text(TABLE)
    (tmp_path / "rows.csv").write_text(ROWS)
    options = [word for override in [source, labels, *overrides] for word in ("--set", override)]
    answer = command("train", "tiny.yaml", *options)
    assert answer.status == 1 and message in answer.errors, answer.errors
    assert "train: runs" not in answer.errors


TEST_ROWS = "data.split={validation: 0.2, test: 0.2}"


@pytest.mark.parametrize(
    ("pipeline", "overrides", "message"),
    [
        (TEXTS, ["calibration={coverage: 0.9}"], "data.split.calibration: there are no calibration rows: expected a"),
        (TEXTS, ["calibration={}"], "calibration.temperature: nothing is calibrated"),
        (
            TEXTS,
            ["calibration={coverage: 0}", TEST_ROWS],
            "calibration.coverage: wrong value: expected a number > 0 and < 1",
        ),
        (
            TEXTS,
            ["calibration={coverage: 1}", TEST_ROWS],
            "calibration.coverage: wrong value: expected a number > 0 and < 1",
        ),
        (
            TEXTS,
            ["calibration={coverage: 90}", TEST_ROWS],
            "calibration.coverage: wrong value: expected a number > 0 and < 1",
        ),
        (TEXTS, ["calibration={by_class: true}", TEST_ROWS], "needs another `coverage`"),
        (
            TEXTS,
            ["calibration={threshold: f1}", TEST_ROWS],
            "calibration.threshold: there is no positive label for a threshold: expected `task.positive`",
        ),
        (
            TABLE,
            ["calibration={threshold: f1}", TEST_ROWS, "task={name: classification, positive: a, specificity: 0.9}"],
            "calibration.threshold: the operating point is given twice: expected either `task.specificity` or",
        ),
        (
            TABLE,
            ["calibration={coverage: 0.9}", "ensemble.folds=3", "data.split.calibration=0.2"],
            "ensemble.folds: a calibrated ensemble of folds needs test rows: expected `data.split.test` above 0",
        ),
        (
            TABLE,
            ["calibration={temperature: true}", TEST_ROWS, "task={name: regression}", NUMBERS],
            "calibration.temperature: the task regression has no such calibration: expected one of coverage",
        ),
    ],
)
def test_an_invalid_calibration_is_refused(checked, pipeline, overrides, message):
    assert message in checked(pipeline, *overrides)


def test_rows_that_may_calibrate(checked):
    section = "calibration={temperature: true, coverage: 0.9}"
    assert checked(TEXTS, section, "data.split.calibration=0.2") == ""
    assert checked(TEXTS, section, TEST_ROWS) == ""  # the validation rows, as test rows measure
    assert checked(TABLE, section, TEST_ROWS, "ensemble.seeds=2") == ""


FOLDS = "ensemble.folds=3"


@pytest.mark.parametrize(
    ("pipeline", "overrides", "message"),
    [
        (TEXTS, [FOLDS], "--set ensemble.folds: ensemble.folds: texts are not divided into folds: expected a table"),
        (
            TABLE,
            [FOLDS, "data.split.folds=4"],
            "the validation rows are given twice: expected either `ensemble.folds` or `data.split.folds`",
        ),
        (
            TABLE,
            [FOLDS, "data.validation_source={name: csv, path: v.csv, fields: {label: kind}}"],
            "the validation rows are given twice: expected either `ensemble.folds` or `data.validation_source`",
        ),
    ],
)
def test_an_invalid_ensemble_is_refused(checked, pipeline, overrides, message):
    assert message in checked(pipeline, *overrides)


@pytest.mark.parametrize("ensemble", ["{seeds: 2}", "{folds: 3}", "{seeds: 2, folds: 3}", "{}", "null"])
def test_an_ensemble_of_classifiers_passes(checked, ensemble):
    assert checked(TABLE, f"ensemble={ensemble}") == ""
