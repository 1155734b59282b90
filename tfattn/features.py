"""The names of features, which preprocessors write and models read, and the letters of their dimensions.

Shape legend:
    B batch · T target length · S source length · H heads · D width · K width of a head · V vocabulary · C classes
    P masked positions · N numeric columns · M categorical columns · Q bins · E essential features
    Y rows of an image's pixels · X columns of them
"""

# Model inputs (KerasHub's names).
TOKEN_IDS = "token_ids"  # (B, T) int32, 0 at padding; for lists of texts, these three are (B, N, T)
SEGMENT_IDS = "segment_ids"  # (B, T) int32, 0 for the first segment, 1 for the second
PADDING_MASK = "padding_mask"  # (B, T) bool, True at real tokens
SEQUENCE_IDS = "sequence_ids"  # (B, T) int32, the packed text of each token, from 1; 0 at padding
CHARACTER_IDS = "character_ids"  # (B, T, 50) int32, the character ids of each word; 0 at padding
LOSS_MASK = "loss_mask"  # (B, T) bool, True at tokens to predict from the tokens before them

# Inputs of word vector models, in addition to words.
WORDS_BEFORE = "words_before"  # (B, T) int32, how many words before a word belong to its window
WORDS_AFTER = "words_after"  # (B, T) int32, how many after it; both end with the text
NEGATIVE_IDS = "noise_ids"  # (B, ceil(T / 2)) int32, negative samples: one for every two words

# An input that replaces token vectors, for attributions.
TOKEN_VECTORS = "token_vectors"  # (B, T, D) float32, from `token_vectors` of an attention model

# Positions of tokens in their text, for tasks that predict positions; in the second text of a pair.
STARTS = "starts"  # (B, T) int32, the first character, in code points; 0 at special tokens
ENDS = "ends"  # (B, T) int32, after the last character; 0 at special tokens
WORD_NUMBERS = "word_numbers"  # (B, T) int32, the number of each word, from 1, at its first token; else 0
MAX_CONTEXT = "max_context"  # (B, T) int32, 1 if the window has the maximum context of the token

# The row of each example, if rows have several examples such as windows.
EXAMPLE_ROWS = "example_rows"  # (E,) int64, ascending

# Inputs of word vector lookups.
WORD_IDS = "word_ids"  # (B,) int32, -1 for unknown words
SUBWORD_IDS = "subword_ids"  # (B, T, M) int32, the character n-grams of each word, padded with -1

# Decoder targets.
TARGET_IDS = "target_ids"  # (B, T) int32, the start, the tokens, the end; 0 at padding
TARGET_PADDING_MASK = "target_padding_mask"  # (B, T) bool, True at real tokens

# The mask of each sequence, by its name; all other sequences have PADDING_MASK.
MASKS = {TARGET_IDS: TARGET_PADDING_MASK}

# Masked language modeling (BERT's names), P positions per row.
MASKED_LM_POSITIONS = "masked_lm_positions"  # (B, P) int32
MASKED_LM_IDS = "masked_lm_ids"  # (B, P) int32, the original tokens
MASKED_LM_WEIGHTS = "masked_lm_weights"  # (B, P) float32, 0 at padding
NEXT_SENTENCE_LABELS = "next_sentence_labels"  # (B,) int32, 1 if the second segment is random

# Inputs of table models: N numeric columns, M categorical columns, Q bins per numeric column.
NUMERIC = "numeric"  # (B, N) float32, the numeric columns, scaled by the preprocessor
PIECEWISE = "piecewise"  # (B, N * Q) float32, piecewise linear encodings of the numeric columns
MISSING = "missing"  # (B, N) float32, 1 at missing values of numeric columns
CATEGORY_IDS = "category_ids"  # (B, M) int32, 0 for unknown values, 1 for missing values

# Inputs of image models.
IMAGES = "images"  # (B, Y, X, 3) float32, RGB from 0 to 1

# Encoder outputs.
SEQUENCE_OUTPUT = "sequence_output"  # (B, T, D)
POOLED_OUTPUT = "pooled_output"  # (B, D); (B, K, D) of an ensemble of K members in one model
HIDDEN_STATES = "hidden_states"  # of the embeddings and each block, (B, T, D) each; the last is `sequence_output`
ESSENTIAL_FEATURES = "essential_features"  # (B, E) float32
COLUMN_ATTENTION = "column_attention"  # (B, N + M) float32, the attention of [CLS] to each column; sums to 1

# The mask of lists of texts.
CHOICE_MASK = "choice_mask"  # (B, N) bool, False at padding

# Cached outputs of a frozen encoder.
ENCODED = "encoded"  # (B, D); (B, N, D) for lists of texts; (B, K, D) of K members

# Text embeddings, N texts in each row: the anchor, the positive text, and hard negatives.
SECOND_ENCODED = "second_encoded"  # (B, N, D), `encoded` with another dropout
TEXT_HASHES = "text_hashes"  # (B, N, 2) int32, equal for equal texts

# Outputs of exports.
EMBEDDING = "embedding"  # (B, D) float32, or (B, N, D): the vector of each text
SCORE = "score"  # (B,) float32, the relevance of a document to a query, between 0 and 1
NUM_TOKENS = "num_tokens"  # (B,) int32, special tokens included

# Outputs and targets of tasks.
LOGITS = "logits"  # (B, C), or (B, T, V) for a decoder
MEMBER_LOGITS = "member_logits"  # (B, K, C), the logits of K members, whose predictions are averaged
PREDICTIONS = "predictions"  # (B,) float32, predicted numbers
IS_LABEL = "is_label"  # (B, C) bool, True at predicted labels
COMPLEMENTS = "complements"  # (B, C) float32, one minus each score, exact also where a score rounds to 1
UNCALIBRATED_SCORES = "uncalibrated_scores"  # (B, C) float32, scores before temperature scaling
IN_PREDICTION_SET = "in_prediction_set"  # (B, C) bool, True at labels of the prediction set
PREDICTION_SET = "prediction_set"  # the same as a list of labels, for readers
INTERVAL_LOW, INTERVAL_HIGH = "interval_low", "interval_high"  # (B,) float32, the ends of prediction intervals
LABEL_IDS = "label_ids"  # (B,) int32; for words (B, T), at first tokens, else -1; for lists of texts, the choice
IS_TAGGED = "is_tagged"  # (B, T) int32, 1 at the first token of each word with a tag in the file
LABEL_INDICATORS = "label_indicators"  # (B, C) int32, 1 for each label of a row
TARGET_VALUES = "target_values"  # (B,) float32
START_POSITIONS = "start_positions"  # (B,) int32, the first token of the answer, 0 without an answer, -1 to ignore
END_POSITIONS = "end_positions"  # (B,) int32, the last token of the answer; likewise
IS_IMPOSSIBLE = "is_impossible"  # (B,) int32, 1 if the text has no answer
UNIQUE_IDS = "unique_ids"  # (B,) int64 in files, a distinct number for each example
GRADES = "grades"  # (B, N) float32, the relevance of each document, 0 for not relevant; a raw field with the same name
GRADE_MASK = "grade_mask"  # (B, N) bool, False at padding
MIXED_LABEL_IDS = "mixed_label_ids"  # (B,) int32, the label of the image that was mixed in
MIXED_SHARES = "mixed_shares"  # (B,) float32, the share of the mixed-in image, at most a half
REFERENCE_LOG_PROBABILITIES = "reference_log_probabilities"  # (B, 2) float32, of two answers by the initial weights
TEACHER_LOGITS = "teacher_logits"  # (B, C) float32, of the model that a student learns from
WEIGHTS = "weights"  # (B,) float32, 0 for padding rows

# Raw fields of a row.
ID = "id"  # identifies a row for the user; models do not read it
IMAGE = "image"  # the bytes of a file
TEXT = "text"
TEXT_A = "text_a"
TEXT_B = "text_b"
ANCHOR = "anchor"
POSITIVE = "positive"
SOURCE = "source"
TARGET = "target"
LABEL = "label"
LABELS = "labels"
TAGS = "tags"
QUESTION = "question"
CONTEXT = "context"
ANSWERS = "answers"
CHOICES = "choices"
QUERY = "query"
DOCUMENT = "document"
DOCUMENTS = "documents"  # a list of texts
PROMPT = "prompt"
ANSWER = "answer"
MESSAGES = "messages"  # a list of chat messages
INSTRUCTION = "instruction"
INPUT = "input"  # of an instruction
OUTPUT = "output"
CHOSEN = "chosen"  # of two answers the better: a text, or a list of messages
REJECTED = "rejected"
EXAMPLE = "example"
FOLDER = "folder"  # the folder that has the folders of classes

# The text of each token in attention outputs of an export, (B, T) int32. All other outputs of variable width are padded
# with 0 or empty texts.
SEGMENTS = "segments"
SEGMENT_PADDING = -1

# The tensors of an export of word vectors.
WORD_VECTORS = "word_vectors"
SUBWORD_VECTORS = "subword_vectors"  # of character n-grams, for unknown words
