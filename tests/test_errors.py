"""Parts of error messages."""

from tfattn.errors import listed


def test_listed_is_bounded_and_quotes_spaces():
    assert listed(["a b", "", " c"]) == "a b, '', ' c'"
    assert listed(map(str, range(1500)), 3) == "0, 1, 2 and 1,497 more"
    assert listed([]) == ""
