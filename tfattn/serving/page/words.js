// The words nearest to a word.

export const NEIGHBORS = "neighbors"; // the signature that tells them
const FEW = 10;

/** The request to that signature; by inputs, because how many words are wanted is not said row by row. */
export const neighborsRequest = ([{ json }]) =>
  `{"signature_name": "${NEIGHBORS}", "inputs": {"word": [${json()}], "k": ${FEW}}}`;

/** What was answered to the only row, by output. */
export const onlyRow = (outputs) => Object.fromEntries(Object.entries(outputs).map(([name, [row]]) => [name, row]));

/** [word, cosine] pairs, best first; none where a model tells no words. */
export function nearestWords({ word: words, score: scores }) {
  if (!Array.isArray(words) || !Array.isArray(scores) || words.length !== scores.length) return [];
  return words.map((word, place) => [word, Number(scores[place])]);
}
