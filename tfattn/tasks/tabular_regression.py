"""Tabular regression: a number for a row of a table."""

from typing import Any

from tfattn.config.types import Given
from tfattn.models.contracts.table_encoder import TableEncoder
from tfattn.tasks.backbone import TableBackbone
from tfattn.tasks.regression_head import Loss, Range, RegressionHead
from tfattn.tasks.row_task import RowTask


class TabularRegression(RowTask):
    """Predicts a number by a linear map of the vector that a model makes of each row.

    Args:
        model: what reads the rows.
        targets: known from the data: `mean` and `deviation` of the training targets.
        loss: "mean_squared_error", "mean_absolute_error", or "huber", which is squared up to one standard deviation of
            the training targets and absolute beyond.
        range: the least and the greatest number that is predicted, such as [0, 5]; null for no bounds.

    Returns:
        as RowTask; `predictions` are those of RegressionHead.

    Example:
        >>> import keras
        >>> from tfattn.models.feature_map_transformer import FeatureMapTransformer
        >>> model = FeatureMapTransformer(num_numeric=14, category_counts=[])
        >>> task = TabularRegression(model=model, targets={"mean": 40.0, "deviation": 12.0})
        >>> task.predictions(task({"numeric": keras.random.normal((1, 14))}))["predictions"].shape
        TensorShape([1])
    """

    def __init__(
        self,
        *,
        model: Given[TableEncoder],
        targets: Given[dict[str, Any]],
        loss: Loss = "mean_squared_error",
        range: Range | None = None,
    ):
        backbone = TableBackbone(model)
        head = RegressionHead(width=backbone.width, targets=targets, loss=loss, range=range)
        super().__init__(backbone, head, name="tabular_regression")
