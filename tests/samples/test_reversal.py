"""The sample of reversed words."""

from tfattn.samples import reversal


def rows(path):
    return [tuple(line.split("\t")) for line in path.read_text().splitlines()]


def test_targets_are_reversed_distinct_sources(tmp_path):
    reversal.write(tmp_path / "rows.tsv")
    head, *found = rows(tmp_path / "rows.tsv")
    assert head == ("source", "target")
    assert all(source.split() == target.split()[::-1] for source, target in found)
    assert len({source for source, _ in found}) == len(found) == reversal.ROWS
    assert {len(source.split()) for source, _ in found} == set(range(reversal.MIN_WORDS, reversal.MAX_WORDS + 1))


def test_equal_seeds_give_equal_rows(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        reversal.write(tmp_path / name, seed=seed)
    assert rows(tmp_path / "a") == rows(tmp_path / "b") != rows(tmp_path / "c")
