// The predictions of a model for each [MASK] of a text.

export const ALL_MASKS = "all_masks"; // the signature with all predictions

/** Returns [token, probability] pairs for each [MASK], the most probable first; none for other models. */
export function fillings({ token_str: tokens, score: scores, masks }) {
  if (!Array.isArray(tokens?.[0]) || !Array.isArray(scores?.[0])) return [];
  return tokens.slice(0, Number(masks)).map((some, mask) => some.map((token, place) => [token, Number(scores[mask][place])]));
}

/** Returns the text with the most probable token for its only [MASK]; for several, these tokens. */
export const filledText = (row, filled) =>
  filled.length === 1 ? row.sequence[0][0] : filled.map(([[best]]) => best).join(" … ");
