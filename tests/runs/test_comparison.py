"""Runs of a comparison: variants with the same seed share their rows."""

from tfattn.runs.comparison import Comparison

VARIANTS = {"as it is": {}, "before, RMS": {"model.norm": "pre", "training.epochs": 5}}


def made(**options):
    return Comparison(name="parts", pipeline="x.yaml", variants=VARIANTS, metric="accuracy", **options)


def test_runs_are_grouped_by_seed():
    comparison = made(seeds=2, common={"training.epochs": 3})
    runs = [(run.variant, run.seed) for run in comparison]
    assert runs == [("as it is", 1), ("before, RMS", 1), ("as it is", 2), ("before, RMS", 2)]
    assert len(comparison) == 4 and len({run.file for run in comparison}) == 4


def test_a_variant_overrides_common_keys_but_not_seed_and_name():
    first, second = made(seeds=1, common={"training.epochs": 3, "seed": 9, "name": "mine"})
    assert first.overrides == ["training.epochs=3", "seed=1", 'name="parts"', 'runs_folder="runs"']
    assert second.overrides == [
        *("training.epochs=5", "seed=1", 'name="parts"', 'model.norm="pre"', 'runs_folder="runs"'),
    ]
