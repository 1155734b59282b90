// Highlights in the input text: entities in colors, or the answer to a question.

import { element } from "./elements.js";

const TAGGED = ["entities", "labels", "start", "end", "score", "length"];
const ANSWERED = ["answer", "start", "end"];
const TURN = 137.508; // degrees between the hues of consecutive labels

/**
 * Returns the text with highlights, a sentence about it, and the names of the outputs that it shows; null without
 * highlights. `texts` are the input texts by name.
 */
export function marksOf(row, texts) {
  const asked = Object.values(texts);
  if (TAGGED.every((name) => name in row) && Array.isArray(row.labels) && asked.length) {
    const found = row.labels.slice(0, row.length).map((label, place) => {
      return { start: row.start[place], end: row.end[place], label, score: row.score[place] };
    });
    const headline = found.length === 1 ? "1 entity" : `${found.length || "No"} entities`;
    return { headline, element: marked(asked[0], found), told: TAGGED };
  }
  if (ANSWERED.every((name) => name in row) && typeof row.answer === "string") {
    const { answer, start, end, score } = row;
    const text = asked.findLast((one) => [...one].slice(start, end).join("") === answer);
    if (text === undefined) return null;
    const found = answer ? [{ start, end, label: "", score }] : [];
    return { headline: answer || "No answer", element: marked(text, found), told: ANSWERED };
  }
  return null;
}

/** Creates a paragraph; positions count code points, as in responses. */
function marked(text, found) {
  const characters = [...text];
  const box = element("p", { className: "marked", dir: "auto" });
  let behind = 0;
  for (const { start, end, label, score } of found) {
    const words = characters.slice(start, end).join("");
    const mark = element("mark", { title: `${label} ${Number(score).toFixed(3)}`.trim() }, words);
    if (label) mark.append(" ", element("small", {}, label));
    mark.style.setProperty("--hue", `${hue(label)}`);
    box.append(characters.slice(behind, start).join(""), mark);
    behind = end;
  }
  box.append(characters.slice(behind).join(""));
  return box;
}

/** Returns the color of a label, which is the same in all texts. */
function hue(label) {
  const sum = [...label].reduce((total, one, place) => total + one.codePointAt(0) * (place + 1), 0);
  return Math.round(210 + sum * TURN) % 360;
}
