"""Exports of tasks with one prediction per row: the model determines the inputs, the task the outputs."""

from collections.abc import Sequence

from tfattn.export.image_inputs import ImageInputs
from tfattn.export.label_outputs import LabelOutputs
from tfattn.export.label_set_outputs import LabelSetOutputs
from tfattn.export.number_outputs import NumberOutputs
from tfattn.export.servable_row_model import Inputs, Outputs, ServableRowModel
from tfattn.export.table_inputs import TableInputs, check_names
from tfattn.export.text_inputs import TextInputs
from tfattn.models.contracts.image_encoder import ImageEncoder
from tfattn.models.contracts.table_encoder import TableEncoder
from tfattn.trained.ensemble import TrainedEnsemble


class RowTaskModel(ServableRowModel):
    """An export that reads texts, table columns or images.

    Args:
        ensemble: the trained models.
        outputs: the outputs.
        name: the name of the module.

    Raises:
        ExportError: see TableInputs.
    """

    def __init__(self, ensemble: TrainedEnsemble, outputs: Outputs, *, name: str):
        super().__init__(ensemble, build_inputs(ensemble), outputs, name=name)

    @classmethod
    def check_fields(cls, fields: Sequence[str]) -> None:
        """Check that TensorFlow can use the fields as input names."""
        check_names(fields)


class Classifier(RowTaskModel):
    """An export that predicts a label per row; see LabelOutputs."""

    def __init__(self, ensemble: TrainedEnsemble):
        is_table = isinstance(ensemble.task.model, TableEncoder)
        super().__init__(ensemble, LabelOutputs(ensemble, with_probability=is_table), name="classifier")


class MultiLabelClassifier(RowTaskModel):
    """An export that predicts any number of labels per row; see LabelSetOutputs."""

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, LabelSetOutputs(ensemble), name="multi_label_classifier")


class Regressor(RowTaskModel):
    """An export that predicts a number per row; see NumberOutputs."""

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, NumberOutputs(ensemble), name="regressor")


def build_inputs(ensemble: TrainedEnsemble) -> Inputs:
    """Build the inputs of an export by the contract of its model."""
    model = ensemble.task.model
    if isinstance(model, TableEncoder):
        return TableInputs(ensemble)
    return ImageInputs(ensemble) if isinstance(model, ImageEncoder) else TextInputs(ensemble)
