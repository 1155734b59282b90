import matplotlib
import numpy as np
import pytest

from tfattn.drawing.figures import svg
from tfattn.evaluation import feature_importance, plots, table_plots
from tfattn.evaluation.plots import alignment

HISTORY = [
    {"epoch": 1, "step": 24, "loss": 1.2, "validation_loss": 0.9, "validation_accuracy": 0.6, "learning_rate": 1e-4},
    {"epoch": 2, "step": 48, "loss": 0.5, "validation_loss": 0.4, "validation_accuracy": 0.9, "learning_rate": 5e-5},
]


def _texts(figure):
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text)]


def _titles(figure):
    return [axes.get_title(loc="left") for axes in figure.axes]


def _title(figure):
    return figure.axes[0].get_title(loc="left")


def test_curves_plot_the_history():
    figures = plots.training_curves(HISTORY)
    assert list(map(_title, figures)) == ["Loss", "Validation", "Learning rate"]
    training, validation = figures[0].axes[0].lines
    assert list(training.get_ydata()) == [1.2, 0.5] and list(validation.get_ydata()) == [0.9, 0.4]


def test_curves_without_validation_or_with_metrics_of_other_scales():
    assert list(map(_title, plots.training_curves([{"epoch": 1, "loss": 2.0}]))) == ["Loss"]
    lines = [{"epoch": 1, "loss": 2.0, "validation_bleu": 31.9, "validation_accuracy": 0.5}]
    assert list(map(_title, plots.training_curves(lines))) == ["Loss", "Validation", "bleu"]
    lines = [{"epoch": 1, "loss": 0.1, "validation_bits_per_byte": 0.2}]  # below 1, and no fraction
    assert list(map(_title, plots.training_curves(lines))) == ["Loss", "bits per byte"]


def test_curves_use_steps_if_an_epoch_has_several_lines():
    lines = [{"epoch": 1, "step": 5, "loss": 2.0}, {"epoch": 1, "step": 10, "loss": 1.0}]
    (figure,) = plots.training_curves(lines)
    assert figure.axes[0].get_xlabel() == "step"
    assert list(figure.axes[0].lines[0].get_xdata()) == [5, 10]


@pytest.mark.parametrize("steps", [1, 12, 90, 360, 4_500, 60_000, 1_250_000])
def test_step_ticks_do_not_overlap(steps):
    lines = [{"epoch": 1, "step": round(steps * part / 5), "loss": 2.0 / part} for part in range(1, 6)]
    (figure,) = plots.training_curves(lines)
    figure.canvas.draw()
    labels = [label for label in figure.axes[0].get_xticklabels() if label.get_text()]
    inside = [
        label
        for label in labels
        if figure.axes[0].get_xlim()[0] <= label.get_position()[0] <= figure.axes[0].get_xlim()[1]
    ]
    boxes = [label.get_window_extent() for label in inside]
    assert len(boxes) >= 1
    assert all(left.x1 < right.x0 for left, right in zip(boxes, boxes[1:], strict=False))


def test_interval_ends_are_not_plotted():
    lines = [{"epoch": 1, **{f"validation_accuracy{end}": 0.5 for end in ("", "_low", "_high")}}]
    (figure,) = plots.training_curves(lines)
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["accuracy"]


def test_baselines_are_plotted_with_their_metric():
    loss, fractions, _ = plots.training_curves(HISTORY, {"loss": 0.7, "accuracy": 0.5})
    for figure, baseline in ((loss, 0.7), (fractions, 0.5)):
        *_, line = figure.axes[0].lines
        assert list(line.get_ydata()) == [baseline] * 2
        assert any(text.endswith("baseline") for text in _texts(figure))


def test_small_rates_have_no_exponent():
    lines = [{"epoch": epoch, "learning_rate": 2e-5 / epoch} for epoch in (1, 2)]
    (figure,) = plots.training_curves(lines)
    drawn = svg(figure)
    assert ">0.00002<" in drawn and "1e" not in "".join(_texts(figure))


def test_the_confusion_matrix_shows_counts_and_row_fractions():
    figure = plots.confusion(np.array([[3, 1], [0, 5]]), ["Leak", "$5 & <b>"])
    shown = _texts(figure)
    assert {"3", "75%", "1", "25%", "5", "100%"} <= set(shown) and "0%" not in shown
    svg(figure)  # a label with $ is drawn as it is


def test_many_labels_are_merged_without_loss_of_rows():
    counts = np.eye(100, dtype=int) * 10
    counts[42, 77] = 5
    folded, labels = plots._most_confused(counts, [f"label {number}" for number in range(100)])
    assert len(labels) == plots.MAX_CONFUSED + 1 and labels[-1] == f"{100 - plots.MAX_CONFUSED} others"
    assert {"label 42", "label 77"} <= set(labels)
    assert folded[labels.index("label 42"), labels.index("label 77")] == 5
    assert folded.sum() == counts.sum()


def test_bars_are_sorted_with_notes():
    axes = plots.bars({"a": 0.2, "b": 0.9}, notes={"a": "(3 texts)", "b": "(4 texts)"}).axes[0]
    assert [bar.get_width() for bar in axes.patches] == [0.9, 0.2]
    assert [text.get_text() for text in axes.texts] == ["90.0%  (4 texts)", "20.0%  (3 texts)"]


def test_unranked_bars_keep_their_order():
    axes = plots.bars({"short": 0.31, "long": 0.445}, ranked=False, percent=False).axes[0]
    assert [text.get_text() for text in axes.texts] == ["31.0", "44.5"]
    many = {f"{number} words": 0.5 for number in range(plots.MAX_BARS + 2)}
    assert _titles(plots.bars(many, title="BLEU", ranked=False)) == ["BLEU (the 2 first are not shown)"]


def _lines(axes):
    return [line.get_xydata() for line in axes.lines if len(line.get_xdata()) > 2]


def test_both_curves_contain_the_operating_point():
    scores, positive = np.array([0.1, 0.4, 0.6, 0.9]), np.array([False, True, False, True])
    # From 0.5 on a row is positive: one of two is found, one of two others too.
    for draw, title in ((table_plots.roc, "ROC curve: area 0.7500"), (table_plots.precision_recall, "mean 0.8333")):
        figure = draw(scores, positive, (0.5, 0.5), words="threshold 0.5")
        assert _title(figure).endswith(title)
        assert [0.5, 0.5] in _lines(figure.axes[0])[-1].tolist()
        assert not figure.axes[0].child_axes


def test_a_roc_curve_near_the_corner_has_an_inset():
    scores = np.linspace(0, 1, 100)
    axes = table_plots.roc(scores, scores > 0.3, (0.0, 0.8), words="w").axes[0]
    (corner,) = axes.child_axes
    assert corner.get_xlim()[1] < 0.5 and corner.get_ylim()[0] < 0.8  # the point is inside


def test_importances_show_the_most_important_columns_in_one_order():
    names = [f"column {number}" for number in range(40)]
    values = np.arange(40) / 100
    figure = feature_importance.importances_plot(
        names,
        values,
        (values - 0.01, values + 0.01),
        loss="log loss",
        members=np.stack([values, values]),
        attention=values[::-1],
    )
    shuffled, looked = figure.axes
    assert [bar.get_width() for bar in shuffled.patches] == pytest.approx(
        values[::-1][: feature_importance.MAX_COLUMNS]
    )
    assert [bar.get_width() for bar in looked.patches] == pytest.approx(values[: feature_importance.MAX_COLUMNS])
    assert [label.get_text() for label in shuffled.get_yticklabels()][:2] == ["column 39", "column 38"]
    assert shuffled.get_title(loc="left") == "Permutation importance (10 less important are hidden)"
    assert [text.get_text() for text in shuffled.get_legend().get_texts()] == ["95% interval", "each member"]


def test_importance_without_attention_has_one_panel():
    figure = feature_importance.importances_plot(
        ["a", "b"], np.array([0.0, 0.0]), (np.zeros(2), np.zeros(2)), loss="log loss"
    )
    assert _titles(figure) == ["Permutation importance"]
    svg(figure)


def test_spreads_have_a_panel_per_feature_and_equal_areas_per_label():
    values = np.random.default_rng(0).normal(size=(60, 5))
    figure = table_plots.spreads(values, np.arange(60) % 2, ["noise", "$real$", "never"])
    assert [axes.get_title(loc="left") for axes in figure.axes if axes.get_visible()] == [
        f"essential {number}" for number in range(1, 6)
    ]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["noise", "$real$"]
    svg(figure)


def test_reliability_names_its_axes():
    axes = plots.reliability([(9, 0.4, 0.5)], score="score of “real”", fraction="fraction that is “real”").axes[0]
    assert axes.get_xlabel().startswith("score of “real”") and axes.get_ylabel() == "fraction that is “real”"


@pytest.mark.parametrize(
    "figure",
    [
        plots.training_curves(HISTORY)[0],
        plots.confusion(np.array([[0, 0], [0, 3]]), ["never", "always"]),
        plots.bars({"only": 0.0}),
        plots.reliability([(1, 0.4, 0.0), (93, 0.98, 0.99)]),
        table_plots.roc(np.array([0.2, 0.2]), np.array([True, False]), (0.0, 0.0), words="w"),
        table_plots.precision_recall(np.array([0.2, 0.2]), np.array([True, False]), (0.0, 0.0), words="w"),
        table_plots.spreads(np.zeros((3, 1)), np.zeros(3, int), ["constant"]),
    ],
    ids=["curves", "confusion", "bars", "reliability", "roc", "precision-recall", "spreads"],
)
def test_pictures_are_svg_files(figure):
    assert svg(figure).startswith("<svg ")


def test_plots_do_not_change_global_settings():
    before = dict(matplotlib.rcParams)
    plots.bars({"a": 0.5})
    assert dict(matplotlib.rcParams) == before


def test_the_colour_scale_ends_at_the_largest_weight():
    weights = np.array([[0.1, 0.62], [0.3, 0.05]])
    figure = alignment(weights, ["红色", "red"], ["rouge", "</svg>"])
    cells, bar = figure.axes
    assert cells.collections[0].get_array().tolist() == weights.tolist()
    assert bar.get_ylabel() == "weight" and bar.get_ylim() == (0, 0.62)
    numbers = [float(label.get_text()) for label in bar.get_yticklabels()]
    assert len([number for number in numbers if 0 <= number <= 0.62]) >= 4
    assert "红色" in svg(figure) and "&lt;/svg&gt;" in svg(figure)


def test_a_confusion_matrix_without_fractions_has_two_colour_scales():
    few, many = (plots.confusion(np.eye(size, dtype=int), list(map(str, range(size)))) for size in (3, 15))
    assert len(few.axes) == 1
    assert [axes.get_ylabel().partition(",")[0] for axes in many.axes[1:]] == ["wrong", "right"]
    assert "100%" in [label.get_text() for label in many.axes[1].get_yticklabels()]
