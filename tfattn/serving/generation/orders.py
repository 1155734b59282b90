"""What a request orders: a row for each text that is wanted, with all that writing it needs to know."""

import secrets

from tfattn.errors import ServingError
from tfattn.guidance.guide import Guide
from tfattn.guidance.guides import Guides
from tfattn.serving.api.failure import invalid
from tfattn.serving.generation.description import Description
from tfattn.serving.generation.prompts import Model, Prompts, is_chat
from tfattn.serving.generation.request import Prompt, Request
from tfattn.serving.generation.row import Row

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
        wanted = int(request.max_new_tokens or defaults.get("max_new_tokens") or context)
        token_ids = map(self.prompts.token_ids, request.prompts)
        return [
            Row(
                number * request.n + choice,
                prompt_ids,
                settings=settings,
                seed=seed + choice * SEEDS_APART,
                limit=min(wanted, context - len(prompt_ids)),
                end_ids=end_ids,
                stops=request.stop,
                likeliest=request.likeliest,
                guide=self._guide(request, end_ids),
                has_drafts=self._has_drafts,
            )
            for number, (prompt, prompt_ids) in enumerate(zip(request.prompts, token_ids, strict=True))
            for end_ids in [self._ends(request, prompt)]
            for choice in range(request.n)
        ]

    def _ends(self, request: Request, prompt: Prompt) -> frozenset[int]:
        return frozenset() if request.ignores_end else self._description.ends(of_chat=is_chat(prompt))

    def _guide(self, request: Request, end_ids: frozenset[int]) -> Guide | None:
        try:
            return self._guides.of(request.guided, end_ids=end_ids)
        except ServingError as error:
            raise invalid(str(error)) from None
