// The nearest neighbors of a word.

export const NEIGHBORS = "neighbors"; // the signature with the neighbors
const FEW = 10;

/** Returns a request for neighbors; by inputs, because the number of neighbors is not an input of rows. */
export const neighborsRequest = ([{ json }]) =>
  `{"signature_name": "${NEIGHBORS}", "inputs": {"word": [${json()}], "k": ${FEW}}}`;

/** Returns the outputs of the only row, by name. */
export const onlyRow = (outputs) => Object.fromEntries(Object.entries(outputs).map(([name, [row]]) => [name, row]));

/** Returns [word, cosine] pairs, the most similar first; none for other models. */
export function nearestWords({ word: words, score: scores }) {
  if (!Array.isArray(words) || !Array.isArray(scores) || words.length !== scores.length) return [];
  return words.map((word, place) => [word, Number(scores[place])]);
}
