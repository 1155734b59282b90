"""The exports of tasks that predict something of each row: inputs by the kind of model, outputs by the task."""

from collections.abc import Sequence

from tfattn.export.image_inputs import ImageInputs
from tfattn.export.label_outputs import LabelOutputs
from tfattn.export.label_set_outputs import LabelSetOutputs
from tfattn.export.number_outputs import NumberOutputs
from tfattn.export.served_rows import Inputs, Outputs, ServedRows
from tfattn.export.table_inputs import TableInputs, check_names
from tfattn.export.text_inputs import TextInputs
from tfattn.models.contracts.image_encoder import ImageEncoder
from tfattn.models.contracts.table_encoder import TableEncoder
from tfattn.trained.ensemble import TrainedEnsemble


class ServedRowTask(ServedRows):
    """Texts, columns of a table, or images in; what the task predicts out.

    Args:
        ensemble: the trained models.
        outputs: what is answered.
        name: of the module.

    Raises:
        ExportError: as TableInputs.
    """

    def __init__(self, ensemble: TrainedEnsemble, outputs: Outputs, *, name: str):
        super().__init__(ensemble, inputs_of(ensemble), outputs, name=name)

    @classmethod
    def check_fields(cls, fields: Sequence[str]) -> None:
        """Refuse fields whose names TensorFlow cannot tell apart, or would change."""
        check_names(fields)


class Classifier(ServedRowTask):
    """From a row to a label: see LabelOutputs."""

    def __init__(self, ensemble: TrainedEnsemble):
        is_table = isinstance(ensemble.task.model, TableEncoder)
        super().__init__(ensemble, LabelOutputs(ensemble, with_probability=is_table), name="classifier")


class MultiLabelClassifier(ServedRowTask):
    """From a row to any number of labels: see LabelSetOutputs."""

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, LabelSetOutputs(ensemble), name="multi_label_classifier")


class Regressor(ServedRowTask):
    """From a row to a number: see NumberOutputs."""

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, NumberOutputs(ensemble), name="regressor")


def inputs_of(ensemble: TrainedEnsemble) -> Inputs:
    """Make the inputs of an export, by the contract of its model."""
    model = ensemble.task.model
    if isinstance(model, TableEncoder):
        return TableInputs(ensemble)
    return ImageInputs(ensemble) if isinstance(model, ImageEncoder) else TextInputs(ensemble)
