"""Image classification: one label for an image."""

from typing import Any, Literal

from pydantic import PositiveFloat

from tfattn.config.types import Fraction, Given, Rate
from tfattn.models.contracts.image_encoder import ImageEncoder
from tfattn.tasks.backbone import ImageBackbone
from tfattn.tasks.multi_class_head import MultiClassHead
from tfattn.tasks.row_task import RowTask

TOP = 5  # labels: of more classes than that, how often the right one is among them is measured too


class ImageClassification(RowTask):
    """Tells classes of images apart by a linear map of the vector that a model makes of each image.

    Args:
        model: what reads the images.
        targets: known from the data: the C `labels` in the order of their ids, None until they are read, and `counts`,
            the training rows of each.
        dropout: the part of the image's vector that is dropped while training.
        class_weights: how much a row counts in the loss, by its label: "balanced" lets every label count the same in
            total, a table such as {cat: 2.0} gives the weight of some labels (others weigh 1).
        label_smoothing: the part of each target that is spread evenly over all labels.

    Returns:
        as RowTask; `predictions` are those of MultiClassHead.

    Raises:
        ConfigError: class_weights names a label that the data do not have.

    Example:
        >>> import keras
        >>> from tfattn.models.vit import Vit
        >>> vit = Vit(image_size=8, patch_size=4, hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=32)
        >>> task = ImageClassification(model=vit, targets={"labels": ["cat", "dog"], "counts": [5, 3]})
        >>> task.predictions(task({"images": keras.ops.ones((1, 8, 8, 3))}))["scores"].shape
        TensorShape([1, 2])
    """

    def __init__(
        self,
        *,
        model: Given[ImageEncoder],
        targets: Given[dict[str, Any]],
        dropout: Rate = 0.0,
        class_weights: Literal["balanced"] | dict[str, PositiveFloat] | None = None,
        label_smoothing: Fraction = 0.0,
    ):
        backbone = ImageBackbone(model, dropout=dropout)
        head = MultiClassHead(
            width=backbone.width,
            targets=targets,
            class_weights=class_weights,
            label_smoothing=label_smoothing,
            top=TOP if len(targets["counts"]) > TOP else None,
        )
        super().__init__(backbone, head, name="image_classification")
