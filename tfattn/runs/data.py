"""Construction of the `data` section of a run, in every process that prepares or reads data."""

from pathlib import Path

from tfattn import pretrained, registry
from tfattn.config.build import build
from tfattn.config.schema import Config
from tfattn.data.section import Data
from tfattn.errors import ConfigError


def build_data(config: Config) -> Data:
    """Build the data section, with the vocabulary of the pretrained weights if it is configured.

    Raises:
        ConfigError: the configured vocabulary is missing: no pretrained weights, or weights with other tokens.
        CheckpointError: the vocabulary is damaged.
    """
    data: Data = build(config, "data")
    if data.preprocessing.needs_pretrained:
        teacher = config.values.get("teacher") or {}
        source = config.values["model"].get("pretrained") or teacher.get("pretrained")
        if source is None:
            raise ConfigError(
                "there is no pretrained model to take the vocabulary from",
                where=f"{config.origins['data', 'preprocessing', 'vocabulary']}: data.preprocessing.vocabulary",
                expected="`pretrained:` in the model section, or a teacher",
                remedy="Set `vocabulary: train`, or name its file or folder.",
            )
        weights = pretrained.find(source, Path(config.values["export"]["folder"]))
        has_kind = isinstance(data.preprocessing, registry.find("preprocessors", weights.preprocessor))
        if not has_kind and weights.preprocessor not in data.preprocessing.adopts:
            raise ConfigError(
                "the pretrained model uses other tokens",
                where=f"{config.origins['data', 'preprocessing', 'name']}: data.preprocessing.name",
                expected=weights.preprocessor,
                received=config.at("data", "preprocessing", "name"),
            )
        data.preprocessing.adopt(**weights.tokenization())
    return data
