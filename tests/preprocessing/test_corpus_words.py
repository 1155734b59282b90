"""Words of texts for word vectors: counts, order, and removal of rare words."""

import importlib
import sys

import numpy as np
import pytest
import tensorflow as tf

from tests.contracts.preprocessor import check_preprocessor
from tfattn.errors import ConfigError, DataError
from tfattn.preprocessing import word_segmentation
from tfattn.preprocessing.corpus_words import CorpusWords
from tfattn.preprocessing.subwords import Subwords

ROWS = [{"text": "To be, or not to be: that's the question."}, {"text": "the 2 Questions Ōsaka has"}]


def fitted(rows=ROWS, *, min_count=1, **options):
    preprocessor = CorpusWords(min_count=min_count, **options)
    preprocessor.fit(iter(rows))
    return preprocessor


def written(preprocessor, text):
    (ids,) = preprocessor.encode([text])
    assert ids.dtype == np.int32
    return [preprocessor.words[number] for number in ids]


def looked_up(preprocessor, *words):
    return preprocessor.lookup(tf.constant(words)).numpy().tolist()


@pytest.mark.parametrize(
    "options", [{}, {"division": "blanks", "lower_case": False}, {"ascii": True}, {"subwords": Subwords(buckets=50)}]
)
def test_preprocessor_contract(options, tmp_path):
    unfitted = CorpusWords(division="letters" if "division" in options else "blanks", lower_case=False)
    check_preprocessor(fitted(**options), unfitted, [{"text": "be"}, {"text": "To"}], folder=tmp_path)


def test_words_are_runs_of_letters_sorted_by_frequency_then_word():
    preprocessor = fitted()
    assert preprocessor.words == (
        *("be", "the", "to"),
        *("has", "not", "or", "question", "questions", "s", "that", "ōsaka"),
    )
    assert preprocessor.counts.tolist() == [2] * 3 + [1] * 8 and preprocessor.counts.dtype == np.int64
    assert preprocessor.sizes == {"vocabulary_size": 11, "subword_buckets": 0}


def test_combining_marks_belong_to_words():
    assert set(fitted([{"text": "नमस्ते e\u0301a-b"}]).words) == {"नमस्ते", "e\u0301a", "b"}


def test_letters_may_be_ascii_only():
    assert set(fitted([{"text": "Ōsaka it's K2 \u212a"}], ascii=True).words) == {"saka", "it", "s", "k"}


def test_tokenized_texts_are_split_at_blanks():
    preprocessor = fitted([{"text": "It 's\u2003No. 2"}], division="blanks", lower_case=False)
    assert set(preprocessor.words) == {"It", "'s", "No.", "2"}


def test_rare_unknown_and_stop_words_are_removed(tmp_path):
    (tmp_path / "stop.txt").write_text("The\nOR\n")
    preprocessor = fitted([{"text": "a a b the the c or a b"}], min_count=2, stop_words=str(tmp_path / "stop.txt"))
    assert preprocessor.words == ("a", "b") and preprocessor.counts.tolist() == [3, 2]
    assert written(preprocessor, "b or c, the A! x") == ["b", "a"]
    found = preprocessor.unknown({"text": tf.constant(["b or c, the A! x", "x"])})["text"]
    assert (found.counted, found.unknown, dict(found.values)) == (5, 3, {"c": 1, "x": 2})


def test_the_most_frequent_words_are_kept():
    assert fitted(vocabulary_size=2).words == ("be", "the")


def test_ids_of_long_texts_are_correct(monkeypatch):
    preprocessor = fitted()
    monkeypatch.setattr("tfattn.preprocessing.passages.MAX_CHARACTERS", 10)
    monkeypatch.setattr("tfattn.preprocessing.passages._PASSAGE", 4)
    texts = ["", "to be or not to be " * 3, "...", "or", ""]
    found = [[preprocessor.words[number] for number in ids] for ids in preprocessor.encode(iter(texts))]
    assert found == [text.replace(".", "").split() for text in texts]


def test_words_are_normalized_for_lookup():
    preprocessor = fitted()
    ids = looked_up(preprocessor, "ōsaka", " ŌSAKA.", "osaka", "to be", "", "Be")
    assert ids == [preprocessor.words.index("ōsaka")] * 2 + [-1, -1, -1, 0]


@pytest.mark.parametrize("rules", [{}, {"ascii": True}, {"division": "blanks"}, {"lower_case": False}])
def test_the_graph_normalizes_characters_as_python_does(rules):
    """Of every word of one character the graph gives the id that the text has, or none."""
    characters = [chr(c) for c in range(0x3100) if not chr(c).isspace()] + ["𝐀", "𐐀", "\ue000", "漢"]
    preprocessor = fitted([{"text": " ".join(characters)}], **rules)
    expected = [ids.tolist() or [-1] for ids in preprocessor.encode(characters)]
    assert [[number] for number in looked_up(preprocessor, *characters)] == expected


def test_saved_words_round_trip(tmp_path):
    preprocessor = fitted()
    preprocessor.save(tmp_path)
    assert (tmp_path / "vocabulary.tsv").read_text().splitlines()[:4] == ["be\t2", "the\t2", "to\t2", "has\t1"]
    loaded = CorpusWords(division="blanks")
    loaded.load(tmp_path)
    assert loaded.words == preprocessor.words and loaded.counts.tolist() == preprocessor.counts.tolist()
    assert written(loaded, "To BE!") == ["to", "be"]


@pytest.mark.parametrize(
    "text, said",
    [
        ("be\t2\nthe\n", "vocabulary.tsv:2: the file is damaged: expected 2 values with tabs between them"),
        ("be\t2\nthe\t3\n", "vocabulary.tsv:2: the file is damaged: expected words, each once, and their counts"),
        ("be\t2\nbe\t2\n", r"vocabulary.tsv:2: .* received 'be\\t2'. Prepare the data again"),
        ("be\ttwo\n", "vocabulary.tsv:1: the file is damaged"),
        ("", "vocabulary.tsv: the file is damaged: it lists no words"),
        ("b\xfc\t2\n", "vocabulary.tsv: the file is damaged: it is not UTF-8"),
        (None, "vocabulary.tsv: the file is missing"),
    ],
)
def test_a_damaged_list_of_words_is_refused(text, said, tmp_path):
    fitted().save(tmp_path)
    (tmp_path / "vocabulary.tsv").unlink()
    if text is not None:
        (tmp_path / "vocabulary.tsv").write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=said):
        CorpusWords().load(tmp_path)


@pytest.mark.parametrize(
    "rows, said",
    [
        ([], "there are no words: expected texts of words, received texts without words. Check the source's `fields`"),
        ([{"text": "1 2 ..."}], "there are no words"),
        (
            [{"text": "a b a"}],
            "no word is frequent enough: expected words that occur at least `min_count` 5 times, "
            "received 3 words; the most frequent word, 'a', occurs 2 times. Lower `preprocessing.min_count`",
        ),
    ],
)
def test_a_corpus_without_frequent_words_is_refused(rows, said):
    with pytest.raises(DataError, match=said):
        fitted(rows, min_count=5)


def test_stop_words_are_read_from_a_file(tmp_path):
    with pytest.raises(DataError, match="stop.txt: the file is missing. Check `preprocessing.stop_words`"):
        fitted(stop_words=str(tmp_path / "stop.txt"))
    (tmp_path / "stop.txt").write_bytes(b"\xff")
    with pytest.raises(DataError, match="the stop words are not UTF-8"):
        fitted(stop_words=str(tmp_path / "stop.txt"))
    (tmp_path / "stop.txt").write_text("a")
    with pytest.raises(DataError, match="received 2 words, all of them stop words"):
        fitted([{"text": "a A"}], stop_words=str(tmp_path / "stop.txt"))


# Of Taiwan and of the mainland; jieba knows "T恤" with capital letters.
CHINESE = [{"text": "我们在自然语言处理中学习买T恤。"}, {"text": "我們喜歡自然語言處理, 2020年。"}]


@pytest.fixture(scope="session")
def chinese():
    for package in ("jieba", "opencc"):
        pytest.importorskip(package, reason="needs the extra tfattn[chinese]")


def test_chinese_words_are_segmented_and_scripts_converted(chinese, tmp_path):
    preprocessor = fitted(CHINESE, division="jieba", script="simplified")
    assert set(preprocessor.words) == {*("我们", "在", "自然语言", "处理", "中", "学习", "买", "t恤", "喜欢", "年")}
    assert preprocessor.counts[preprocessor.words.index("自然语言")] == 2
    assert "我們在自然語言處理中學習買t恤" in fitted(CHINESE, script="traditional").words
    check_preprocessor(preprocessor, CorpusWords(), [{"text": "我们"}, {"text": "T恤"}], folder=tmp_path)


def test_chinese_stop_words_are_converted_but_not_segmented(chinese, tmp_path):
    (tmp_path / "stop.txt").write_text("自然語言\n我們\n")
    preprocessor = fitted(CHINESE, division="jieba", script="simplified", stop_words=str(tmp_path / "stop.txt"))
    assert not {"自然语言", "我们"} & set(preprocessor.words) and "处理" in preprocessor.words


def test_jieba_prints_nothing_and_writes_no_file(chinese, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    word_segmentation._segmenter.cache_clear()
    fitted(CHINESE, division="jieba")
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "") and not list(tmp_path.iterdir())


@pytest.mark.parametrize("options, module", [({"division": "jieba"}, "jieba"), ({"script": "simplified"}, "opencc")])
def test_missing_packages_for_chinese_name_the_extra(options, module, monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, module, raising=False)
    importlib.invalidate_caches()
    with pytest.raises(ConfigError, match=f"the package {module} is not installed: .* 'tfattn\\[chinese\\]'"):
        CorpusWords(**options)


def test_n_grams_of_all_words_are_available_while_tracing():
    preprocessor = fitted(subwords=Subwords(most=5))
    traced = tf.function(lambda: tf.constant(preprocessor.word_subwords()))
    assert traced().numpy().tolist() == preprocessor.subword_ids(tf.constant(preprocessor.words)).numpy().tolist()
