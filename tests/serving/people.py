"""An export of a table: people of some age and job; hours may be missing, age never is."""

from pathlib import Path

import keras
import numpy as np

from tfattn import files
from tfattn.export import saved_model, warmup
from tfattn.export.row_tasks import Classifier
from tfattn.models.feature_tokenizer_transformer import FeatureTokenizerTransformer
from tfattn.preprocessing.table import TableColumns
from tfattn.tasks.classification import Classification
from tfattn.trained.ensemble import TrainedEnsemble


def write(folder: Path) -> None:
    """Writes a version of it."""
    table = TableColumns(numeric=("age", "hours-per-week"), categorical=("job",))
    jobs = ("clerk", "baker", "")
    rows = [{"age": str(20 + n), "hours-per-week": str(n % 7 or ""), "job": jobs[n % 3]} for n in range(40)]
    table.fit(rows)
    keras.utils.set_random_seed(0)
    model = FeatureTokenizerTransformer(**table.sizes, hidden_dim=8, num_layers=1, num_heads=2)
    task = Classification(model=model, targets={"labels": ["noise", "real"], "counts": [1, 1]})
    task.head.kernel.assign(np.random.default_rng(0).normal(size=(8, 2)))
    exported = Classifier(TrainedEnsemble([(table, task)]))
    saved_model._save(exported, folder)
    warmup.write(folder, exported, exported.warm_up(rows), name="people")
    files.write_manifest(folder)
