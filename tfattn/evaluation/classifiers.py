"""The report of classification: of texts, of rows of tables, or of images."""

from tfattn.evaluation import classification, image_classification, tabular
from tfattn.evaluation.evaluate import TaskReport
from tfattn.models.contracts.image_encoder import ImageEncoder
from tfattn.models.contracts.table_encoder import TableEncoder
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Measure a classifier, by the contract of its model."""
    model = ensemble.task.model
    if isinstance(model, TableEncoder):
        return tabular.report(ensemble, predictions)
    of_kind = image_classification if isinstance(model, ImageEncoder) else classification
    return of_kind.report(ensemble, predictions)
