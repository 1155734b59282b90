"""What exports can be asked that predict something of each text, or pair of texts."""

from tfattn.export.label_outputs import LabelOutputs
from tfattn.export.label_set_outputs import LabelSetOutputs
from tfattn.export.number_outputs import NumberOutputs
from tfattn.export.served_rows import ServedRows
from tfattn.export.text_inputs import TextInputs
from tfattn.trained.ensemble import TrainedEnsemble


class TextClassifier(ServedRows):
    """From raw text to a label: see TextInputs and LabelOutputs."""

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, TextInputs(ensemble), LabelOutputs(ensemble), name="text_classifier")


class TextRegressor(ServedRows):
    """From raw text to a number: see TextInputs and NumberOutputs."""

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, TextInputs(ensemble), NumberOutputs(ensemble), name="text_regressor")


class TextMultiLabelClassifier(ServedRows):
    """From raw text to any number of labels: see TextInputs and LabelSetOutputs."""

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, TextInputs(ensemble), LabelSetOutputs(ensemble), name="text_multi_label_classifier")
