"""What a request orders: a row for each text that is wanted, with all that writing it needs to know."""

import contextlib
import secrets
from collections.abc import Iterator

from tfattn.errors import ServingError
from tfattn.guidance.guides import Guides
from tfattn.serving.api.failure import invalid
from tfattn.serving.generation.description import Description
from tfattn.serving.generation.prompts import Model, Prompts, is_chat
from tfattn.serving.generation.request import Prompt, Request
from tfattn.serving.generation.row import Row
from tfattn.serving.generation.token_rules import TokenRules

SEEDS_APART = 0x9E3779B9  # of texts of one prompt


class Orders:
    """Turns requests into rows; any thread may ask.

    Args:
        model: the model, which has a signature `tokenize`.
        description: what its export says of it.
        has_drafts: whether the next tokens of rows are guessed.

    Attributes:
        prompts: what turns prompts into tokens.
    """

    def __init__(self, model: Model, description: Description, *, has_drafts: bool):
        self.prompts = Prompts(model, description)
        self._description, self._has_drafts = description, has_drafts
        self._guides = Guides(description.token_bytes)

    def rows(self, request: Request) -> list[Row]:
        """Return the rows of a request: prompt by prompt, n of each.

        Raises:
            Failure: INVALID_ARGUMENT, a prompt does not do, or no text can be as is asked.
        """
        settings = request.complete(self._description.defaults)
        seed = secrets.randbits(32) if request.seed is None else request.seed
        context, defaults = self._description.context, self._description.defaults
        self._check_token_ids(request)
        wanted = int(request.max_new_tokens or defaults.get("max_new_tokens") or context)
        token_ids = map(self.prompts.token_ids, request.prompts)
        banned = self.prompts.written_as(request.bad_words)
        with _refused():
            return [
                Row(
                    number * request.n + choice,
                    prompt_ids,
                    settings=settings,
                    seed=seed + choice * SEEDS_APART,
                    limit=min(wanted, context - len(prompt_ids)),
                    end_ids=rules.end_ids,
                    stops=request.stop,
                    likeliest=request.likeliest,
                    # A stop token may be a part of a guided text, which then ends in the middle.
                    guide=self._guides.of(request.guided, end_ids=rules.end_ids.difference(request.stop_token_ids)),
                    rules=rules,
                    vocabulary_size=self._description.vocabulary_size,
                    logit_bias=request.logit_bias,
                    has_drafts=self._has_drafts,
                )
                for number, (prompt, prompt_ids) in enumerate(zip(request.prompts, token_ids, strict=True))
                for rules in [self._rules(request, prompt, banned)]
                for choice in range(request.n)
            ]

    def _rules(self, request: Request, prompt: Prompt, banned: tuple[tuple[int, ...], ...]) -> TokenRules:
        ends = frozenset() if request.ignore_eos else self._description.ends(of_chat=is_chat(prompt))
        return TokenRules(
            allowed_ids=request.allowed_token_ids,
            banned=banned,
            min_tokens=request.min_tokens,
            end_ids=ends.union(request.stop_token_ids),
        )

    def _check_token_ids(self, request: Request) -> None:
        size = self._description.vocabulary_size
        for name in ("stop_token_ids", "allowed_token_ids", "logit_bias"):
            if wrong := [token_id for token_id in getattr(request, name) or () if token_id >= size]:
                raise invalid(f"{name}: expected tokens of the vocabulary, from 0 to {size - 1}, received {wrong[0]}")
        if request.logit_bias and not self._description.takes_logit_bias:
            raise invalid("logit_bias: this export of the model cannot take it; export the model again")


@contextlib.contextmanager
def _refused() -> Iterator[None]:
    try:
        yield
    except ServingError as error:
        raise invalid(str(error)) from None
