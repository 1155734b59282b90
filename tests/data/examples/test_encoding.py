"""Encoding of records: round trip of values of any shape, and files of other tools."""

import tensorflow as tf

from tfattn.data.examples.encoding import Feature, lengths_of, serialized
from tfattn.data.examples.parsing import parse

# A file of google-research/bert's run_classifier.py: every row padded to max_seq_length.
GOOGLE_BERT = {
    "input_ids": Feature("int64", (None,)),
    "input_mask": Feature("int64", (None,)),
    "segment_ids": Feature("int64", (None,)),
    "label_ids": Feature("int64", role="target"),
}


def stored(rows, features):
    return tf.constant(serialized(rows, features))


def test_padded_files_of_other_tools_are_trimmed_by_their_mask():
    padded = [
        {
            "input_ids": [101, 7, 8, 102, 0, 0],
            "input_mask": [1, 1, 1, 1, 0, 0],
            "segment_ids": [0, 0, 1, 1, 0, 0],
            "label_ids": 1,
        },
        {"input_ids": [101, 102, 0, 0, 0, 0], "input_mask": [1, 1, 0, 0, 0, 0], "segment_ids": [0] * 6, "label_ids": 0},
    ]
    batch = parse(stored(padded, GOOGLE_BERT), GOOGLE_BERT)
    assert sorted(batch) == ["label_ids", "padding_mask", "segment_ids", "token_ids"]
    assert batch["token_ids"].numpy().tolist() == [[101, 7, 8, 102], [101, 102, 0, 0]]
    assert batch["padding_mask"].numpy().sum(axis=1).tolist() == [4, 2]
    assert batch["segment_ids"].numpy().tolist() == [[0, 0, 1, 1], [0, 0, 0, 0]]


def test_alternative_feature_names_are_accepted():
    features = {"input_word_ids": Feature("int64", (None,)), "input_type_ids": Feature("int64", (None,))}
    rows = [{"input_word_ids": [5], "input_type_ids": [1]}]
    batch = parse(stored(rows, features), features, tf.constant([[1]]))
    assert batch["token_ids"].numpy().tolist() == [[5]]
    assert batch["segment_ids"].numpy().tolist() == [[1]]


def test_source_and_target_have_separate_widths():
    features = {
        "input_ids": Feature("int64", (None,)),
        "target_ids": Feature("int64", (None,), mask="target_padding_mask", role="target"),
    }
    rows = [{"input_ids": [5, 6, 7], "target_ids": [8]}, {"input_ids": [9], "target_ids": [1, 2]}]
    lengths = lengths_of(rows, features)
    assert lengths.tolist() == [[3, 1], [1, 2]]
    batch = parse(stored(rows, features), features, tf.constant(lengths))
    assert batch["token_ids"].numpy().tolist() == [[5, 6, 7], [9, 0, 0]]
    assert batch["target_ids"].numpy().tolist() == [[8, 0], [1, 2]]
    assert batch["padding_mask"].numpy().sum(axis=1).tolist() == [3, 1]
    assert batch["target_padding_mask"].numpy().sum(axis=1).tolist() == [1, 2]


def test_values_of_any_shape_round_trip_padded():
    features = {
        "characters": Feature("int64", (None, None), mask="word_mask"),
        "boxes": Feature("float32", (None, 2), mask="box_mask"),
        "spans": Feature("int64", (None, None, 2), mask="word_mask", role="target"),
        "picture": Feature("bytes"),
        "names": Feature("bytes", (None,), mask="word_mask"),
        "grid": Feature("int64", (2, 2), role="target"),
    }
    rows = [
        {
            "characters": [[1, 2], [], [3]],
            "boxes": [[0.5, 1.5]],
            "spans": [[[1, 2]], [], [[3, 4], [5, 6]]],
            "picture": b"\x00\xff",
            "names": [b"a", b"", b"c"],
            "grid": [[1, 2], [3, 4]],
        },
        {"characters": [[7]], "boxes": [], "spans": [[]], "picture": b"", "names": [b"d"], "grid": [[5, 6], [7, 8]]},
    ]
    lengths = lengths_of(rows, features)
    assert lengths.tolist() == [[1, 3], [0, 1]]  # box_mask, word_mask
    batch = {
        name: value.numpy() for name, value in parse(stored(rows, features), features, tf.constant(lengths)).items()
    }
    assert batch["characters"].tolist() == [[[1, 2], [0, 0], [3, 0]], [[7, 0], [0, 0], [0, 0]]]
    assert batch["boxes"].tolist() == [[[0.5, 1.5]], [[0.0, 0.0]]]
    assert batch["spans"][0].tolist() == [[[1, 2], [0, 0]], [[0, 0], [0, 0]], [[3, 4], [5, 6]]]
    assert not batch["spans"][1].any()
    assert batch["picture"].tolist() == [b"\x00\xff", b""]
    assert batch["names"].tolist() == [[b"a", b"", b"c"], [b"d", b"", b""]]
    assert batch["grid"].tolist() == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    assert batch["word_mask"].sum(axis=1).tolist() == [3, 1]


def test_lists_of_sequences_are_measured_and_masked_along_both_axes():
    features = {"input_ids": Feature("int64", (None, None)), "segment_ids": Feature("int64", (None, None))}
    rows = [dict.fromkeys(features, ids) for ids in ([[5, 6, 7], [8]], [[9, 4]], [[1], [2, 3], [4]])]
    lengths = lengths_of(rows, features)
    assert lengths.tolist() == [[[2, 3]], [[1, 2]], [[3, 2]]]
    batch = parse(stored(rows, features), features, tf.constant(lengths))
    assert batch["token_ids"].numpy().tolist() == [
        [[5, 6, 7], [8, 0, 0], [0, 0, 0]],
        [[9, 4, 0], [0, 0, 0], [0, 0, 0]],
        [[1, 0, 0], [2, 3, 0], [4, 0, 0]],
    ]
    assert (batch["padding_mask"].numpy() == (batch["token_ids"].numpy() > 0)).all()
    wider = parse(stored(rows, features), features, tf.constant(lengths), tf.constant([[4, 5]]))
    assert wider["segment_ids"].shape == wider["padding_mask"].shape == (3, 4, 5)
    assert wider["padding_mask"].numpy().sum() == 10
