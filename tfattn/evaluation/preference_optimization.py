"""The evaluation of preference optimization: rewards of the chosen and the rejected answers."""

import math

from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.language_modeling import greedy_answers
from tfattn.evaluation.report import Headline, Section, Table
from tfattn.evaluation.wording import count, number
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions
from tfattn.training.losses import LOSS

ACCURACY, MARGIN = "preference_accuracy", "reward_margin"


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Evaluate preference optimization on the pairs of a split.

    Args:
        ensemble: a single trained model of a PreferenceOptimization.
        predictions: the metrics of the split's records.

    Returns:
        a report whose metrics are those of the task, and `baseline_loss`, the loss of the reference.
    """
    task = ensemble.task
    start = 0.25 / task.beta**2 if task.loss == "ipo" else math.log(2)
    metrics = {**predictions.metrics, "baseline_loss": start}
    pairs = count(len(predictions.rows), f"{predictions.split} pair")
    rows = [
        ["pairs whose chosen answer has the higher reward", number(metrics[ACCURACY])],
        ["mean reward of chosen answers", number(metrics["chosen_reward"])],
        ["mean reward of rejected answers", number(metrics["rejected_reward"])],
        ["mean difference of both", number(metrics[MARGIN])],
        ["loss", number(metrics[LOSS])],
        ["loss of the reference", number(start)],
    ]
    return TaskReport(
        question="which answer is better?",
        measured=pairs,
        metrics=metrics,
        predictions=[],
        headline=_headline(metrics),
        sections=[Section("Rewards", [Table(["", "value"], rows)]), greedy_answers(ensemble, predictions)],
        unit="pair",
        summary=f"the chosen answer has the higher reward in {number(metrics[ACCURACY])} of {pairs}; mean difference "
        f"{number(metrics[MARGIN])}",
        baselines={LOSS: start},
    )


def _headline(metrics: dict[str, float]) -> Headline:
    is_better = metrics[LOSS] < metrics["baseline_loss"]
    return Headline(
        metric=number(metrics[ACCURACY]),
        sentence=f"In {number(metrics[ACCURACY])} of the pairs the chosen answer has the higher reward.",
        warnings=[] if is_better else ["The loss is not lower than that of the model at the start of the training."],
        remarks=[
            "The reward of an answer is beta times the difference of its log probability to that at the start of the "
            "training. The fraction of pairs says nothing about the quality of generated answers: read some of them."
        ],
        facts={"mean difference of rewards": number(metrics[MARGIN]), "loss": number(metrics[LOSS])},
    )
