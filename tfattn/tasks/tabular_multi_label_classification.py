"""Multi-label classification of tables: any number of labels for a row."""

from typing import Any, Literal

from pydantic import PositiveFloat

from tfattn.config.types import Fraction, Given
from tfattn.models.contracts.table_encoder import TableEncoder
from tfattn.tasks.backbone import TableBackbone
from tfattn.tasks.multi_label_head import MultiLabelHead
from tfattn.tasks.row_task import RowTask


class TabularMultiLabelClassification(RowTask):
    """Tells by a linear map of the vector that a model makes of each row which labels it has.

    Args:
        model: what reads the rows.
        targets: known from the data: the C `labels` in the order of their ids, None until they are read, `counts`, the
            training rows that have each, and all `rows`.
        class_weights: how much a row that has a label counts for it in the loss: "balanced" lets, of each label, the
            rows that have it count the same in total as those that do not, a table such as {Leak: 2.0} gives the weight
            of some labels (others weigh 1).
        threshold: the score from which on a row gets a label.

    Returns:
        as RowTask; `predictions` are those of MultiLabelHead.

    Raises:
        ConfigError: class_weights names a label that the data do not have.

    Example:
        >>> import keras
        >>> from tfattn.models.feature_map_transformer import FeatureMapTransformer
        >>> model = FeatureMapTransformer(num_numeric=14, category_counts=[])
        >>> targets = {"labels": ["a", "b", "c"], "counts": [5, 3, 2], "rows": 9}
        >>> task = TabularMultiLabelClassification(model=model, targets=targets)
        >>> task.predictions(task({"numeric": keras.random.normal((1, 14))}))["is_label"].shape
        TensorShape([1, 3])
    """

    def __init__(
        self,
        *,
        model: Given[TableEncoder],
        targets: Given[dict[str, Any]],
        class_weights: Literal["balanced"] | dict[str, PositiveFloat] | None = None,
        threshold: Fraction = 0.5,
    ):
        backbone = TableBackbone(model)
        head = MultiLabelHead(width=backbone.width, targets=targets, class_weights=class_weights, threshold=threshold)
        super().__init__(backbone, head, name="tabular_multi_label_classification")
