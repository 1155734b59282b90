// What a model fills in for each [MASK] of a text.

export const ALL_MASKS = "all_masks"; // the signature that tells it

/** [token, probability] pairs of each [MASK], best first; none where a model fills in nothing. */
export function fillings({ token_str: tokens, score: scores, masks }) {
  if (!Array.isArray(tokens?.[0]) || !Array.isArray(scores?.[0])) return [];
  return tokens.slice(0, Number(masks)).map((some, mask) => some.map((token, place) => [token, Number(scores[mask][place])]));
}

/** The text with the likeliest token of its only [MASK]; of several, these tokens. */
export const filledText = (row, filled) =>
  filled.length === 1 ? row.sequence[0][0] : filled.map(([[best]]) => best).join(" … ");
