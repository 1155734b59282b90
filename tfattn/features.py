"""The names of features that preprocessing writes and models read, and the letters that name their dimensions.

Shape legend:
    B batch · T target length · S source length · H heads · D width · K width of a head · V vocabulary · C classes
    P masked places · N numeric columns · M categorical columns · Q bins · E essential features
    Y rows of an image's pixels · X columns of them
"""

# What a model reads (KerasHub's names).
TOKEN_IDS = "token_ids"  # (B, T) int32, 0 where padded; where a row is several texts, these three are (B, N, T)
SEGMENT_IDS = "segment_ids"  # (B, T) int32, 0 for the first segment, 1 for the second
PADDING_MASK = "padding_mask"  # (B, T) bool, True at real tokens
SEQUENCE_IDS = "sequence_ids"  # (B, T) int32, which of the packed texts each token belongs to, from 1; 0 where padded
CHARACTER_IDS = "character_ids"  # (B, T, 50) int32, how each word is spelled; 0 where padded
LOSS_MASK = "loss_mask"  # (B, T) bool, which tokens are to be predicted, given those before them

# What a model of word vectors reads beside its words.
WORDS_BEFORE = "words_before"  # (B, T) int32, how many words before a word belong to its window
WORDS_AFTER = "words_after"  # (B, T) int32, how many behind it; both end with the text
NEGATIVE_IDS = "noise_ids"  # (B, ceil(T / 2)) int32, negative samples: one for every two words

# What a model may be given in place of the vectors of its tokens, to see what each of them does.
TOKEN_VECTORS = "token_vectors"  # (B, T, D) float32, as `token_vectors` of a model that attends gives them

# Where tokens stand in their text, for tasks that point at places in it: of a pair, in the second text.
STARTS = "starts"  # (B, T) int32, the first character, counted in code points; 0 at tokens that stand nowhere
ENDS = "ends"  # (B, T) int32, behind the last character; 0 at tokens that stand nowhere
WORD_NUMBERS = "word_numbers"  # (B, T) int32, at the first token of each word its number in the text, from 1; else 0
MAX_CONTEXT = "max_context"  # (B, T) int32, 1 where no other window of the text has more of it on both sides

# Where rows give several examples, such as windows of a long text: of which row of the batch each is.
EXAMPLE_ROWS = "example_rows"  # (E,) int64, rising

# What vectors of words are looked up by.
WORD_IDS = "word_ids"  # (B,) int32, -1 where a word is unknown
SUBWORD_IDS = "subword_ids"  # (B, T, M) int32, the n-grams of the characters of each word, filled up with -1

# What a decoder is taught to write.
TARGET_IDS = "target_ids"  # (B, T) int32, the start, the tokens, the end; 0 where padded
TARGET_PADDING_MASK = "target_padding_mask"  # (B, T) bool, True at real tokens

# Which of its sequences' tokens are real, by the name of the sequence; PADDING_MASK says it of all others.
MASKS = {TARGET_IDS: TARGET_PADDING_MASK}

# What a model is taught that fills in tokens which were hidden (BERT's names), P places of each row.
MASKED_LM_POSITIONS = "masked_lm_positions"  # (B, P) int32
MASKED_LM_IDS = "masked_lm_ids"  # (B, P) int32, what stood there
MASKED_LM_WEIGHTS = "masked_lm_weights"  # (B, P) float32, 0 at places that only fill
NEXT_SENTENCE_LABELS = "next_sentence_labels"  # (B,) int32, 1 where the second segment is a random one

# What a model of tables reads: N numeric columns, M categorical ones, Q bins of a numeric one.
NUMERIC = "numeric"  # (B, N) float32, the numeric columns, scaled as the preprocessor says
PIECEWISE = "piecewise"  # (B, N * Q) float32, piecewise-linear encodings of the same
MISSING = "missing"  # (B, N) float32, 1 where a numeric column was empty
CATEGORY_IDS = "category_ids"  # (B, M) int32, 0 for a value that no training row had, 1 for an empty one

# What a model of images reads.
IMAGES = "images"  # (B, Y, X, 3) float32, from 0 to 1: red, green and blue

# What an encoder answers.
SEQUENCE_OUTPUT = "sequence_output"  # (B, T, D)
POOLED_OUTPUT = "pooled_output"  # (B, D)
HIDDEN_STATES = "hidden_states"  # of the embeddings and each block, (B, T, D) each; the last is `sequence_output`
ESSENTIAL_FEATURES = "essential_features"  # (B, E) float32
COLUMN_ATTENTION = "column_attention"  # (B, N + M) float32, how much [CLS] attends to each column; sums to 1

# Where a row is several texts: which of them are there, and do not only fill the batch.
CHOICE_MASK = "choice_mask"  # (B, N) bool

# What a frozen encoder answered once, to be read instead of running it again.
ENCODED = "encoded"  # (B, D); where a row is several texts (B, N, D)

# What a task answers and is taught.
LOGITS = "logits"  # (B, C), or (B, T, V) of a decoder
PREDICTIONS = "predictions"  # (B,) float32, numbers
IS_LABEL = "is_label"  # (B, C) bool, which labels a row gets
LABEL_IDS = "label_ids"  # (B,) int32; of words (B, T), at their first tokens, -1 at all others; of several texts, which
IS_TAGGED = "is_tagged"  # (B, T) int32, 1 at the first token of each word that has a tag of its own in the file
LABEL_INDICATORS = "label_indicators"  # (B, C) int32, 1 for each label that a row has
TARGET_VALUES = "target_values"  # (B,) float32
START_POSITIONS = "start_positions"  # (B,) int32, the first token of the answer, 0 where there is none, -1 not taught
END_POSITIONS = "end_positions"  # (B,) int32, its last token; likewise
IS_IMPOSSIBLE = "is_impossible"  # (B,) int32, 1 where the question has no answer anywhere in its text
UNIQUE_IDS = "unique_ids"  # (B,) int64 in files, another number for each example
MIXED_LABEL_IDS = "mixed_label_ids"  # (B,) int32, of the image that was mixed into each
MIXED_SHARES = "mixed_shares"  # (B,) float32, how much of it there is in the mixture, at most a half
WEIGHTS = "weights"  # (B,) float32, 0 for rows that only fill a batch

# Raw fields of a row.
IMAGE = "image"  # the bytes of a file
TEXT = "text"
TEXT_A = "text_a"
TEXT_B = "text_b"
SOURCE = "source"
TARGET = "target"
LABEL = "label"
LABELS = "labels"
TAGS = "tags"
QUESTION = "question"
CONTEXT = "context"
ANSWERS = "answers"
CHOICES = "choices"
PROMPT = "prompt"
ANSWER = "answer"
MESSAGES = "messages"  # of a chat, a list
EXAMPLE = "example"
FOLDER = "folder"  # in which the folders of classes stand

# What an export says of the tokens whose attention it shows: of which text each is, (B, T) int32. All other outputs
# that are as wide as their longest row are padded with 0 or empty texts.
SEGMENTS = "segments"
SEGMENT_PADDING = -1

# The tensors of an export of word vectors.
WORD_VECTORS = "word_vectors"
SUBWORD_VECTORS = "subword_vectors"  # where unknown words have vectors too
