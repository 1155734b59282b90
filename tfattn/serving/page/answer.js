// The response: the label or the text, its warnings, and every number with its name.

import { element, part, show } from "./elements.js";
import { marksOf } from "./marks.js";
import { filledText, fillings } from "./masks.js";
import { asItCame } from "./server.js";
import { nearestWords } from "./words.js";

const MOST_BARS = 12;
const LONG = 60; // characters of a headline
const TITLES = {
  __proto__: null,
  column_attention: "Attention to each column",
  essential_features: "Essential features",
};

/** Shows a response: a row of outputs, and the [label, score] pairs of a classifier. */
export function showAnswer(row, scores, card, { text, milliseconds, texts = {}, pictures = [] }) {
  const filled = fillings(row);
  const nearest = nearestWords(row);
  const ranked = filled.length === 1 ? filled[0] : nearest.length ? nearest : descending(scores);
  const given = labelsOf(row, scores);
  const marks = marksOf(row, texts);
  const headline = given ? given.join(", ") || "(no label)" : (marks?.headline ?? headlineOf(row, ranked, filled));
  part("label").textContent = headline || "(an empty text)";
  part("label").classList.toggle("long", headline.length > LONG);
  part("milliseconds").textContent = `${milliseconds.toFixed(milliseconds < 100 ? 1 : 0)} ms`;
  const warnings = Object.entries(row).flatMap(([name, value]) => WARNINGS[name]?.(value, card) ?? []);
  part("marks").replaceChildren(...pictures, ...(marks ? [marks.element] : []));
  part("warnings").replaceChildren(...warnings.map((words) => element("p", { className: "warning" }, words)));
  part("scores").replaceChildren(...bars(ranked, { whole: Math.max(1, ...numbers(ranked)), chosen: given ?? [headline, filled[0]?.[0][0]] }));
  part("more").textContent = ranked.length > MOST_BARS ? leftOut(ranked) : "";
  part("threshold").textContent = [threshold(card, given), predictionSet(row, scores, card)].filter(Boolean).join(" ");

  const groups = Object.entries(row).map(([name, value]) => [name, named(name, value, card)]);
  const shown = groups.filter(([name, pairs]) => !["scores", "is_label", "in_prediction_set"].includes(name) && pairs.length);
  const ofMasks = filled.length > 1 ? filled.map((pairs, mask) => group(`[MASK] ${mask + 1}`, pairs, 1)) : [];
  part("groups").replaceChildren(...ofMasks, ...shown.map(([name, pairs]) => group(name, pairs)));
  const told = new Set([...shown.map(([name]) => name), ...Object.keys(WARNINGS)]);
  if ("label" in row || "choice" in row) told.add("label").add("choice").add("label_id");
  else if (isText(row.text)) told.add("text");
  if (scores.length) told.add("scores").add("probability"); // the score of the label
  if (given) told.add("is_label");
  if (scores.length) told.add("in_prediction_set");
  if (nearest.length) told.add("word").add("score");
  if (filled.length) ["masks", "score", "sequence", "token", "token_str"].forEach((name) => told.add(name));
  if (isNumber(row.prediction)) told.add("prediction");
  for (const name of marks?.told ?? []) told.add(name);
  const others = Object.entries(row).filter(([name]) => !told.has(name));
  part("outputs").hidden = !others.length;
  part("outputs").tBodies[0].replaceChildren(...others.map(([name, value]) => outputRow(name, value)));
  part("raw").textContent = text;
  show("answer");
}

/** Returns [name, number] pairs of an output's entries; none if the card does not name all entries. */
export function named(output, values, card) {
  if (!Array.isArray(values)) return [];
  if (output === "essential_features") return values.map((value, place) => [`${place + 1}`, Number(value)]);
  const known = card && Object.hasOwn(card.entries, output) ? card.entries[output] : [];
  return known.length === values.length ? known.map((name, place) => [name, Number(values[place])]) : [];
}

// The warnings of an output for a value; none if there is nothing to report.
const WARNINGS = {
  __proto__: null,
  truncated(value, card) {
    const limits = Object.values(card?.inputs ?? {}).map(({ max_tokens: limit }) => limit ?? 0);
    const where = Math.max(...limits) > 0 ? ` after ${Math.max(...limits)} tokens` : "";
    return value === true ? [`The text was cut${where}: the model did not read the rest.`] : [];
  },
  outside_training_range(value, card) {
    return listed(value).map((name) => {
      const { low, high, may_be_missing: isAtTimesMissing } = card?.inputs[name] ?? {};
      const range = typeof low === "number" ? `, ${low} to ${high}${isAtTimesMissing ? "" : " and never missing"}` : "";
      return `${name} is outside of what the model was trained on${range}.`;
    });
  },
  unknown_categories(value) {
    return listed(value).map((name) => `${name} is as it was in no training row.`);
  },
};

/** Returns the labels of a row of a multi-label model; undefined for other models. */
const labelsOf = ({ is_label: isLabel }, scores) => masked(scores, isLabel);

const masked = (scores, mask) =>
  Array.isArray(mask) && mask.length === scores.length ? scores.filter((_, place) => mask[place]).map(([name]) => name) : undefined;

/** Returns the main output of a model: a label, a number or a text. */
function headlineOf(row, ranked, filled) {
  if (filled.length) return filledText(row, filled);
  if (isNumber(row.prediction)) return String(Number(Number(row.prediction).toPrecision(6)));
  return String(row.label ?? row.choice ?? (isText(row.text) ? row.text : ranked[0]?.[0]) ?? "Answer");
}

const isText = (value) => typeof value === "string";
const isNumber = (value) => typeof value === "number" || (isText(value) && value !== "" && Number.isFinite(Number(value)));
const numbers = (pairs) => pairs.map(([, number]) => Math.abs(number));
const descending = (pairs) => pairs.toSorted(([, one], [, other]) => other - one);
const listed = (value) => (isText(value) && value ? value.split(", ") : []);
const leftOut = (pairs) => `and ${pairs.length - MOST_BARS} more with smaller numbers`;

/** Returns a sentence with the labels of the prediction set; "" for other models. */
function predictionSet(row, scores, card) {
  const labels = masked(scores, row.in_prediction_set);
  if (!labels) return "";
  const coverage = typeof card?.coverage === "number" ? ` (coverage ${Number((100 * card.coverage).toPrecision(4))} %)` : "";
  return `Prediction set${coverage}: ${labels.join(", ") || "empty, no label has a high enough score"}.`;
}

function threshold(card, given) {
  if (given && typeof card?.threshold === "number") {
    return `A label is given from a score of ${card.threshold.toPrecision(3)} on.`;
  }
  if (typeof card?.threshold !== "number" || !isText(card.positive)) return "";
  return `“${card.positive}” is given from a score of ${card.threshold.toPrecision(3)} on.`;
}

function group(output, pairs, whole = Math.max(...numbers(pairs)) || 1) {
  const title = TITLES[output] ?? output;
  const ranked = output === "essential_features" ? pairs : descending(pairs);
  const list = element("ol", { className: "scores", ariaLabel: title });
  list.append(...bars(ranked, { whole }));
  const more = ranked.length > MOST_BARS ? [element("p", { className: "hint" }, leftOut(ranked))] : [];
  return element("section", {}, element("h3", {}, title), list, ...more);
}

/** Returns a line for each pair: name, bar, number. The bar of the number `whole` has the full length. */
function bars(pairs, { whole, chosen = [] }) {
  return pairs.slice(0, MOST_BARS).map(([name, number]) => {
    const filled = element("span", { className: "filled" });
    filled.style.inlineSize = `${(100 * Math.abs(number)) / whole}%`;
    const words = element("span", { className: "name", dir: "auto" }, name);
    const track = element("span", { className: "track", ariaHidden: "true" }, filled);
    const line = element("li", {}, words, track, element("span", { className: "number" }, short(number)));
    line.classList.toggle("chosen", chosen.includes(name));
    line.classList.toggle("negative", number < 0);
    return line;
  });
}

/** Formats a number with three decimals, smaller numbers as less than the smallest. */
function short(number) {
  const rounded = Number(number.toFixed(3)) || 0; // neither -0 nor NaN
  return rounded === 0 && number > 0 ? "<0.001" : rounded.toFixed(3);
}

function outputRow(name, value) {
  const words = isText(value) ? value : JSON.stringify(value, null, 1);
  const line = words.replace(/(?<=[[{])\n\s*|\n\s*(?=[\]}])/g, "").replace(/,\n\s*/g, ", ");
  const cell = element("td", {}, element("div", { className: "value", dir: "auto" }, asItCame(line)));
  return element("tr", {}, element("th", { scope: "row" }, name), cell);
}
