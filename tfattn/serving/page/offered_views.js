// The attention views of a request, loaded on demand.

import { element, part } from "./elements.js";
import { rowOf } from "./form.js";
import { ask } from "./server.js";
import { showViews } from "./views.js";
import { answered } from "./weights.js";

const NAMES = ["attention", "attention_vectors", "attributions"];
let question = null; // {title, path, bodies}

/**
 * Offers the attention views of a response; hides the offer if the model has no signature for them.
 * For a translation, the request has the generated text.
 */
export function offerViews(title, path, signatures, fields, row) {
  const written = { name: "target", json: () => JSON.stringify(row.text) };
  const bodies = NAMES.filter((name) => name in signatures).map((name) => {
    const given = [...fields, written].filter((field) => field.name in signatures[name].inputs);
    return [name, `{"signature_name": "${name}", "instances": [${rowOf(given)}]}`];
  });
  question = bodies.some(([name]) => name === "attention") ? { title, path, bodies } : null;
  hideViews();
  part("looked").hidden = question === null;
}

export function hideViews() {
  part("looked").hidden = true;
  part("looked").open = false;
  part("looked-views").replaceChildren();
}

async function showOffered() {
  if (!part("looked").open || !question || part("looked-views").childElementCount) return;
  const asked = question;
  const waiting = element("p", { className: "hint" }, "Asking for the weights of all layers and heads…");
  part("looked-views").replaceChildren(waiting);
  try {
    const found = {};
    for (const [name, body] of asked.bodies) found[name] = (await ask(asked.path, body)).value.predictions[0];
    if (asked !== question) return;
    if (found.attention.truncated === true) waiting.textContent = "The text is longer than the model reads.";
    else showViews(part("looked-views"), answered(asked.title, ...NAMES.map((name) => found[name])));
  } catch (error) {
    if (asked === question) waiting.textContent = error.message;
  }
}

part("looked").ontoggle = showOffered;
