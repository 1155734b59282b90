# Written by `python -m tfattn.api.stubs`.
from collections.abc import Mapping
from typing import Any, Literal


class _Adapters:
    def lora(
        self,
        *,
        rank: int = ...,
        alpha: float = ...,
        targets: list[str] = ...,
        dropout: float = ...,
    ) -> dict[str, Any]:
        """Low-rank adapters: the change of a kernel W is the product A B of two narrow matrices, times alpha / rank."""


class _Averages:
    def ema(
        self,
        *,
        decay: float = ...,
    ) -> dict[str, Any]:
        """An exponential moving average over steps (Polyak & Juditsky 1992; Tarvainen & Valpola 2017)."""
    def last_epochs(
        self,
        *,
        epochs: int = ...,
    ) -> dict[str, Any]:
        """The mean of the weights at the ends of the last epochs: checkpoint averaging (Vaswani et al. 2017, section 6.1)."""


class _Engines:
    def beam(
        self,
        *,
        options: Mapping[str, str | bool | int | float | list[str]] | None = ...,
    ) -> dict[str, Any]:
        """Apache Beam with Dataflow, Flink, Spark or another runner, or on this machine."""
    def local(
        self,
        *,
        processes: int | None = ...,
    ) -> dict[str, Any]:
        """Processes of this machine, including the current process."""


class _Models:
    def bert(
        self,
        *,
        vocabulary_size: int = ...,
        hidden_dim: int = ...,
        num_layers: int = ...,
        num_heads: int = ...,
        intermediate_dim: int = ...,
        max_sequence_length: int = ...,
        num_segments: int = ...,
        embedding_dim: int | None = ...,
        num_distinct_blocks: int | None = ...,
        position_buckets: int | None = ...,
        dropout: float = ...,
        attention_dropout: float | None = ...,
        activation: Literal["gelu", "gelu_approximate", "relu", "relu_squared", "silu", "sigmoid", "tanh", "glu", "reglu", "geglu", "geglu_approximate", "swiglu"] = ...,
        norm: Literal["post", "pre"] = ...,
        normalization: Literal["layer_norm", "layer_norm_no_bias", "rms_norm", "none", "batch_norm"] = ...,
        layer_norm_epsilon: float = ...,
        initializer_range: float = ...,
        pretrained: str | None = ...,
        embeddings: Mapping[str, str] | None = ...,
        adapter: Mapping[str, Any] | None = ...,
    ) -> dict[str, Any]:
        """A stack of Transformer encoder blocks over token, position and segment embeddings."""
    def bilstm(
        self,
        *,
        vocabulary_size: int = ...,
        hidden_dim: int = ...,
        num_layers: int = ...,
        embedding_dim: int | None = ...,
        trains_embeddings: bool = ...,
        elmo: Mapping[str, Any] | None = ...,
        trains_elmo: bool = ...,
        normalizes_elmo: bool = ...,
        attention: bool = ...,
        max_sequence_length: int = ...,
        dropout: float = ...,
        initializer_range: float = ...,
        pretrained: str | None = ...,
        embeddings: Mapping[str, str] | None = ...,
        adapter: Mapping[str, Any] | None = ...,
    ) -> dict[str, Any]:
        """A stack of bidirectional LSTMs; each reads both directions of the layer below."""
    def cbow(
        self,
        *,
        vocabulary_size: int = ...,
        subword_buckets: int = ...,
        hidden_dim: int = ...,
        block: int = ...,
        pretrained: str | None = ...,
        embeddings: Mapping[str, str] | None = ...,
        adapter: Mapping[str, Any] | None = ...,
    ) -> dict[str, Any]:
        """Continuous bag of words: the mean of the words in a window predicts a word."""
    def deberta(
        self,
        *,
        vocabulary_size: int = ...,
        hidden_dim: int = ...,
        num_layers: int = ...,
        num_heads: int = ...,
        intermediate_dim: int = ...,
        max_sequence_length: int = ...,
        position_buckets: int = ...,
        max_relative_positions: int = ...,
        num_segments: int = ...,
        dropout: float = ...,
        attention_dropout: float | None = ...,
        activation: Literal["gelu", "gelu_approximate", "relu", "relu_squared", "silu", "sigmoid", "tanh", "glu", "reglu", "geglu", "geglu_approximate", "swiglu"] = ...,
        normalization: Literal["layer_norm", "layer_norm_no_bias", "rms_norm", "none", "batch_norm"] = ...,
        layer_norm_epsilon: float = ...,
        initializer_range: float = ...,
        pretrained: str | None = ...,
        embeddings: Mapping[str, str] | None = ...,
        adapter: Mapping[str, Any] | None = ...,
    ) -> dict[str, Any]:
        """A stack of post-norm encoder blocks whose scores depend on the contents and the relative positions of tokens."""
    def elmo(
        self,
        *,
        hidden_dim: int = ...,
        cell_dim: int = ...,
        num_layers: int = ...,
        character_dim: int = ...,
        filters: list[list[Any]] = ...,
        num_highways: int = ...,
        activation: Literal["relu", "tanh"] = ...,
        cell_clip: float | None = ...,
        projection_clip: float | None = ...,
        max_sequence_length: int = ...,
        dropout: float = ...,
        pretrained: str | None = ...,
        embeddings: Mapping[str, str] | None = ...,
        adapter: Mapping[str, Any] | None = ...,
    ) -> dict[str, Any]:
        """A character CNN for words, followed by LSTMs in two independent directions."""
    def feature_map_transformer(
        self,
        *,
        num_numeric: int = ...,
        category_counts: list[int] = ...,
        feature_channels: int = ...,
        num_layers: int = ...,
        num_heads: Literal[1, 2, 4, 8, 16, 32, 64] = ...,
        intermediate_dim: int = ...,
        activation: Literal["gelu", "gelu_approximate", "relu", "relu_squared", "silu", "sigmoid", "tanh", "glu", "reglu", "geglu", "geglu_approximate", "swiglu"] = ...,
        normalization: Literal["layer_norm", "layer_norm_no_bias", "rms_norm", "none", "batch_norm"] = ...,
        positions: Literal["learned", "none"] = ...,
        dropout: float = ...,
        pretrained: str | None = ...,
        embeddings: Mapping[str, str] | None = ...,
        adapter: Mapping[str, Any] | None = ...,
    ) -> dict[str, Any]:
        """A Transformer encoder over a row's 14 numbers as a 4 x 4 map, with a bottleneck of a few essential features."""
    def feature_tokenizer_transformer(
        self,
        *,
        num_numeric: int = ...,
        category_counts: list[int] = ...,
        num_bins: int = ...,
        hidden_dim: int = ...,
        num_layers: int = ...,
        num_heads: int = ...,
        intermediate_dim: int | None = ...,
        numeric_embedding: Literal["linear", "piecewise_linear", "periodic"] = ...,
        activation: Literal["gelu", "gelu_approximate", "relu", "relu_squared", "silu", "sigmoid", "tanh", "glu", "reglu", "geglu", "geglu_approximate", "swiglu"] = ...,
        normalization: Literal["layer_norm", "layer_norm_no_bias", "rms_norm", "none", "batch_norm"] = ...,
        num_frequencies: int = ...,
        frequency_scale: float = ...,
        dropout: float = ...,
        attention_dropout: float = ...,
        intermediate_dropout: float = ...,
        pretrained: str | None = ...,
        embeddings: Mapping[str, str] | None = ...,
        adapter: Mapping[str, Any] | None = ...,
    ) -> dict[str, Any]:
        """FT-Transformer: a token for each column and [CLS], whose vector after pre-norm encoder blocks represents the row."""
    def gpt(
        self,
        *,
        vocabulary_size: int = ...,
        hidden_dim: int = ...,
        num_layers: int = ...,
        num_heads: int = ...,
        num_key_value_heads: int | None = ...,
        head_dim: int | None = ...,
        intermediate_dim: int = ...,
        max_sequence_length: int = ...,
        positions: Literal["learned", "sinusoidal", "rotary"] = ...,
        rotary_base: float = ...,
        rotary_fraction: float = ...,
        rotary_scaling: Any | None = ...,
        unrotated_layers: list[int] = ...,
        window: int | None = ...,
        global_layers: list[int] = ...,
        local_rotary_base: float | None = ...,
        norm: Literal["pre", "both", "parallel"] = ...,
        normalization: Literal["layer_norm", "layer_norm_no_bias", "rms_norm", "none", "batch_norm"] = ...,
        activation: Literal["gelu", "gelu_approximate", "relu", "relu_squared", "silu", "sigmoid", "tanh", "glu", "reglu", "geglu", "geglu_approximate", "swiglu"] = ...,
        use_bias: bool = ...,
        attention_bias: Literal["none", "qkv", "all"] | None = ...,
        qk_norm: bool = ...,
        query_scale: float | None = ...,
        attention_soft_cap: float | None = ...,
        scale_embeddings: bool = ...,
        tied: bool = ...,
        logit_soft_cap: float | None = ...,
        token_dropout: float = ...,
        dropout: float = ...,
        attention_dropout: float = ...,
        epsilon: float = ...,
        initializer_range: float = ...,
        pretrained: str | None = ...,
        embeddings: Mapping[str, str] | None = ...,
        adapter: Mapping[str, Any] | None = ...,
    ) -> dict[str, Any]:
        """A decoder of pre-norm blocks, by default GPT-2; with other options a Llama, a Gemma, or another decoder."""
    def modern_bert(
        self,
        *,
        vocabulary_size: int = ...,
        hidden_dim: int = ...,
        num_layers: int = ...,
        num_heads: int = ...,
        intermediate_dim: int = ...,
        max_sequence_length: int = ...,
        num_segments: int = ...,
        local_attention: int | None = ...,
        global_attention_every: int = ...,
        rotary_base: float = ...,
        local_rotary_base: float | None = ...,
        activation: Literal["gelu", "gelu_approximate", "relu", "relu_squared", "silu", "sigmoid", "tanh", "glu", "reglu", "geglu", "geglu_approximate", "swiglu"] = ...,
        positions: Literal["rotary", "learned"] = ...,
        normalization: Literal["layer_norm", "layer_norm_no_bias", "rms_norm", "none", "batch_norm"] = ...,
        first_norm: bool = ...,
        use_bias: bool = ...,
        head_bias: bool = ...,
        dropout: float = ...,
        attention_dropout: float = ...,
        layer_norm_epsilon: float = ...,
        initializer_range: float = ...,
        pretrained: str | None = ...,
        embeddings: Mapping[str, str] | None = ...,
        adapter: Mapping[str, Any] | None = ...,
    ) -> dict[str, Any]:
        """A stack of pre-norm encoder blocks with gated feed-forward networks and rotary positions, without biases."""
    def rnn_encoder_decoder(
        self,
        *,
        vocabulary_size: int = ...,
        target_vocabulary_size: int = ...,
        hidden_dim: int = ...,
        embedding_dim: int = ...,
        num_layers: int = ...,
        encoder_dim: int | None = ...,
        cell: Literal["gru", "lstm"] = ...,
        wiring: Literal["bahdanau", "luong", "input_feeding", "plain"] = ...,
        score: Literal["additive", "concat", "dot", "general"] = ...,
        max_sequence_length: int = ...,
        dropout: float = ...,
        share_embeddings: Literal["all", "target", "none"] = ...,
        pretrained: str | None = ...,
        embeddings: Mapping[str, str] | None = ...,
        adapter: Mapping[str, Any] | None = ...,
    ) -> dict[str, Any]:
        """A bidirectional encoder of GRUs or LSTMs, and a decoder of such layers with attention to the source."""
    def skip_gram(
        self,
        *,
        vocabulary_size: int = ...,
        subword_buckets: int = ...,
        hidden_dim: int = ...,
        block: int = ...,
        pretrained: str | None = ...,
        embeddings: Mapping[str, str] | None = ...,
        adapter: Mapping[str, Any] | None = ...,
    ) -> dict[str, Any]:
        """Skip-gram: each word predicts the words in its window."""
    def tab_m(
        self,
        *,
        num_numeric: int = ...,
        category_counts: list[int] = ...,
        num_bins: int = ...,
        num_members: int = ...,
        hidden_dim: int = ...,
        num_layers: int = ...,
        embedding_dim: int = ...,
        numeric_embedding: Literal["linear", "piecewise_linear", "periodic"] = ...,
        num_frequencies: int = ...,
        frequency_scale: float = ...,
        dropout: float = ...,
        pretrained: str | None = ...,
        embeddings: Mapping[str, str] | None = ...,
        adapter: Mapping[str, Any] | None = ...,
    ) -> dict[str, Any]:
        """TabM: K multilayer perceptrons that share their kernels and differ by scales and biases."""
    def transformer(
        self,
        *,
        vocabulary_size: int = ...,
        target_vocabulary_size: int = ...,
        hidden_dim: int = ...,
        num_layers: int = ...,
        num_heads: int = ...,
        head_dim: int | None = ...,
        intermediate_dim: int = ...,
        decoder_layers: int | None = ...,
        max_sequence_length: int = ...,
        dropout: float = ...,
        attention_dropout: float = ...,
        activation: Literal["gelu", "gelu_approximate", "relu", "relu_squared", "silu", "sigmoid", "tanh", "glu", "reglu", "geglu", "geglu_approximate", "swiglu"] = ...,
        norm: Literal["post", "pre"] = ...,
        normalization: Literal["layer_norm", "layer_norm_no_bias", "rms_norm", "none", "batch_norm"] = ...,
        decoder_normalization: Literal["layer_norm", "layer_norm_no_bias", "rms_norm", "none"] | None = ...,
        positions: Literal["sinusoidal", "sinusoidal_halves", "learned", "rotary", "relative"] = ...,
        position_buckets: int = ...,
        max_relative_positions: int = ...,
        share_embeddings: Literal["all", "target", "inputs", "none"] = ...,
        output_bias: bool = ...,
        use_bias: bool = ...,
        layer_norm_epsilon: float = ...,
        initializer_range: float | None = ...,
        pretrained: str | None = ...,
        embeddings: Mapping[str, str] | None = ...,
        adapter: Mapping[str, Any] | None = ...,
    ) -> dict[str, Any]:
        """A stack of encoder blocks that reads the source, and a stack of decoder blocks that generates the target."""
    def vit(
        self,
        *,
        image_size: int | list[int] = ...,
        patch_size: int | None = ...,
        num_convolutions: int | None = ...,
        kernel_size: int = ...,
        inner_width: int = ...,
        hidden_dim: int = ...,
        num_layers: int = ...,
        num_heads: int = ...,
        intermediate_dim: int = ...,
        pooling: Literal["class_token", "mean", "attention"] = ...,
        distillation_token: bool = ...,
        num_registers: int = ...,
        positions: Literal["learned", "sinusoidal", "none"] = ...,
        activation: Literal["gelu", "gelu_approximate", "relu", "relu_squared", "silu", "sigmoid", "tanh", "glu", "reglu", "geglu", "geglu_approximate", "swiglu"] = ...,
        normalization: Literal["layer_norm", "layer_norm_no_bias", "rms_norm", "none", "batch_norm"] = ...,
        use_bias: bool = ...,
        dropout: float = ...,
        attention_dropout: float = ...,
        stochastic_depth: float = ...,
        layer_scale: float | None = ...,
        layer_norm_epsilon: float = ...,
        initializer_range: float = ...,
        pixel_mean: list[float] = ...,
        pixel_deviation: list[float] = ...,
        pretrained: str | None = ...,
        embeddings: Mapping[str, str] | None = ...,
        adapter: Mapping[str, Any] | None = ...,
    ) -> dict[str, Any]:
        """A stack of pre-norm encoder blocks over the patches of an image, by default with a class token before them."""


class _Optimizers:
    def adamw(
        self,
        *,
        learning_rate: float = ...,
        weight_decay: float = ...,
        beta_1: float = ...,
        beta_2: float = ...,
        epsilon: float = ...,
    ) -> dict[str, Any]:
        """Adam with decoupled weight decay (Kingma & Ba 2015, algorithm 1; Loshchilov & Hutter 2019, algorithm 2)."""
    def muon(
        self,
        *,
        learning_rate: float = ...,
        weight_decay: float = ...,
        beta_1: float = ...,
        beta_2: float = ...,
        epsilon: float = ...,
        momentum: float = ...,
        iterations: int = ...,
    ) -> dict[str, Any]:
        """Muon for the linear maps between hidden vectors, AdamW for all other weights."""
    def sgd(
        self,
        *,
        learning_rate: float = ...,
        weight_decay: float = ...,
        momentum: float = ...,
        nesterov: bool = ...,
    ) -> dict[str, Any]:
        """Gradient descent with momentum (Sutskever et al. 2013, eqs. 1 to 4)."""


class _Preprocessors:
    def byte_bpe(
        self,
        *,
        vocabulary: str = ...,
        vocabulary_size: int = ...,
        max_length: int = ...,
        pattern: Literal["gpt2", "digits", "llama3", "qwen2"] = ...,
        normalization: Literal["nfc"] | None = ...,
        end_token: str = ...,
        start_token: str | None = ...,
        special_tokens: list[str] = ...,
    ) -> dict[str, Any]:
        """Byte-level BPE tokens of a text, and back, in the graph."""
    def characters(
        self,
        *,
        vocabulary: Literal["train", "pretrained"] = ...,
        vocabulary_size: int | None = ...,
        max_length: int = ...,
    ) -> dict[str, Any]:
        """Character-level tokenizer; characters that are not in the training texts are `<unk>`."""
    def corpus_words(
        self,
        *,
        division: Literal["letters", "blanks", "jieba"] = ...,
        lower_case: bool = ...,
        ascii: bool = ...,
        min_count: int = ...,
        vocabulary_size: int | None = ...,
        stop_words: str | None = ...,
        phrases: Mapping[str, Any] | None = ...,
        subwords: Mapping[str, Any] | None = ...,
        script: Literal["traditional", "simplified"] | None = ...,
    ) -> dict[str, Any]:
        """Words of texts with their counts in the training texts, for word vectors."""
    def images(
        self,
        *,
        size: int | list[int] = ...,
        fit: Literal["crop", "pad", "squash"] = ...,
        keep: Literal["pixels", "files"] = ...,
        max_side: int = ...,
    ) -> dict[str, Any]:
        """Preprocessor of JPEG, PNG, GIF or BMP files to images (B, Y, X, 3) float32 from 0 to 1."""
    def piece_bpe(
        self,
        *,
        vocabulary: str = ...,
        max_length: int = ...,
        end_token: str = ...,
        start_token: str | None = ...,
    ) -> dict[str, Any]:
        """SentencePiece tokens of a text, and back, in the graph."""
    def pretrained_tokenizer(
        self,
        *,
        vocabulary: str = ...,
        max_length: int = ...,
        doc_stride: int | None = ...,
        max_query_length: int | None = ...,
        fields: list[str] = ...,
    ) -> dict[str, Any]:
        """The tokenizer of a published encoder, in the graph: a text or a pair of texts."""
    def sentencepiece(
        self,
        *,
        vocabulary: str = ...,
        vocabulary_size: int = ...,
        model_type: Literal["bpe", "unigram", "word"] = ...,
        joint: bool = ...,
        target_vocabulary: str | None = ...,
        target_vocabulary_size: int | None = ...,
        character_coverage: float = ...,
        byte_fallback: bool = ...,
        max_length: int = ...,
        target_max_length: int | None = ...,
        max_ratio: float | None = ...,
        prefix: str = ...,
    ) -> dict[str, Any]:
        """SentencePiece tokenizer of sources and targets, and detokenizer of targets, in the graph."""
    def spelled_words(
        self,
        *,
        vocabulary_size: int | None = ...,
        lower_case: bool = ...,
        max_length: int = ...,
        doc_stride: int | None = ...,
        fields: list[str] = ...,
    ) -> dict[str, Any]:
        """Word tokenizer of a text or a pair of texts, in the graph, with word ids and character ids."""
    def table(
        self,
        *,
        numeric: list[str] = ...,
        categorical: list[str] = ...,
        caps: Mapping[str, float] | None = ...,
        multiply: Mapping[str, float] | None = ...,
        scaling: Literal["standard", "quantile", "none"] = ...,
        bins: int = ...,
        missing: list[str] = ...,
    ) -> dict[str, Any]:
        """Features of numeric and categorical columns, with scales, bins and categories of the training rows."""
    def wordpiece(
        self,
        *,
        vocabulary: str = ...,
        vocabulary_size: int = ...,
        lower_case: bool | None = ...,
        strip_accents: bool | None = ...,
        max_length: int = ...,
        doc_stride: int | None = ...,
        max_query_length: int | None = ...,
        fields: list[str] = ...,
    ) -> dict[str, Any]:
        """BERT's tokenizer of a text or a pair of texts, in the graph."""
    def words(
        self,
        *,
        vocabulary: Literal["train", "pretrained"] = ...,
        vocabulary_size: int | None = ...,
        max_length: int = ...,
    ) -> dict[str, Any]:
        """Word-level tokenizer of texts that are tokenized by blanks already, such as the Penn Treebank."""


class _Schedules:
    def constant(
        self,
        *,
        warmup: int | float = ...,
    ) -> dict[str, Any]:
        """The full rate after the warm-up."""
    def cosine(
        self,
        *,
        warmup: int | float = ...,
        final: float = ...,
    ) -> dict[str, Any]:
        """Half a cosine wave from the full rate down to `final` (Loshchilov & Hutter 2017, eq. 5, without restarts)."""
    def inverse_sqrt(
        self,
        *,
        warmup: int | float = ...,
    ) -> dict[str, Any]:
        """A decay with the inverse square root of the step (Vaswani et al. 2017, eq. 3)."""
    def linear(
        self,
        *,
        warmup: int | float = ...,
        final: float = ...,
    ) -> dict[str, Any]:
        """A linear decay from the full rate down to `final` (Devlin et al. 2019, appendix A.2)."""
    def step(
        self,
        *,
        warmup: int | float = ...,
        every: int | float = ...,
        factor: float = ...,
    ) -> dict[str, Any]:
        """A decay by a factor at equal intervals (step decay; He et al. 2016, section 4.2, at two given steps)."""


class _Sources:
    def bert_records(
        self,
        *,
        path: str | list[str] = ...,
    ) -> dict[str, Any]:
        """TFRecord files of training examples from create_pretraining_data.py or run_squad.py of google-research/bert."""
    def conll(
        self,
        *,
        path: str = ...,
        fields: Mapping[str, int] = ...,
        scheme: Literal["iob1", "iob2", "bioes"] = ...,
        delimiter: str | None = ...,
        spaces: bool = ...,
        encoding: str = ...,
    ) -> dict[str, Any]:
        """The columns of the CoNLL shared tasks, such as those of CoNLL-2003. A row is a sentence."""
    def csv(
        self,
        *,
        path: str = ...,
        fields: Mapping[str, str | int | list[str | int | list[str | int]]] = ...,
        delimiter: str | None = ...,
        encoding: str = ...,
        quoting: bool = ...,
        header: bool = ...,
    ) -> dict[str, Any]:
        """A delimited text file. A field has at most 1,048,576 characters, a row 16,777,216."""
    def csv_images(
        self,
        *,
        path: str = ...,
        fields: Mapping[str, str | int] = ...,
        folder: str | None = ...,
        damaged: Literal["refuse", "leave_out"] = ...,
        max_side: int = ...,
        delimiter: str | None = ...,
        encoding: str = ...,
        quoting: bool = ...,
        header: bool = ...,
    ) -> dict[str, Any]:
        """A table with a column of paths of images, relative to the folder of the table."""
    def documents(
        self,
        *,
        path: str | list[str] = ...,
        split_sentences: bool = ...,
        max_sentences: int | None = ...,
        encoding: str = ...,
    ) -> dict[str, Any]:
        """Documents with a sentence per line and a blank line in between; a row is a document, with the role `text`."""
    def excel(
        self,
        *,
        path: str = ...,
        fields: Mapping[str, str | list[str | list[str]]] = ...,
        sheet: str | None = ...,
    ) -> dict[str, Any]:
        """A sheet of an Excel workbook (.xlsx). Numbers, dates and booleans become text; the first row names the columns."""
    def grouped_documents(
        self,
        *,
        source: Mapping[str, Any] = ...,
    ) -> dict[str, Any]:
        """Rows for ranking from a source with a query, a document and its grade in each row."""
    def image_folder(
        self,
        *,
        path: str | list[str] = ...,
        inside: str | list[str] | None = ...,
        damaged: Literal["refuse", "leave_out"] = ...,
        max_side: int = ...,
    ) -> dict[str, Any]:
        """Images whose class is the name of their folder; a row has the roles `image`, `label` and `folder`."""
    def jsonl(
        self,
        *,
        path: str = ...,
        fields: Mapping[str, str] = ...,
        encoding: str = ...,
    ) -> dict[str, Any]:
        """A JSON object per line. Numbers and booleans become text, null an empty value; lists and objects are unchanged."""
    def mediawiki(
        self,
        *,
        path: str | list[str] = ...,
        namespaces: list[int] | None = ...,
        encoding: str | None = ...,
    ) -> dict[str, Any]:
        """Pages of a dump (.xml, .xml.bz2 or .xml.gz) as plain text with a sentence per line; a row is a page, role `text`."""
    def mined_negatives(
        self,
        *,
        source: Mapping[str, Any] = ...,
        query: str = ...,
        document: str = ...,
        within: str | None = ...,
        num_negatives: int = ...,
        negatives: Literal["bm25", "random"] = ...,
        seed: int = ...,
    ) -> dict[str, Any]:
        """Rows for ranking from a source with a query and a relevant document in each row."""
    def parallel(
        self,
        *,
        path: str = ...,
        target_path: str = ...,
        encoding: str = ...,
    ) -> dict[str, Any]:
        """Sentences and their translations in two plain text files, one sentence per line."""
    def parquet(
        self,
        *,
        path: str = ...,
        fields: Mapping[str, str | list[str | list[str]]] = ...,
    ) -> dict[str, Any]:
        """A Parquet file. Numbers, dates and booleans become text, null an empty value; lists and objects are unchanged."""
    def plain_text(
        self,
        *,
        path: str | list[str] = ...,
        documents: Literal["files", "lines", "headings"] = ...,
        begin: float | None = ...,
        end: float | None = ...,
        encoding: str = ...,
    ) -> dict[str, Any]:
        """Unmodified texts, white space included; a row is a document, with the role `text`."""
    def several(
        self,
        *,
        sources: Mapping[str, Any] = ...,
    ) -> dict[str, Any]:
        """The concatenated rows of several sources. Each source maps the roles to its own columns."""
    def squad(
        self,
        *,
        path: str = ...,
    ) -> dict[str, Any]:
        """A file in the format of SQuAD. A row is a question."""
    def xml(
        self,
        *,
        path: str | list[str] = ...,
        row: str = ...,
        fields: Mapping[str, str] = ...,
        encoding: str | None = ...,
    ) -> dict[str, Any]:
        """Elements of XML, which is read as a stream, so files may be of any size."""


class _Tasks:
    def bert_pretraining(self) -> dict[str, Any]:
        """Pre-training on pairs of segments by masked language modelling and next-sentence prediction."""
    def bidirectional_language_modeling(
        self,
        *,
        samples: int | None = ...,
    ) -> dict[str, Any]:
        """Pre-training of an ELMo by a forward and a backward language model."""
    def chat(
        self,
        *,
        label_smoothing: float = ...,
        generation: Mapping[str, Any] | None = ...,
    ) -> dict[str, Any]:
        """Next-token prediction with a decoder."""
    def classification(
        self,
        *,
        encoder: Literal["fine_tune", "frozen"] = ...,
        pooling: Literal["mean", "cls", "max", "pooler"] | None = ...,
        pooled_layers: int | Literal["all"] | None = ...,
        dropout: float | None = ...,
        class_weights: Literal["balanced"] | Mapping[str, float] | None = ...,
        label_smoothing: float = ...,
        r_drop: float = ...,
        positive: str | None = ...,
        specificity: float | None = ...,
    ) -> dict[str, Any]:
        """A linear classifier on top of an encoder, with one label for each row."""
    def embedding(
        self,
        *,
        loss: Literal["in_batch_negatives", "simcse", "cosent", "cosine"] | None = ...,
        temperature: float = ...,
        symmetric: bool = ...,
        dimensions: list[int] | None = ...,
        dimension_weights: list[float] | None = ...,
        pooling: Literal["mean", "cls", "max", "pooler"] = ...,
        normalize: bool = ...,
        dropout: float = ...,
    ) -> dict[str, Any]:
        """An encoder of texts, trained so that cosine similarities rank texts."""
    def language_modeling(
        self,
        *,
        label_smoothing: float = ...,
        generation: Mapping[str, Any] | None = ...,
    ) -> dict[str, Any]:
        """Next-token prediction with a decoder."""
    def masked_lm(self) -> dict[str, Any]:
        """Pre-training on texts by masked language modelling, without next-sentence prediction."""
    def multi_label_classification(
        self,
        *,
        encoder: Literal["fine_tune", "frozen"] = ...,
        pooling: Literal["mean", "cls", "max", "pooler"] | None = ...,
        pooled_layers: int | Literal["all"] | None = ...,
        dropout: float | None = ...,
        class_weights: Literal["balanced"] | Mapping[str, float] | None = ...,
        threshold: float = ...,
    ) -> dict[str, Any]:
        """A linear classifier on top of an encoder, with any number of labels for each row."""
    def multiple_choice(
        self,
        *,
        encoder: Literal["fine_tune", "frozen"] = ...,
        pooling: Literal["mean", "cls", "max", "pooler"] = ...,
        pooled_layers: int | Literal["all"] = ...,
        dropout: float = ...,
    ) -> dict[str, Any]:
        """A linear scorer of each choice with its context, with a softmax over the choices of a row."""
    def preference_optimization(
        self,
        *,
        beta: float = ...,
        loss: Literal["sigmoid", "ipo"] = ...,
        label_smoothing: float = ...,
        generation: Mapping[str, Any] | None = ...,
    ) -> dict[str, Any]:
        """Direct preference optimization of a decoder on pairs of a chosen and a rejected answer."""
    def question_answering(
        self,
        *,
        dropout: float = ...,
        max_answer_length: int = ...,
        n_best_size: int = ...,
        units: Literal["words", "characters"] = ...,
    ) -> dict[str, Any]:
        """A linear head that predicts the start and the end of the answer, with two logits for each token of the text."""
    def ranking(
        self,
        *,
        loss: Literal["listwise", "pointwise"] = ...,
        encoder: Literal["fine_tune", "frozen"] = ...,
        pooling: Literal["mean", "cls", "max", "pooler"] = ...,
        pooled_layers: int | Literal["all"] = ...,
        dropout: float = ...,
    ) -> dict[str, Any]:
        """A linear scorer of each document with its query: a cross-encoder, or reranker."""
    def regression(
        self,
        *,
        encoder: Literal["fine_tune", "frozen"] = ...,
        pooling: Literal["mean", "cls", "max", "pooler"] | None = ...,
        pooled_layers: int | Literal["all"] | None = ...,
        dropout: float | None = ...,
        loss: Literal["mean_squared_error", "mean_absolute_error", "huber"] = ...,
        range: list[Any] | None = ...,
    ) -> dict[str, Any]:
        """A linear regression on top of an encoder, with one number for each row."""
    def token_classification(
        self,
        *,
        dropout: float = ...,
    ) -> dict[str, Any]:
        """A linear classifier of words on top of an encoder, which reads the vector of each word's first token."""
    def translation(
        self,
        *,
        label_smoothing: float = ...,
        decoding: Mapping[str, Any] | None = ...,
    ) -> dict[str, Any]:
        """Training of an encoder-decoder by teacher forcing, and generation by beam search."""
    def word2vec(
        self,
        *,
        objective: Literal["negative_sampling", "hierarchical_softmax", "softmax"] = ...,
        negatives: int = ...,
    ) -> dict[str, Any]:
        """Training of word vectors by predicting nearby words."""


class Parts:
    adapters: _Adapters
    averages: _Averages
    engines: _Engines
    models: _Models
    optimizers: _Optimizers
    preprocessors: _Preprocessors
    schedules: _Schedules
    sources: _Sources
    tasks: _Tasks
    def data(
        self,
        *,
        source: Mapping[str, Any] = ...,
        preprocessing: Mapping[str, Any] = ...,
        batching: Mapping[str, Any] = ...,
        split: Mapping[str, Any] = ...,
        targets: Mapping[str, Any] = ...,
        examples: Mapping[str, Any] = ...,
        validation_source: Mapping[str, Any] | None = ...,
        augmentation: Mapping[str, Any] | None = ...,
        missing: Mapping[str, list[str]] | None = ...,
        corrections: str | None = ...,
        max_rows: int | None = ...,
        engine: Mapping[str, Any] | None = ...,
        work_folder: str | None = ...,
    ) -> dict[str, Any]:
        """Sources, split, preprocessing and batching of rows."""
    def augmentation(
        self,
        *,
        resized_crop: float | None = ...,
        shift: int | None = ...,
        flip: Literal["random", "alternating"] | None = ...,
        colour_jitter: float | None = ...,
        rand_augment: float | None = ...,
        cutout: int | None = ...,
        mixup: float | None = ...,
        cutmix: float | None = ...,
    ) -> dict[str, Any]:
        """Random augmentation of training images, in this order, by (seed, epoch, image). By default nothing is changed."""
    def split(
        self,
        *,
        validation: float = ...,
        test: float = ...,
        calibration: float = ...,
        stratify: bool = ...,
        group: str | None = ...,
        hold_out: Mapping[str, list[str]] | None = ...,
        folds: int | None = ...,
        fold: int = ...,
        leaks: Literal["keep", "drop"] = ...,
    ) -> dict[str, Any]:
        """Random split of rows into training, validation, test and calibration rows."""
    def batching(
        self,
        *,
        batch_size: int | None = ...,
        max_tokens: int | None = ...,
        bucket_by_length: bool = ...,
        window: int = ...,
        balanced: bool = ...,
        batches_per_epoch: int | None = ...,
    ) -> dict[str, Any]:
        """Batches of a fixed number of rows, or of a maximum number of tokens including padding."""
    def runtime(
        self,
        *,
        precision: Literal["auto", "float32", "bfloat16", "float16"] = ...,
        strategy: Literal["auto", "one_device", "mirrored", "multi_worker"] = ...,
        device: Literal["auto", "cpu", "gpu"] = ...,
        logical_devices: int | Literal["cores"] = ...,
        threads: int | None = ...,
    ) -> dict[str, Any]:
        """The devices of a run: one device, all devices of the machine, or the devices of several worker processes."""
    def training(
        self,
        *,
        epochs: int | None = ...,
        steps: int | None = ...,
        min_steps: int | None = ...,
        validate_every: int | None = ...,
        optimizer: Mapping[str, Any] | None = ...,
        schedule: Mapping[str, Any] | None = ...,
        accumulation: int = ...,
        updates_per_batch: int = ...,
        clip_norm: float | None = ...,
        sparse_embeddings: bool = ...,
        layer_decay: float = ...,
        averaging: Mapping[str, Any] | None = ...,
        early_stopping: Mapping[str, Any] | None = ...,
        monitor: str | None = ...,
        monitor_mode: Literal["max", "min"] | None = ...,
        selection: Literal["best_epoch", "last_epoch"] = ...,
        steps_per_loop: int = ...,
        checkpoint_every: int | None = ...,
        keep_checkpoints: int = ...,
        seed: int | None = ...,
    ) -> dict[str, Any]:
        """A trainer of a task on a split, with validation on another split after each epoch or every so many steps."""
    def teacher(
        self,
        *,
        pretrained: str = ...,
        soft_labels: float = ...,
        temperature: float = ...,
        hidden_states: float = ...,
        attention: float = ...,
    ) -> dict[str, Any]:
        """A trained model that the model of the run learns from (distillation), in addition to the labels."""
    def ensemble(
        self,
        *,
        seeds: int = ...,
        folds: int | None = ...,
    ) -> dict[str, Any]:
        """Several models of one configuration, whose mean scores are the predictions of evaluation and export."""
    def search(
        self,
        *,
        ranges: Mapping[str, Any] | None = ...,
        trials: int = ...,
        test: float = ...,
        pruning: bool = ...,
    ) -> dict[str, Any]:
        """Ranges of settings for `tfattn search`."""
    def calibration(
        self,
        *,
        temperature: bool = ...,
        threshold: Literal["f1", "balanced_accuracy"] | Mapping[str, float] | None = ...,
        coverage: float | None = ...,
        by_class: bool = ...,
    ) -> dict[str, Any]:
        """Calibration of a trained model on rows that neither train nor measure it."""
    def early_stopping(
        self,
        *,
        patience: int = ...,
        min_delta: float = ...,
    ) -> dict[str, Any]:
        """Early stopping: ends a run when the monitored metric stops improving."""
    def elmo(
        self,
        *,
        hidden_dim: int = ...,
        cell_dim: int = ...,
        num_layers: int = ...,
        character_dim: int = ...,
        filters: list[list[Any]] = ...,
        num_highways: int = ...,
        activation: Literal["relu", "tanh"] = ...,
        cell_clip: float | None = ...,
        projection_clip: float | None = ...,
        max_sequence_length: int = ...,
        dropout: float = ...,
        pretrained: str | None = ...,
    ) -> dict[str, Any]:
        """A character CNN for words, followed by LSTMs in two independent directions."""
    def decoding(
        self,
        *,
        num_beams: int = ...,
        length_penalty: float = ...,
        length_penalty_offset: float = ...,
        max_length: int | None = ...,
        max_ratio: float | None = ...,
        num_results: int | None = ...,
        stopping: Literal["results", "beams", "ended"] = ...,
        forced_end: bool = ...,
        renormalize: bool = ...,
        too_long: Literal["truncate", "refuse"] = ...,
    ) -> dict[str, Any]:
        """Beam search for each source."""
    def generation(
        self,
        *,
        temperature: float = ...,
        top_k: int = ...,
        top_p: float = ...,
        min_p: float = ...,
        repetition_penalty: float = ...,
        presence_penalty: float = ...,
        frequency_penalty: float = ...,
        stop: list[str] = ...,
        seed: int | None = ...,
        max_tokens: int | None = ...,
        num_beams: int = ...,
        length_penalty: float = ...,
        system: str | None = ...,
    ) -> dict[str, Any]:
        """The default settings of generation; each request may override them."""
    def evaluation(
        self,
        *,
        baseline: bool = ...,
    ) -> dict[str, Any]:
        """Evaluation settings."""
    def export(
        self,
        *,
        folder: str = ...,
        version: Literal["timestamp", "next"] | int = ...,
        keep: int = ...,
        parity_rows: int = ...,
        tolerance: float = ...,
        formats: list[Literal["saved_model", "litert"]] = ...,
        litert_precision: Literal["float32", "int8"] = ...,
        merge_adapter: bool = ...,
        served_from: str = ...,
    ) -> dict[str, Any]:
        """Export settings."""
    def phrases(
        self,
        *,
        thresholds: list[float] = ...,
        min_count: int = ...,
        score: Literal["ratio", "npmi"] = ...,
    ) -> dict[str, Any]:
        """The search for phrases in the training texts."""
    def subwords(
        self,
        *,
        shortest: int = ...,
        longest: int = ...,
        buckets: int = ...,
        most: int = ...,
    ) -> dict[str, Any]:
        """Character n-grams of words, hashed to ids from 0 to `buckets` - 1."""


parts: Parts
