"""The evaluation of classifiers of texts, of rows of tables, and of images."""

from tfattn.evaluation import image_classification, table_classification
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.label_report import PredictedRows, label_report
from tfattn.evaluation.report import Section, Table, Text
from tfattn.evaluation.row_predictions import MAX_ERRORS_SHOWN, locations
from tfattn.evaluation.wording import percent, shown_count
from tfattn.models.contracts.image_encoder import ImageEncoder
from tfattn.models.contracts.table_encoder import TableEncoder
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Evaluate a classifier. The contract of its model determines the kind of report.

    Args:
        ensemble: the trained models, with their labels.
        predictions: `label_ids` (N,) and `scores` (N, C).

    Returns:
        the report of table_classification or image_classification; of texts a report with the metrics of label_report.
    """
    model = ensemble.task.model
    if isinstance(model, TableEncoder):
        return table_classification.report(ensemble, predictions)
    if isinstance(model, ImageEncoder):
        return image_classification.report(ensemble, predictions)
    predicted = PredictedRows.of(ensemble, predictions, unit="text")
    return label_report(ensemble, predicted, predictions, mistakes=[_mistakes(predicted)])


def _mistakes(predicted: PredictedRows) -> Section:
    worst = predicted.wrong[:MAX_ERRORS_SHOWN]
    if not len(worst):
        return Section("Most confident errors", [Text("There are no errors.")])
    columns = {
        "text": [predicted.text(number) for number in worst],
        "true label": [predicted.labels[predicted.true[number]] for number in worst],
        "predicted label": [predicted.labels[predicted.predicted_ids[number]] for number in worst],
        "score": [percent(predicted.confidence[number]) for number in worst],
        **locations([predicted.rows[number] for number in worst]),
    }
    shown = shown_count(len(worst), len(predicted.wrong))
    words = f"{shown}, the most confident first. The label in the file may be wrong."
    return Section(
        "Most confident errors",
        [Text(words), Table(list(columns), [list(cells) for cells in zip(*columns.values(), strict=True)])],
    )
