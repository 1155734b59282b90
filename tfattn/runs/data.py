"""The data section of a run, as every process makes it that prepares or reads its data."""

from tfattn import pretrained
from tfattn.config.build import build
from tfattn.config.schema import Config
from tfattn.data.section import Data
from tfattn.errors import ConfigError


def data_of(config: Config) -> Data:
    """Build the data section, with the vocabulary that comes with the pretrained weights.

    Raises:
        ConfigError: the vocabulary is that of pretrained weights, and there are none.
    """
    data: Data = build(config, "data")
    if data.preprocessing.needs_pretrained:
        source = config.values["model"].get("pretrained")
        if source is None:
            raise ConfigError(
                "there is no pretrained model to take the vocabulary from",
                where=f"{config.origins['data', 'preprocessing', 'vocabulary']}: data.preprocessing.vocabulary",
                expected="`pretrained:` in the model section",
                remedy="Set `vocabulary: train`, or name a vocab.txt.",
            )
        folder = pretrained.open(source)
        data.preprocessing.adopt(
            vocabulary=folder.vocabulary, lower_case=folder.lower_case, strip_accents=folder.strip_accents
        )
    return data
