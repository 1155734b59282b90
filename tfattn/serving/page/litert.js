// The page at /litert.html: a classifier that runs in the browser, with LiteRT.js and the LiteRT file of an export.

import { element, part, show } from "./elements.js";
import { metadata } from "./litert_file.js";
import { ask, hasToken, load, useToken } from "./server.js";
import { WordPieceReader } from "./wordpiece.js";

const RUNTIME = "/litertjs/core";
const CLASSIFIER = "classifier";
const NO_RUNTIME = "This server has no LiteRT.js. Install it (npm install @litertjs/core), and start the server with " +
  "--set litert_js=node_modules/@litertjs.";
const SIGNATURE = "serving_default";

let litert = null; // the module, after it was loaded
let model = null; // {classify, labels} of the chosen model
let open = listModels; // opens a form, if there is none yet

async function listModels() {
  const models = (await ask("models.json")).value.filter(({ versions }) => versions.length);
  if (!models.length) throw new Error("This server has no models.");
  part("model").replaceChildren(...models.map(({ name }) => element("option", { value: name }, name)));
  const choose = () => (open = () => chooseModel(models[part("model").selectedIndex]))();
  part("model").onchange = () => attempt(choose);
  const asked = models.findIndex(({ name }) => name === new URLSearchParams(location.search).get("model"));
  part("model").selectedIndex = Math.max(0, asked);
  await choose();
}

async function chooseModel({ name, versions }) {
  model = null;
  part("answer").hidden = true;
  part("inputs").replaceChildren();
  const content = await load(`litert/${encodeURIComponent(name)}/${versions[0]}.tflite`);
  model = await classifier(content);
  const fields = model.fields.map((field) => {
    const input = element("textarea", { id: `input-${field}`, rows: 3, dir: "auto" });
    return element("div", { className: "field" }, element("label", { htmlFor: input.id }, field), input);
  });
  part("inputs").replaceChildren(...fields);
  part("hint").textContent = `${(content.byteLength / 1e6).toFixed(1)} MB, ${model.precision}`;
}

/** Creates a text classifier from the content of a LiteRT file. */
export async function classifier(content) {
  const { description, files } = metadata(content);
  if (description.task !== CLASSIFIER) throw new Error(`This page runs classifiers of texts; this is a ${description.task}.`);
  const reader = new WordPieceReader(files);
  litert ??= await runtime();
  const compiled = await litert.loadAndCompile(new Uint8Array(content), { accelerator: "wasm" });
  const classify = async (...texts) => {
    const { ids, segments } = reader.sequence(...texts);
    const values = { token_ids: ids, padding_mask: ids.map(() => 1), segment_ids: segments };
    const names = compiled.signatures[SIGNATURE].getInputDetails().map(({ name }) => name);
    const inputs = Object.fromEntries(
      names.map((name) => [name, new litert.Tensor(Int32Array.from(values[name]), [1, ids.length])]),
    );
    const { logits } = await compiled.run(SIGNATURE, inputs);
    const scores = softmax([...logits.toTypedArray()]);
    for (const tensor of [logits, ...Object.values(inputs)]) tensor.delete();
    return scores;
  };
  return { classify, labels: description.entries.scores, fields: reader.fields, precision: description.precision };
}

async function runtime() {
  let module;
  try {
    module = await import(`${RUNTIME}/dist/index.js`);
  } catch {
    throw new Error(NO_RUNTIME);
  }
  await module.loadLiteRt(`${RUNTIME}/wasm/`);
  // LiteRT.js compares the shapes of tensors with the file's, whose sizes are -1; its runtime accepts any size.
  module.getGlobalLiteRt().liteRtWasm.checkTensorBufferCompatible = () => {};
  return module;
}

function softmax(logits) {
  const largest = Math.max(...logits);
  const powers = logits.map((value) => Math.exp(value - largest));
  const total = powers.reduce((sum, value) => sum + value, 0);
  return powers.map((value) => value / total);
}

async function classify() {
  const started = performance.now();
  const scores = await model.classify(...model.fields.map((field) => part(`input-${field}`).value));
  part("milliseconds").textContent = `${(performance.now() - started).toFixed(1)} ms`;
  const order = [...scores.keys()].sort((a, b) => scores[b] - scores[a]);
  part("label").textContent = model.labels[order[0]];
  const rows = order.map((index) => {
    return element("tr", {}, element("th", { dir: "auto" }, model.labels[index]), element("td", {}, scores[index].toFixed(4)));
  });
  part("scores").replaceChildren(...rows);
  show("answer");
}

/** Runs a step and shows its failure; a field for the token appears if the server requires one. */
async function attempt(step) {
  document.body.ariaBusy = "true";
  part("failure").hidden = true;
  try {
    await step();
  } catch (error) {
    part("failure-message").textContent = error.message;
    part("failure").hidden = false;
    if (error.status === 401 || hasToken()) part("access").hidden = false;
  } finally {
    document.body.ariaBusy = "false";
  }
}

part("form").onsubmit = (event) => {
  event.preventDefault();
  useToken(part("token").value);
  attempt(model ? classify : open);
};
attempt(open);
