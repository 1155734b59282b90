"""Original names for every variable of the model."""

from tfattn.pretrained.bert import original_names


def test_every_variable_has_its_original_names(tiny, original):
    paths = [v.path.removeprefix("bert/") for v in tiny.weights if "seed" not in v.path]
    derived = [name for path in paths for name in original_names(path)]
    assert sorted(derived) == sorted(original)
