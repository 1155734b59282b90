"""What exports can be asked that predict something of each row of a table."""

from collections.abc import Sequence

from tfattn.export.label_outputs import LabelOutputs
from tfattn.export.label_set_outputs import LabelSetOutputs
from tfattn.export.number_outputs import NumberOutputs
from tfattn.export.served_rows import Outputs, ServedRows
from tfattn.export.table_inputs import TableInputs, check_names
from tfattn.trained.ensemble import TrainedEnsemble


class ServedTable(ServedRows):
    """Columns of a table in, whatever is predicted out.

    Args:
        ensemble: the trained models.
        output_side: what is answered.
        name: of the module.

    Raises:
        ExportError: as TableInputs.
    """

    def __init__(self, ensemble: TrainedEnsemble, output_side: Outputs, *, name: str):
        super().__init__(ensemble, TableInputs(ensemble), output_side, name=name)

    @classmethod
    def check_fields(cls, fields: Sequence[str]) -> None:
        """Refuses columns whose names TensorFlow cannot tell apart, or would change."""
        check_names(fields)


class TabularClassifier(ServedTable):
    """From named columns to a label: see TableInputs and LabelOutputs."""

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, LabelOutputs(ensemble, with_probability=True), name="tabular_classifier")


class TabularRegressor(ServedTable):
    """From named columns to a number: see TableInputs and NumberOutputs."""

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, NumberOutputs(ensemble), name="tabular_regressor")


class TabularMultiLabelClassifier(ServedTable):
    """From named columns to any number of labels: see TableInputs and LabelSetOutputs."""

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, LabelSetOutputs(ensemble), name="tabular_multi_label_classifier")
