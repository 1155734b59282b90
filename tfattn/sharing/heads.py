"""The heads of tasks in transformers: classes, settings and tensors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfattn.errors import ExportError
from tfattn.features import LOGITS, SEQUENCE_OUTPUT
from tfattn.sharing.architecture import Architecture
from tfattn.sharing.counterparts import POOLER
from tfattn.sharing.row_heads import linear, row_head
from tfattn.sharing.trained_export import TrainedExport
from tfattn.tasks.masked_lm_head import MASKED_LM_LOGITS

KERNEL, BIAS = "head/kernel", "head/bias"
_HEADS_OF_TASKS = ("head/", "masked_lm_head/", "next_sentence_head/")
# Names that do not follow the rule.
_CLASSES = {
    "GPT2ForCausalLM": "GPT2LMHeadModel",
    "Gemma3Model": "Gemma3TextModel",
    "MarianForSeq2SeqLM": "MarianMTModel",
    "T5ForSeq2SeqLM": "T5ForConditionalGeneration",
}
# Architectures whose classifier of images reads the vector of the class token and the mean of the others.
_WITH_MEAN = ("dinov2", "dinov2_with_registers")
# Architectures with a nonlinear head for each token, unlike the tasks here.
_WITH_TOKEN_HEADS = ("modernbert",)

Values = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Head:
    """The head of a task as a class of transformers has it.

    Args:
        suffix: the name of the class without the architecture, such as ForSequenceClassification.
        settings: its content of config.json.
        tensors: its tensors, as in the file.
        values: the weights that the tables of the architecture name, by path.
        output: the names of its logits among the outputs of the class; several are stacked.
        logits: returns these logits for the outputs of our task.
    """

    suffix: str
    settings: dict[str, Any] = field(default_factory=dict)
    tensors: dict[str, np.ndarray] = field(default_factory=dict)
    values: Values = field(default_factory=dict)
    output: tuple[str, ...] = ("logits",)
    logits: Callable[[dict[str, Any]], Any] = lambda outputs: outputs[LOGITS]

    @property
    def reads_model(self) -> bool:
        """Whether the logits are outputs of the model below the task, at all positions."""
        return self.suffix in ("", "ForCausalLM", "ForSeq2SeqLM")

    @property
    def auto_class(self) -> str:
        """The class that loads the folder."""
        return f"AutoModel{self.suffix}"

    def class_name(self, architecture: Architecture) -> str:
        """Return the name of the class for an architecture."""
        name = architecture.name + (self.suffix or "Model")
        return _CLASSES.get(name, name)


def head_of(export: TrainedExport, architecture: Architecture) -> Head:
    """Return the head of an export's task.

    Raises:
        ExportError: transformers has no such head; names what differs.
    """
    make = _HEADS.get(export.task)
    if make is None:
        raise ExportError(
            "the task has no counterpart in transformers",
            where=str(export.folder),
            expected=f"one of {', '.join(_HEADS)}",
            received=export.task,
            remedy="Serve its SavedModel: tfattn serve.",
        )
    return make(export, architecture)


def encoder_alone(export: TrainedExport) -> Head:
    """Return no head: the vectors of tokens of the model below the task."""
    return Head(
        "",
        values=_model_values(export),
        output=("last_hidden_state",),
        logits=lambda outputs: outputs[SEQUENCE_OUTPUT],
    )


def _classification(export: TrainedExport, architecture: Architecture) -> Head:
    return _of_rows(export, architecture, {**_labels(export.labels), "problem_type": "single_label_classification"})


def _multi_label(export: TrainedExport, architecture: Architecture) -> Head:
    return _of_rows(export, architecture, {**_labels(export.labels), "problem_type": "multi_label_classification"})


def _regression(export: TrainedExport, architecture: Architecture) -> Head:
    """Return a head that predicts in the unit of the training file: the scale of the targets is part of its weights."""
    mean, deviation = (np.float32(export.targets[name]) for name in ("mean", "deviation"))
    scaled = {KERNEL: export.values[KERNEL] * deviation, BIAS: export.values[BIAS] * deviation + mean}
    settings = {**_labels(["LABEL_0"]), "problem_type": "regression"}
    return _of_rows(
        export,
        architecture,
        settings,
        {**export.values, **scaled},
        logits=lambda outputs: np.asarray(outputs[LOGITS]) * deviation + mean,
    )


def _multiple_choice(export: TrainedExport, architecture: Architecture) -> Head:
    return _of_rows(
        export,
        architecture,
        {},
        suffix="ForMultipleChoice",
        logits=lambda outputs: np.asarray(outputs[LOGITS])[..., 0],
    )


def _of_rows(
    export: TrainedExport,
    architecture: Architecture,
    settings: dict[str, Any],
    values: Values | None = None,
    *,
    suffix: str = "ForSequenceClassification",
    **options: Any,
) -> Head:
    """Return the linear head of a task with a prediction for each row."""
    values = values or export.values
    if architecture.preprocessor == "images":
        tensors = linear("classifier", values[KERNEL], values[BIAS])
        return Head("ForImageClassification", settings, tensors, _model_values(export), **options)
    found = row_head(export, architecture, suffix, values[KERNEL], values[BIAS])
    return Head(suffix, settings | found.settings, found.tensors, _without_pooler(export), **options)


def _token_classification(export: TrainedExport, architecture: Architecture) -> Head:
    _check_tokens(export, architecture)
    names = ["O", *(f"{side}-{label}" for label in export.labels for side in "BI")]
    tensors = linear("classifier", export.values[KERNEL], export.values[BIAS])
    return Head("ForTokenClassification", _labels(names), tensors, _without_pooler(export))


def _question_answering(export: TrainedExport, architecture: Architecture) -> Head:
    _check_tokens(export, architecture)
    tensors = linear("qa_outputs", export.values[KERNEL], export.values[BIAS])
    outputs = ("start_logits", "end_logits")
    return Head("ForQuestionAnswering", {}, tensors, _without_pooler(export), outputs)


def _masked_lm(export: TrainedExport, architecture: Architecture) -> Head:
    heads = {path: value for path, value in export.values.items() if path.startswith("masked_lm_head/")}
    values = _without_pooler(export) | heads
    return Head("ForMaskedLM", values=values, logits=lambda outputs: outputs[MASKED_LM_LOGITS])


def _pretraining(export: TrainedExport, architecture: Architecture) -> Head:
    if architecture.model_type != "bert":
        return _masked_lm(export, architecture)
    return Head(
        "ForPreTraining",
        values=export.values,
        output=("prediction_logits",),
        logits=lambda outputs: outputs[MASKED_LM_LOGITS],
    )


def _causal_lm(export: TrainedExport, architecture: Architecture) -> Head:
    return Head("ForCausalLM", values=_model_values(export))


def _translation(export: TrainedExport, architecture: Architecture) -> Head:
    return Head("ForSeq2SeqLM", values=_model_values(export))


_HEADS: dict[str, Callable[[TrainedExport, Architecture], Head]] = {
    "bert_pretraining": _pretraining,
    "chat": _causal_lm,
    "classification": _classification,
    "embedding": lambda export, architecture: encoder_alone(export),
    "language_modeling": _causal_lm,
    "masked_lm": _masked_lm,
    "multi_label_classification": _multi_label,
    "multiple_choice": _multiple_choice,
    "preference_optimization": _causal_lm,
    "question_answering": _question_answering,
    "regression": _regression,
    "token_classification": _token_classification,
    "translation": _translation,
}


def _check_tokens(export: TrainedExport, architecture: Architecture) -> None:
    """Refuse a linear head of tokens where transformers has another one."""
    if architecture.model_type in _WITH_TOKEN_HEADS:
        raise ExportError(
            f"the head of a {architecture.name} in transformers is not linear",
            where=str(export.folder),
            expected="a linear map of each token's vector, as of a Bert",
            received="a dense layer and a normalization before it",
            remedy="Write the encoder without the head: --encoder-only.",
        )


def _model_values(export: TrainedExport) -> dict[str, np.ndarray]:
    """Return the weights below the task."""
    return {path: value for path, value in export.values.items() if not path.startswith(_HEADS_OF_TASKS)}


def _without_pooler(export: TrainedExport) -> dict[str, np.ndarray]:
    """Return the weights below the task, for a class without the pooler of the model."""
    return {path: value for path, value in _model_values(export).items() if not path.startswith(POOLER)}


def _labels(names: list[str]) -> dict[str, Any]:
    return {
        "id2label": {str(number): name for number, name in enumerate(names)},
        "label2id": {name: number for number, name in enumerate(names)},
    }
