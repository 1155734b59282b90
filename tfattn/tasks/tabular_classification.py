"""Tabular classification: one label for a row of a table."""

from typing import Any, Literal

from pydantic import PositiveFloat

from tfattn.config.types import Fraction, Given
from tfattn.models.contracts.table_encoder import TableEncoder
from tfattn.tasks.backbone import TableBackbone
from tfattn.tasks.multi_class_head import MultiClassHead, positive_id_of
from tfattn.tasks.row_task import RowTask


class TabularClassification(RowTask):
    """Tells classes of rows apart by a linear map of the vector that a model makes of each row.

    Args:
        model: what reads the rows.
        targets: known from the data: the C `labels` in the order of their ids, None until they are read, and `counts`,
            the training rows of each.
        positive: the label that is looked for, which sensitivity, specificity and ROC AUC are about; of two labels the
            second in alphabetical order, if not given.
        class_weights: how much a row counts in the loss, by its label: "balanced" lets every label count the same in
            total, a table such as {noise: 2.0} gives the weight of some labels (others weigh 1).
        label_smoothing: the part of each target that is spread evenly over all labels.
        specificity: the least fraction of other rows that must not get the positive label, such as 1.0: the score from
            which on a row gets it is chosen by the validation rows, as low as that allows, and goes into the export.
            Without it the label with the best score is given.

    Returns:
        as RowTask; `predictions` are those of MultiClassHead.

    Raises:
        ConfigError: positive or class_weights names a label that the data do not have, or there is no positive label
            for `specificity`.

    Example:
        >>> import keras
        >>> from tfattn.models.feature_map_transformer import FeatureMapTransformer
        >>> model = FeatureMapTransformer(num_numeric=14, category_counts=[])
        >>> task = TabularClassification(model=model, targets={"labels": ["no", "yes"], "counts": [5, 3]})
        >>> task.predictions(task({"numeric": keras.random.normal((1, 14))}))["scores"].shape
        TensorShape([1, 2])
    """

    def __init__(
        self,
        *,
        model: Given[TableEncoder],
        targets: Given[dict[str, Any]],
        positive: str | None = None,
        class_weights: Literal["balanced"] | dict[str, PositiveFloat] | None = None,
        label_smoothing: Fraction = 0.0,
        specificity: Fraction | None = None,
    ):
        backbone = TableBackbone(model)
        head = MultiClassHead(
            width=backbone.width,
            targets=targets,
            class_weights=class_weights,
            label_smoothing=label_smoothing,
            positive_id=positive_id_of(positive, targets),
            specificity=specificity,
        )
        super().__init__(backbone, head, name="tabular_classification")
