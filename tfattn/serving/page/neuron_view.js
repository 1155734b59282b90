// Neuron view: the attention weights of a token, computed from its query and the keys, component by component.

import { percent, signedColour, sized, styleColour } from "./canvas.js";
import { element } from "./elements.js";

const LINE = 20; // pixels
const LABEL = 120;
const NUMBERS = 150;
const STRIP = 190;
const SPACE = 16;

/** Shows a head of a layer; tokens are not joined to words, because words have no vectors. */
export function neuronView(part, lens, state) {
  if (!part.hasValues) {
    const why = part.hasVectors
      ? "Queries and keys are left out of a page of so long a text. Take a shorter one to see them."
      : "These weights are not made of products of queries and keys.";
    return { content: [element("p", { className: "hint" }, why)], draw() {} };
  }
  const heads = element("select", { id: "view-neuron-head" }, ...numbered(part.heads, "head"));
  const tokens = lens.rows.map(({ label }, place) => element("option", { value: place }, `${place + 1}  ${label}`));
  const query = element("select", { id: "view-neuron-token", dir: "auto" }, ...tokens);
  const canvas = element("canvas", { className: "neurons", ariaLabel: "Queries, keys and their products" });
  heads.value = [...state.heads][0] ?? 0;
  query.value = Math.min(state.token ?? 1, lens.rows.length - 1);

  function draw() {
    const [head, row] = [+heads.value, +query.value];
    state.token = row;
    if (!lens.rows[row]) return;
    const own = part.query(state.layer, head, lens.rows[row].tokens[0]);
    const keys = lens.columns.map(({ tokens: [token] }) => part.key(state.layer, head, token));
    const products = keys.map((key) => Array.from(key, (value, place) => value * own[place]));
    const weights = lens.weights(state.layer, head, row).sums;
    const kept = weights.filter((weight) => weight > 0);
    const told = (column) => {
      if (weights[column] > 0) return percent(weights[column]);
      const isLater = part.name.startsWith("decoder") && lens.columns[column].tokens[0] > lens.rows[row].tokens[0];
      return isLater ? "hidden" : `< ${percent(Math.max(0.001, Math.min(...kept)))}`;
    };
    const context = sized(canvas, LABEL + 3 * (STRIP + SPACE) + NUMBERS, LINE * (keys.length + 2));
    const ink = styleColour(canvas, "--view-ink");
    const starts = [0, 1, 2].map((strip) => LABEL + strip * (STRIP + SPACE));
    const scales = [[own], keys, products].map((vectors) => Math.max(1e-9, ...vectors.map(highest)));
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.fillStyle = ink;
    ["query q", "key k", "q × k"].forEach((title, strip) => context.fillText(title, starts[strip], LINE / 2));
    context.fillText(`Σ / √${part.width}`, starts[2] + STRIP + SPACE, LINE / 2);
    context.fillText("softmax", starts[2] + STRIP + SPACE + 62, LINE / 2);
    keys.forEach((key, column) => {
      const top = LINE * (column + 1.5);
      context.fillStyle = ink;
      context.fillText(lens.columns[column].label.slice(0, 16), 0, top + LINE / 2);
      if (column === 0) strip(context, own, starts[0], top, scales[0]);
      strip(context, key, starts[1], top, scales[1]);
      strip(context, products[column], starts[2], top, scales[2]);
      const score = products[column].reduce((one, other) => one + other, 0) / Math.sqrt(part.width);
      const right = starts[2] + STRIP + SPACE;
      context.fillStyle = ink;
      context.fillText(score.toFixed(2), right, top + LINE / 2);
      context.fillStyle = signedColour(1, 0.6);
      context.fillRect(right + 62, top + 3, 44 * Math.min(1, weights[column]), LINE - 6);
      context.fillStyle = ink;
      context.fillText(told(column), right + 64, top + LINE / 2);
    });
  }

  heads.onchange = query.onchange = draw;
  const choices = element("div", { className: "choices" }, named("Query of", query), named("Head", heads));
  const legend = element("p", { className: "hint" }, "Blue is above 0, orange below. Of each query the page keeps the largest weights only.");
  return { content: [choices, legend, element("div", { className: "wide", tabIndex: 0 }, canvas)], draw };
}

function strip(context, vector, left, top, scale) {
  const width = STRIP / vector.length;
  vector.forEach((value, place) => {
    context.fillStyle = signedColour(value, Math.abs(value) / scale);
    context.fillRect(left + place * width, top + 2, Math.max(0.8, width - 0.4), LINE - 4);
  });
}

const highest = (vector) => vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

/** Returns an option for each number, counted from 1. */
export function numbered(count, word) {
  return [...Array(count).keys()].map((place) => element("option", { value: place }, `${word} ${place + 1}`));
}

/** Returns a control with its label. */
export const named = (words, control) => element("label", { htmlFor: control.id }, `${words} `, control);
