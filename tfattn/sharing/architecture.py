"""An architecture of transformers as the counterpart of a model: the tables of its reader in the other direction."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfattn.pretrained import hugging_face
from tfattn.pretrained.hugging_face import HuggingFaceFolder
from tfattn.sharing.config_options import INVERSES, Arguments, Settings, activation_name

Values = Mapping[str, np.ndarray]

# Arguments whose default follows from other arguments, in an order in which these are known.
_DERIVED: dict[str, Callable[[Arguments], Any]] = {
    "attention_dropout": lambda arguments: arguments["dropout"],
    "embedding_dim": lambda arguments: arguments["hidden_dim"],
    "head_dim": lambda arguments: arguments["hidden_dim"] // arguments["num_heads"],
    "query_scale": lambda arguments: arguments["head_dim"] ** -0.5,
    "num_distinct_blocks": lambda arguments: arguments["num_layers"],
    "num_key_value_heads": lambda arguments: arguments["num_heads"],
}


@dataclass(frozen=True, kw_only=True)
class Architecture(hugging_face.Architecture):
    """An architecture of transformers as the counterpart of a model.

    Args:
        model_type: the architecture in config.json.
        name: the first part of the names of its classes.
        reader: the class that reads its folders; its tables of tensor names are also used for writing.
        model: the catalog name of the model.
        preprocessor: the catalog name of the preprocessor of published weights.
        skipped_positions: the number of rows at the start of the position table that no token has.
        sample_names: returns names of tensors by which the reader recognizes the variant of a model; by default the
            prefix.
        settings: returns further content of config.json for all arguments of a model.
        completed: returns the arguments and the weights, completed by those of other models of the architecture, such
            as a bias of 0.
    """

    model_type: str
    name: str
    reader: type[HuggingFaceFolder]
    model: str
    preprocessor: str
    skipped_positions: int = 0
    sample_names: Callable[[Arguments], list[str]] | None = None
    settings: Callable[[Arguments], Settings] = lambda arguments: {}
    completed: Callable[[Arguments, Values], tuple[Arguments, Values]] = lambda arguments, values: (arguments, values)

    def config(self, arguments: Arguments) -> Settings:
        """Return the content of config.json for a model: what its reader turns into the arguments of the model.

        Arguments that the architecture does not have are left out: reading the result shows the difference.

        Args:
            arguments: all arguments of the model's constructor, defaults included.
        """
        known = derived(arguments)
        constants = {key: value[0] if isinstance(value, tuple) else value for key, value in self.only.items()}
        # Of several arguments with the same key, the first counts.
        sizes = {theirs: known[ours] for ours, theirs in reversed(self.keys.items())}
        if self.skipped_positions:
            sizes[self.keys["max_sequence_length"]] += self.skipped_positions
        if known.get("num_segments") == 0 and self.model == "bert":
            sizes.pop(self.keys.get("num_segments"), None)  # transformers always adds a segment
        found = {"model_type": self.model_type, **constants, **sizes}
        if "activation" not in self.fixed:
            found[self.activation] = activation_name(
                known["activation"], self.activations, self.defaults.get(self.activation)
            )
        for option in self.options:
            found |= INVERSES[option](known)
        return found | self.settings(known)


def derived(arguments: Arguments) -> dict[str, Any]:
    """Return the arguments of a model, completed by the values that it derives from other arguments."""
    known = dict(arguments)
    for name, derive in _DERIVED.items():
        if name in known and known[name] is None:
            known[name] = derive(known)
    return known
