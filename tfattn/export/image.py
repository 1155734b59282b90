"""What exports can be asked that predict something of each image."""

from tfattn.export.image_inputs import ImageInputs
from tfattn.export.label_outputs import LabelOutputs
from tfattn.export.served_rows import ServedRows
from tfattn.trained.ensemble import TrainedEnsemble


class ImageClassifier(ServedRows):
    """From the bytes of an image's file to a label: see ImageInputs and LabelOutputs."""

    def __init__(self, ensemble: TrainedEnsemble):
        super().__init__(ensemble, ImageInputs(ensemble), LabelOutputs(ensemble), name="image_classifier")
