"""The recommended training of each model family: the values of `training:` keys that a pipeline does not set.

`tfattn show` prints the values with this origin. docs/configuration.md has the measurements.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Start = Literal["from scratch", "pretrained", "frozen encoder"]

LINEAR = {"name": "linear", "warmup": 0.1}
COSINE = {"name": "cosine", "warmup": 0.05}


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """Values of the `training:` section for some models.

    Args:
        start: the initial weights: all from scratch, pretrained, or a pretrained encoder that is not trained.
        models: the models; empty for all.
        tasks: the tasks; empty for all.
        training: the values.
    """

    start: Start
    models: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    training: Mapping[str, Any]

    def fits(self, model: str, task: str, start: Start) -> bool:
        """Return whether it is for this model, task and start."""
        return (
            start == self.start and (not self.models or model in self.models) and (not self.tasks or task in self.tasks)
        )


# The first that fits counts.
RECOMMENDATIONS = (
    Recommendation(
        start="frozen encoder",
        training={
            "epochs": 10,
            "min_steps": 1000,
            "optimizer": {"name": "adamw", "learning_rate": 1e-2, "weight_decay": 0.01},
            "schedule": COSINE,
        },
    ),
    Recommendation(
        start="pretrained",
        models=("gpt",),
        training={
            "epochs": 2,
            "optimizer": {"name": "adamw", "learning_rate": 1e-4, "weight_decay": 0.01},
            "schedule": LINEAR,
        },
    ),
    Recommendation(
        start="pretrained",
        training={
            "epochs": 3,
            "min_steps": 300,
            "optimizer": {"name": "adamw", "learning_rate": 1e-4, "weight_decay": 0.01},
            "schedule": LINEAR,
        },
    ),
    Recommendation(
        start="from scratch",
        models=("feature_tokenizer_transformer", "feature_map_transformer", "tab_m"),
        training={
            "epochs": 12,
            "min_steps": 500,
            "optimizer": {"name": "adamw", "learning_rate": 1e-3, "weight_decay": 0.01},
            "schedule": COSINE,
            "averaging": {"name": "ema", "decay": 0.99},
        },
    ),
    Recommendation(
        start="from scratch",
        models=("vit",),
        training={
            "epochs": 60,
            "optimizer": {"name": "adamw", "learning_rate": 1e-3, "weight_decay": 0.05},
            "schedule": {"name": "cosine", "warmup": 0.1},
            "averaging": {"name": "ema", "decay": 0.998},
        },
    ),
    Recommendation(
        start="from scratch",
        models=("transformer",),
        training={
            "epochs": 20,
            "optimizer": {"name": "adamw", "learning_rate": 1e-3, "weight_decay": 0.01, "beta_2": 0.98},
            "schedule": {"name": "cosine", "warmup": 0.1},
            "averaging": {"name": "ema", "decay": 0.999},
        },
    ),
    Recommendation(
        start="from scratch",
        models=("rnn_encoder_decoder",),
        training={
            "epochs": 8,
            "optimizer": {"name": "adamw", "learning_rate": 2e-3, "weight_decay": 0.01, "beta_2": 0.98},
            "schedule": {"name": "cosine", "warmup": 0.1},
            "averaging": {"name": "ema", "decay": 0.999},
        },
    ),
    Recommendation(
        start="from scratch",
        models=("cbow", "skip_gram"),
        training={
            "epochs": 5,
            "optimizer": {"name": "sgd", "learning_rate": 0.025, "momentum": 0.0},
            "schedule": {"name": "linear", "warmup": 0},
            "clip_norm": None,
            "sparse_embeddings": True,
        },
    ),
    Recommendation(
        start="from scratch",
        tasks=("language_modeling", "chat", "masked_lm", "bert_pretraining"),
        training={
            "epochs": 3,
            "min_steps": 1000,
            "optimizer": {"name": "muon", "learning_rate": 3e-3, "weight_decay": 0.1, "beta_2": 0.98},
            "schedule": {"name": "linear", "warmup": 0.05},
        },
    ),
    Recommendation(
        start="from scratch",
        models=("elmo",),
        training={
            "epochs": 3,
            "min_steps": 1000,
            "optimizer": {"name": "adamw", "learning_rate": 2e-3, "weight_decay": 0.01},
            "schedule": COSINE,
        },
    ),
    Recommendation(
        start="from scratch",
        training={
            "epochs": 6,
            "min_steps": 1000,
            "optimizer": {"name": "adamw", "learning_rate": 1e-3, "weight_decay": 0.01},
            "schedule": LINEAR,
        },
    ),
)
LENGTH = ("epochs", "steps", "min_steps")


def recommended_training(values: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the recommended values that a pipeline does not replace, and their origin.

    A length in the pipeline (`epochs`, `steps` or `min_steps`) replaces the whole recommended length.

    Args:
        values: the pipeline, which may have errors.
    """
    model, task, training = (_mapping(values.get(key)) for key in ("model", "task", "training"))
    if not isinstance(model.get("name"), str):
        return {}, ""
    start: Start = "from scratch"
    if model.get("pretrained") is not None:
        start = "frozen encoder" if task.get("encoder") == "frozen" else "pretrained"
    name = str(task.get("name"))
    found = next(found for found in RECOMMENDATIONS if found.fits(model["name"], name, start))
    excluded = LENGTH if any(training.get(key) is not None for key in LENGTH) else ()
    chosen = {key: value for key, value in found.training.items() if key not in excluded}
    return chosen, f"recommended for {model['name']}, {start}"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
