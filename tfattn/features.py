"""The names of features that preprocessing writes and models read, and the letters that name their dimensions.

Shape legend:
    B batch · T target length · S source length · H heads · D width · K width of a head · V vocabulary · C classes
"""

# What a model reads (KerasHub's names).
TOKEN_IDS = "token_ids"  # (B, T) int32, 0 where padded
SEGMENT_IDS = "segment_ids"  # (B, T) int32, 0 for the first segment, 1 for the second
PADDING_MASK = "padding_mask"  # (B, T) bool, True at real tokens

# What an encoder answers.
SEQUENCE_OUTPUT = "sequence_output"  # (B, T, D)
POOLED_OUTPUT = "pooled_output"  # (B, D)

# What a frozen encoder answered once, to be read instead of running it again.
ENCODED = "encoded"  # (B, D)

# What a task answers and is taught.
LOGITS = "logits"  # (B, C)
LABEL_IDS = "label_ids"  # (B,) int32
WEIGHTS = "weights"  # (B,) float32, 0 for rows that only fill a batch

# Raw fields of a row.
TEXT = "text"
TEXT_A = "text_a"
TEXT_B = "text_b"
LABEL = "label"
