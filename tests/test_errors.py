"""Parts of error messages."""

from tfattn.errors import listed, nearest


def test_listed_is_bounded_and_quotes_spaces():
    assert listed(["a b", "", " c"]) == "a b, '', ' c'"
    assert listed(map(str, range(1500)), 3) == "0, 1, 2 and 1,497 more"
    assert listed([]) == ""


def test_abbreviations_suggest_their_name():
    models = ["transformer", "feature_map_transformer", "feature_tokenizer_transformer", "modern_bert"]
    assert nearest("ft_transformer", models) == "Did you mean `feature_tokenizer_transformer`?"
    assert nearest("FM-Transformer", models) == "Did you mean `feature_map_transformer`?"
    assert nearest("transformers", models) == "Did you mean `transformer`?"
    assert nearest("xyz", models) == ""
