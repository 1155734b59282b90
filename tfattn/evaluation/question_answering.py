"""The evaluation of extractive question answering: exact match and F1, by kind of question, and errors."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfattn.drawing.figures import svg
from tfattn.evaluation import plots, warnings
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.metrics import bootstrap_interval
from tfattn.evaluation.report import Headline, Marked, Picture, Piece, Section, Table, Text, pieces
from tfattn.evaluation.row_predictions import MAX_ERRORS_SHOWN, location
from tfattn.evaluation.wording import count, percent, percents
from tfattn.features import CONTEXT, ID, QUESTION, STARTS
from tfattn.tasks.answer_metrics import exact_match, f1
from tfattn.tasks.question_answering import QuestionAnswering, answer_texts
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

SHOWN_AROUND = 120  # characters of context before and after a mark
QUESTION_WORDS = ("what", "which", "who", "whose", "whom", "when", "where", "why", "how many", "how much", "how")
LENGTHS = {"1 word": 1, "2 words": 2, "3 words": 3, "4 to 6 words": 6, "7 to 10 words": 10, "more words": 10**9}
NO_ANSWER = "no answer"


@dataclass(frozen=True)
class Answered:
    """N questions with true and predicted answers.

    Args:
        rows: N raw rows.
        right: N lists of true answers, empty for questions without an answer.
        given: N predicted answers, "" for no answer.
        starts: (N,) the first character of the predicted answers.
        scores: (N,) the probabilities of the predicted answers.
        exact, f1: (N,) exact match and F1.
    """

    rows: Sequence[dict[str, Any]]
    right: Sequence[Sequence[str]]
    given: Sequence[str]
    starts: np.ndarray
    scores: np.ndarray
    exact: np.ndarray
    f1: np.ndarray

    @classmethod
    def of(cls, task: QuestionAnswering, predictions: SplitPredictions) -> "Answered":
        """Compare the predictions of a split with its raw rows."""
        values, right = predictions.values, [answer_texts(row) for row in predictions.rows]
        spans = task.texts(values, predictions.rows)
        given = [text if is_given else "" for text, is_given in zip(spans, values["has_answer"], strict=True)]
        pairs = list(zip(given, right, strict=True))
        return cls(
            rows=predictions.rows,
            right=right,
            given=given,
            starts=values[STARTS][:, 0],
            scores=values["score"],
            exact=np.array([exact_match(*pair, units=task.units) for pair in pairs]),
            f1=np.array([f1(*pair, units=task.units) for pair in pairs]),
        )


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Evaluate answers by the rules of SQuAD's official scorers.

    Args:
        ensemble: a single trained model of a QuestionAnswering.
        predictions: of `QuestionAnswering.predictions`.

    Returns:
        a report whose metrics are `exact_match` and `f1`, each with its 95 % interval, `leaked_rows` and, if some
        rows are not leaked, `f1_without_leaked`; and if some questions have no answer, exact match and F1 of questions
        with an answer (`has_answer_`) and without (`no_answer_`).
    """
    answered = Answered.of(ensemble.task, predictions)
    metrics = {**_measured(answered), **_trust(answered, predictions.leaked)}
    return TaskReport(
        question="which part of a text answers a question?",
        measured=count(len(answered.rows), f"{predictions.split} question"),
        metrics=metrics,
        predictions=_lines(answered),
        headline=_headline(answered, metrics, predictions),
        sections=[
            _section("By question word", "question_word", answered, question_word, [*QUESTION_WORDS, OTHER]),
            _section("By the length of the answer", "length", answered, answer_length, [*LENGTHS, NO_ANSWER]),
            _mistakes(answered),
        ],
        unit="question",
        summary=f"exact match {metrics['exact_match']:.4f}, F1 {metrics['f1']:.4f} (95% interval "
        f"{metrics['f1_low']:.4f} to {metrics['f1_high']:.4f})",
    )


OTHER = "other"


def question_word(row: dict[str, Any]) -> str:
    """Return the first English question word of a question, or OTHER."""
    words = f" {' '.join(''.join(c if c.isalnum() else ' ' for c in row[QUESTION].lower()).split())} "
    found = [(words.find(f" {word} "), -len(word), word) for word in QUESTION_WORDS if f" {word} " in words]
    return min(found)[2] if found else OTHER


def answer_length(row: dict[str, Any]) -> str:
    """Return the length bucket of the shortest true answer, in words."""
    lengths = [len(text.split()) for text in answer_texts(row)]
    return next(name for name, most in LENGTHS.items() if min(lengths) <= most) if lengths else NO_ANSWER


def _measured(answered: Answered) -> dict[str, float]:
    has_answer = np.array([bool(right) for right in answered.right])
    groups = {"": np.ones(len(has_answer), bool)}
    if not has_answer.all():
        groups |= {"has_answer_": has_answer, "no_answer_": ~has_answer}
    metrics = {}
    for prefix, rows in groups.items():
        for name, values in (("exact_match", answered.exact), ("f1", answered.f1)):
            if rows.any():
                metrics |= _with_interval(f"{prefix}{name}", values[rows])
    return metrics


def _trust(answered: Answered, leaked: np.ndarray) -> dict[str, float]:
    """Return the number of leaked rows and, if some rows are not leaked, the F1 of the others with its interval."""
    metrics: dict[str, float] = {"leaked_rows": int(leaked.sum())}
    if leaked.any() and not leaked.all():
        metrics |= _with_interval("f1_without_leaked", answered.f1[~leaked])
    return metrics


def _with_interval(name: str, values: np.ndarray) -> dict[str, float]:
    low, high = bootstrap_interval(
        np.column_stack([values, np.ones(len(values))]), lambda sums: sums[:, 0] / sums[:, 1]
    )
    return {name: float(values.mean()), f"{name}_low": low, f"{name}_high": high}


def _headline(answered: Answered, metrics: dict[str, float], predictions: SplitPredictions) -> Headline:
    facts = {
        f"{of}, F1": percent(metrics[f"{prefix}f1"])
        for prefix, of in (("has_answer_", "questions with an answer"), ("no_answer_", "questions without an answer"))
        if f"{prefix}f1" in metrics
    }
    return Headline(
        metric=percent(metrics["f1"]),
        sentence=f"The mean word F1 of answers is {percent(metrics['f1'])}; {percent(metrics['exact_match'])} are "
        f"an exact "
        "match.",
        warnings=warnings.of_unseen(predictions.leaked, metrics, split=predictions.split, unit="question", metric="f1"),
        remarks=[
            f"The 95% confidence interval of F1 is {percents(metrics['f1_low'], metrics['f1_high'])} (bootstrap over "
            "questions; questions about the same text are correlated, so it may be wider).",
            "Case, punctuation and articles are ignored, as in SQuAD's official scorers.",
        ],
        facts={"mean probability of an answer": percent(float(answered.scores.mean())), **facts},
    )


def _section(
    title: str, name: str, answered: Answered, kind_of: Callable[[dict[str, Any]], str], kinds: Sequence[str]
) -> Section:
    """Return exact match and F1 per kind of question."""
    of_row = np.array([kind_of(row) for row in answered.rows])
    present = [kind for kind in kinds if (of_row == kind).any()]
    table = [
        [kind, int(rows.sum()), percent(float(answered.exact[rows].mean())), percent(float(answered.f1[rows].mean()))]
        for kind, rows in ((kind, of_row == kind) for kind in present)
    ]
    scores = {kind: float(answered.f1[of_row == kind].mean()) for kind in present}
    notes = {kind: f"({count(int((of_row == kind).sum()), 'question')})" for kind in present}
    picture = svg(plots.bars(scores, title="F1", notes=notes, ranked=False))
    return Section(title, [Table(["", "questions", "exact match", "F1"], table), Picture(name, picture, f"F1 {title}")])


def _mistakes(answered: Answered) -> Section:
    wrong = np.flatnonzero(answered.f1 == 0)
    if not len(wrong):
        return Section("Most confident errors", [Text("There are none: every answer shares words with a true answer.")])
    worst = wrong[np.argsort(-answered.scores[wrong], kind="stable")][:MAX_ERRORS_SHOWN]
    words = (
        f"{len(worst):,} of the {count(len(wrong), 'answer')} without a word of a true answer, the most confident "
        "first. Orange is the true answer, red the predicted answer. The file may be wrong."
    )
    lines = [line for number in worst for line in _lines_of(answered, number)]
    return Section("Most confident errors", [Text(words), Marked(lines)])


def _lines_of(answered: Answered, number: int) -> Iterator[tuple[str, Sequence[Any]]]:
    row, given, start = answered.rows[number], answered.given[number], int(answered.starts[number])
    yield location(row), pieces(row[QUESTION], [])
    marks = [(start, start + len(given), "wrong", "")] if given else []
    for answer in row["answers"]:
        index = answer["start"], answer["start"] + len(answer["text"])
        if not any(index[0] < end and begin < index[1] for begin, end, *_ in marks):
            marks.append((*index, "missed", ""))
    for mark in sorted(marks):
        begin, end = max(0, mark[0] - SHOWN_AROUND), mark[1] + SHOWN_AROUND
        shown = row[CONTEXT][begin:end]
        marked = pieces(shown, [(mark[0] - begin, mark[1] - begin, *mark[2:])])
        before, after = [Piece("…")] * (begin > 0), [Piece("…")] * (end < len(row[CONTEXT]))
        yield "given" if mark[2] == "wrong" else "right", [*before, *marked, *after]
    if not given:
        yield "given", pieces(f"({NO_ANSWER})", [])


def _lines(answered: Answered) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(answered.rows):
        start = int(answered.starts[number]) if answered.given[number] else 0
        yield {
            "row": row["row"],
            **{name: row[name] for name in (ID, QUESTION) if name in row},
            "answers": row["answers"],
            "answer": answered.given[number],
            "start": start,
            "end": start + len(answered.given[number]),
            "score": round(float(answered.scores[number]), 6),
            "exact_match": bool(answered.exact[number]),
            "f1": round(float(answered.f1[number]), 4),
        }
