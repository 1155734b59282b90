import matplotlib
import numpy as np
import pytest

from tfattn.evaluation import plots

HISTORY = [
    {"epoch": 1, "step": 24, "loss": 1.2, "validation_loss": 0.9, "validation_accuracy": 0.6, "learning_rate": 1e-4},
    {"epoch": 2, "step": 48, "loss": 0.5, "validation_loss": 0.4, "validation_accuracy": 0.9, "learning_rate": 5e-5},
]


def _texts(figure):
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text)]


def _titles(figure):
    return [axes.get_title(loc="left") for axes in figure.axes]


def test_curves_draw_what_the_history_has():
    figure = plots.training_curves(HISTORY)
    assert _titles(figure) == ["Loss", "Validation", "Learning rate"]
    training, validation = figure.axes[0].lines
    assert list(training.get_ydata()) == [1.2, 0.5] and list(validation.get_ydata()) == [0.9, 0.4]


def test_curves_without_validation_or_with_metrics_of_other_scales():
    assert _titles(plots.training_curves([{"epoch": 1, "loss": 2.0}])) == ["Loss"]
    lines = [{"epoch": 1, "loss": 2.0, "validation_bleu": 31.9, "validation_accuracy": 0.5}]
    assert _titles(plots.training_curves(lines)) == ["Loss", "Validation", "bleu"]


def test_the_confusion_chart_shows_counts_and_shares_of_the_row():
    figure = plots.confusion(np.array([[3, 1], [0, 5]]), ["Leak", "$5 & <b>"])
    shown = _texts(figure)
    assert {"3\n75%", "1\n25%", "5\n100%"} <= set(shown) and "0\n0%" not in shown
    plots.png(figure)  # a label with $ is drawn as it is


def test_of_very_many_labels_the_most_confused_are_shown_and_no_row_is_lost():
    counts = np.eye(100, dtype=int) * 10
    counts[42, 77] = 5
    folded, labels = plots._most_confused(counts, [f"label {number}" for number in range(100)])
    assert len(labels) == plots.MOST_CONFUSED + 1 and labels[-1] == f"{100 - plots.MOST_CONFUSED} others"
    assert {"label 42", "label 77"} <= set(labels)
    assert folded[labels.index("label 42"), labels.index("label 77")] == 5
    assert folded.sum() == counts.sum()


def test_bars_stand_best_first_with_their_notes():
    axes = plots.bars({"a": 0.2, "b": 0.9}, notes={"a": "(3 texts)", "b": "(4 texts)"}).axes[0]
    assert [bar.get_width() for bar in axes.patches] == [0.9, 0.2]
    assert [text.get_text() for text in axes.texts] == ["90.0%  (4 texts)", "20.0%  (3 texts)"]


def test_long_names_keep_both_ends():
    short = plots._short("a label with a very long name that ends in 17")
    assert len(short) == plots.MOST_CHARACTERS and short.startswith("a label") and short.endswith("17")


@pytest.mark.parametrize(
    "figure",
    [
        plots.training_curves(HISTORY),
        plots.confusion(np.array([[0, 0], [0, 3]]), ["never", "always"]),
        plots.bars({"only": 0.0}),
        plots.reliability([(1, 0.4, 0.0), (93, 0.98, 0.99)]),
    ],
    ids=["curves", "confusion", "bars", "reliability"],
)
def test_pictures_are_png_files(figure):
    assert plots.png(figure).startswith(b"\x89PNG\r\n")


def test_drawing_leaves_the_settings_of_others_alone():
    before = dict(matplotlib.rcParams)
    plots.bars({"a": 0.5})
    assert dict(matplotlib.rcParams) == before
