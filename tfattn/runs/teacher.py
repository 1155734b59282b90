"""The `teacher:` section: a trained model that the model of a run learns from."""

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import keras
from pydantic import Field, NonNegativeFloat, PositiveFloat

from tfattn import console, files, pretrained, registry
from tfattn.config.build import build
from tfattn.config.schema import ADAPTER, Config
from tfattn.config.types import Fraction
from tfattn.errors import ConfigError, listed
from tfattn.models.contracts.attends import Attends
from tfattn.models.contracts.encoder import PretrainableEncoder
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.segments import SequenceSettings
from tfattn.pretrained import keras_model
from tfattn.pretrained.contract import Pretrained, read_json
from tfattn.pretrained.own_export import OwnExport
from tfattn.runs.member import Member, build_task
from tfattn.tasks.distillation import Distillation
from tfattn.tasks.task import Task

STATISTICS = "assets.extra/statistics.json"  # of an export, with the labels of its training rows
# Settings of a tokenizer that do not change its tokens.
SEQUENCE_SETTINGS = {*SequenceSettings.__annotations__, "tokenizers_version"}
TASKS = ("classification", "token_classification", "masked_lm")


@dataclass(frozen=True, kw_only=True)
class Teacher:
    """A trained model that the model of the run learns from (distillation), in addition to the labels.

    The teacher reads the same texts with the same tokens. Its weights are not trained, and it is not needed after the
    training. Soft labels need a teacher that was trained on the same task with the same labels: an export of tfattn.
    Hidden states and attention need an encoder alone.

    Args:
        pretrained: the teacher: saved_models/NAME, the export of a run or its NAME; or published weights, as
            `model.pretrained`.
        soft_labels: the weight of the teacher's predictions; the labels have one minus this weight.
        temperature: the temperature of both predictions; higher values teach more of the unlikely labels.
        hidden_states: the weight of the difference between the outputs of the layers; 0 does not compare them.
        attention: the weight of the difference between the attention of the last layers; 0 does not compare it. Both
            models need the same number of heads.

    Example:
        teacher: {pretrained: saved_models/sst2, soft_labels: 0.9, temperature: 2}
    """

    pretrained: Annotated[str, Field(min_length=1)]
    soft_labels: Fraction = 0.5
    temperature: PositiveFloat = 2.0
    hidden_states: NonNegativeFloat = 0.0
    attention: NonNegativeFloat = 0.0

    @property
    def compares_layers(self) -> bool:
        """Whether layers are compared, and not only predictions."""
        return bool(self.hidden_states or self.attention)


def open_teacher(config: Config) -> Pretrained | None:
    """Open the teacher of a configuration, and check what is known without data; None without a teacher.

    Raises:
        ConfigError: there is no such model, or the teacher does not fit the model or the task.
    """
    if config.values.get("teacher") is None:
        return None
    teacher: Teacher = build(config, "teacher")
    name = config.values["task"]["name"]
    if name not in TASKS:
        raise _unfit(config, "a model of this task cannot learn from a teacher", f"one of {listed(TASKS)}", name)
    if not (teacher.soft_labels or teacher.compares_layers):
        raise _unfit(config, "nothing is learned from the teacher", "a weight above 0", "0", "soft_labels")
    if config.values["task"].get("encoder") == "frozen":
        raise _unfit(config, "the encoder is frozen, and cannot learn", "`task.encoder: fine_tune`", "frozen")
    weights = pretrained.find(teacher.pretrained, Path(config.values["export"]["folder"]))
    taught = weights.config["task"]["name"] if isinstance(weights, OwnExport) else None
    needs_export = teacher.soft_labels and (taught is not None or name != "masked_lm")
    if needs_export and taught != name:
        raise _unfit(
            config,
            "the teacher has another task" if taught else "the teacher predicts no labels",
            f"an export of the task {name}",
            taught or f"published weights of a `{weights.model}`",
            remedy="Set teacher.soft_labels: 0, and compare hidden_states or attention.",
        )
    return weights


def distillation(member: Member, student: Task, preprocessor: Preprocessor) -> Task:
    """Return the task to train: the student with its teacher, or the student itself without a teacher.

    Args:
        member: the model of the run.
        student: its task, with the initial weights.
        preprocessor: the fitted preprocessor of the student.

    Raises:
        ConfigError: the teacher has other tokens, labels or sizes than the student.
    """
    weights = open_teacher(member.config)
    if weights is None:
        return student
    settings: Teacher = build(member.config, "teacher")
    _check_tokens(member, weights, preprocessor)
    task = _teacher_task(member, weights, preprocessor, needs_head=settings.soft_labels > 0)
    if settings.compares_layers:
        _check_layers(member.config, settings, student.model, task.model)
    # Logits of tokens would take gigabytes, and inputs that change in each epoch have other logits in each.
    predicts_rows = member.config.values["task"]["name"] == "classification"
    is_cached = predicts_rows and not settings.compares_layers and not member.transforms(is_training=True)
    how = "once for each record" if is_cached else "in each step"
    console.note(f"teacher: {weights.address or weights.path}, computed {how}")
    options = {name: value for name, value in asdict(settings).items() if name != "pretrained"}
    return Distillation(student=student, teacher=task, caches_logits=is_cached, **options)


def _teacher_task(member: Member, weights: Pretrained, preprocessor: Preprocessor, *, needs_head: bool) -> Task:
    """Build the task of the teacher, and load its weights."""
    config = member.config
    task_values = weights.config["task"] if isinstance(weights, OwnExport) and needs_head else config.values["task"]
    if needs_head:
        _check_labels(member, weights)
    # Without an adapter: exports have it merged.
    values = {**config.values, "task": task_values, "model": {**config.values["model"], ADAPTER: None}}
    model = registry.find("models", weights.model)(**weights.sizes())
    task = build_task(Config(values), model, preprocessor, member.facts["targets"])
    heads = [layer for layer in task.layers if layer.weights and layer is not getattr(task, "backbone", model)]
    pooler = [model.pooler] if hasattr(model, "pooler") else []
    report = weights.load_into(model, [*heads, *pooler])
    head_weights = [weight.path for head in heads for weight in head.weights]
    names = weights.stored_shapes()
    stored = {name for path in head_weights for name in weights.stored_names(path, names)}
    if needs_head and not stored <= set(report.used):
        raise _unfit(config, "the teacher has no head of this task", listed(head_weights), "weights without it")
    return task


def _check_labels(member: Member, weights: Pretrained) -> None:
    """Check that the teacher predicts the labels of the student, in the same order."""
    labels, path = member.facts["targets"].get("labels"), weights.folder / STATISTICS
    if labels is None:
        return
    known = read_json(path).get("targets", {}).get("labels") or []
    if known != list(labels):
        raise _unfit(
            member.config,
            "the teacher has other labels",
            listed(labels),
            listed(known),
            remedy="Train the teacher on the same labels, or set `data.targets.labels` of both.",
        )


def _check_tokens(member: Member, weights: Pretrained, preprocessor: Preprocessor) -> None:
    """Check that the teacher reads the tokens of the student."""
    theirs = keras_model.preprocessor_of(weights)
    found, expected = (_tokenizer_files(each) for each in (theirs, preprocessor))
    if found != expected:
        differences = [name for name in {**found, **expected} if found.get(name) != expected.get(name)]
        raise _unfit(
            member.config,
            "the teacher has another vocabulary",
            f"the {type(preprocessor).__name__} of `data.preprocessing`",
            f"a {type(theirs).__name__} with another {listed(differences)}",
            remedy="Without `model.pretrained`, `data.preprocessing.vocabulary: pretrained` is that of the teacher.",
        )
    longest = weights.sizes().get("max_sequence_length")
    if longest is not None and (preprocessor.max_length or 0) > longest:
        raise _unfit(
            member.config,
            "the texts are too long for the teacher",
            f"at most {longest} tokens",
            f"data.preprocessing.max_length: {preprocessor.max_length}",
        )


def _tokenizer_files(preprocessor: Preprocessor) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        preprocessor.save(Path(folder))
        found: dict[str, Any] = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
        for path in Path(folder).glob("*_config.json"):
            settings = files.read_json(path, dict[str, Any])
            found[path.name] = {name: value for name, value in settings.items() if name not in SEQUENCE_SETTINGS}
    return found


def _check_layers(config: Config, settings: Teacher, student: keras.Model, teacher: keras.Model) -> None:
    """Check that the layers of both models can be compared."""
    for name, model in {"model": student, "teacher": teacher}.items():
        if not (isinstance(model, Attends) and isinstance(model, PretrainableEncoder)):
            expected = "encoders of the family of BERT"
            raise _unfit(config, f"the layers of the {name} cannot be compared", expected, type(model).__name__)
    if settings.attention and student.num_heads != teacher.num_heads:
        raise _unfit(
            config,
            "the teacher has another number of heads",
            f"{student.num_heads}, as the model",
            str(teacher.num_heads),
            "attention",
            remedy="Set teacher.attention: 0 and compare hidden_states, or set model.num_heads.",
        )


def _unfit(
    config: Config, what: str, expected: str, received: str, key: str = "pretrained", remedy: str = ""
) -> ConfigError:
    where = config.where("teacher", key)
    return ConfigError(what, where=where, expected=expected, received=received, remedy=remedy)
