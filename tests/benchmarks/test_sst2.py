"""The split of SST-2: held-out sentences share no phrase with training rows."""

from benchmarks import sst2

SENTENCES = ["a fine , warm film .", "it is a dull and cold film", "no laughs , no tears", "-lrb- a gem -rrb-"]
PHRASES = ["fine , warm", "Film", "dull and cold", "no laughs", "no", "gem", "a gem", "bright", "is bright"]


def rows(path):
    header, *lines = path.read_text().splitlines()
    assert header == "sentence\tlabel\tpart"
    return [tuple(line.split("\t")) for line in lines]


def test_no_training_row_is_part_of_a_held_out_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(sst2, "KEPT_ASIDE", 1)
    for name, texts in (("train.tsv", SENTENCES[:2] + PHRASES), ("dev.tsv", SENTENCES[2:])):
        (tmp_path / name).write_text("sentence\tlabel\n" + "".join(f"{text} \t1\n" for text in texts))
    listed = ["a fine warm film", "it is a dull and cold film", "no laughs no tears", "a gem", "nowhere else"]
    (tmp_path / "sentences_train.tsv").write_text("".join(f"{text}\t1\n" for text in listed))
    sst2.divide(tmp_path, tmp_path / "made")
    train = [text for text, _, part in rows(tmp_path / "made/sentences.tsv") if part == "train"]
    aside = [text for text, _, part in rows(tmp_path / "made/sentences.tsv") if part == "test"]
    aside += [text for text, _, part in rows(tmp_path / "made/validation.tsv")]
    assert len(aside) == 2 and set(aside) < set(SENTENCES), "as they are spelled in GLUE's files"
    words = [f" {' '.join(sst2._words(text))} " for text in aside]
    for text in {*SENTENCES, *PHRASES}:
        is_part = any(f" {' '.join(sst2._words(text))} " in sentence for sentence in words)
        assert (text in train) != is_part, text
    whole = rows(tmp_path / "made/whole_sentences.tsv")
    assert {text for text, _, part in whole if part == "train"} == set(SENTENCES) - set(aside)
    assert [text for text, _, part in whole if part == "test"] == aside[:1]
