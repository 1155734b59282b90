// The page at /: asks a model what is typed, as any client would, and shows what it answers.

const MOST_SCORES = 12;
const INTEGER = /^DT_U?INT\d+$/;
const NUMBER = /^DT_(U?INT\d+|FLOAT|DOUBLE|HALF|BFLOAT16)$/;
// What JSON.parse refuses or rounds: the server's not-a-numbers, and integers beyond 2^53. Strings are passed over.
const MISREAD = /"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

const part = (id) => document.getElementById(id);
let token = ""; // in memory only
let underWay = new AbortController();
let asked = null; // what the form asks: {path, fields, outputs, byRows, classifies}

/** What the server answers: the text as it came, what it means, and how long it took. An error has the HTTP status. */
async function ask(path, body) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const method = body === undefined ? "GET" : "POST";
  const started = performance.now();
  const response = await fetch(path, { method, body, headers, cache: "no-store", signal: underWay.signal });
  const text = await response.text();
  const milliseconds = performance.now() - started;
  if (!response.ok) throw Object.assign(new Error(errorIn(text)), { status: response.status });
  const value = JSON.parse(text.replace(MISREAD, (word) => (word[0] === '"' ? word : `"${word}"`)));
  return { text, value, milliseconds };
}

function errorIn(text) {
  try {
    return JSON.parse(text).error ?? text;
  } catch {
    return text;
  }
}

/** An element with properties and children. Strings become text, never markup. */
function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// The form

async function listModels() {
  const models = (await ask("models.json")).value;
  if (!models.length) throw new Error("This server has no models.");
  part("model").replaceChildren(...models.map(({ name }) => element("option", { value: name }, name)));
  part("model").onchange = () => attempt(() => chooseModel(models[part("model").selectedIndex]));
  await chooseModel(models[0]);
}

async function chooseModel({ name, versions, labels }) {
  const latest = versions.length ? `latest (${Math.max(...versions)})` : "latest";
  const choices = [[latest, ""], ...labels.map((label) => [label, `/labels/${encodeURIComponent(label)}`])];
  if (versions.length > 1) choices.push(...versions.map((number) => [`${number}`, `/versions/${number}`]));
  part("version").replaceChildren(...choices.map(([words, path]) => element("option", { value: path }, words)));
  part("version").onchange = () => attempt(() => showForm(name));
  await showForm(name);
}

async function showForm(name) {
  asked = null;
  part("inputs").replaceChildren();
  for (const id of ["failure", "answer", "command"]) part(id).hidden = true;
  const path = `v1/models/${encodeURIComponent(name)}${part("version").value}`;
  const signatures = (await ask(`${path}/metadata`)).value.metadata.signature_def.signature_def;
  if (!signatures.serving_default) throw new Error(`${name} has no signature serving_default.`);
  const { inputs, outputs } = signatures.serving_default;
  const byRows = [...Object.values(inputs), ...Object.values(outputs)].every(hasRows);
  const fields = Object.keys(inputs).sort().map((key, index) => field(key, inputs[key], `input-${index}`));
  asked = { path, fields, outputs: Object.keys(outputs).sort(), byRows, classifies: "classify" in signatures };
  part("inputs").replaceChildren(...fields.map(({ box }) => box));
  part("hint").textContent = hint(fields);
  fields[0].control.focus();
}

function hint(fields) {
  if (fields.some(({ isText }) => isText)) return "Enter sends, Shift+Enter starts a new line";
  return fields.every(({ isPlain }) => isPlain) ? "Enter sends" : "Ctrl+Enter sends";
}

/** A tensor's dimensions, -1 where any size is right; undefined where even the rank is. */
const sizes = ({ tensor_shape: shape }) => (shape.unknown_rank ? undefined : shape.dim.map(({ size }) => +size));

/** Whether a tensor has an entry for each row of a request. */
const hasRows = (tensor) => !sizes(tensor) || sizes(tensor)[0] === -1;

/** An input's labelled control, and what it puts into a request: JSON, as it was typed where that is JSON. */
function field(name, tensor, id) {
  const inner = hasRows(tensor) ? sizes(tensor)?.slice(1) : sizes(tensor);
  const isText = tensor.dtype === "DT_STRING" && inner?.length === 0;
  const isNumber = NUMBER.test(tensor.dtype) && inner?.length === 0;
  const isInteger = INTEGER.test(tensor.dtype);
  const type = tensor.dtype.slice(3).toLowerCase();
  const shape = inner ? `[${inner.map((size) => (size < 0 ? "?" : size)).join(", ")}]` : "";
  const kind = isText ? "" : isNumber ? type : `JSON, ${type} ${shape}`;
  const control = isNumber
    ? element("input", { id, type: "number", step: isInteger ? "1" : "any", required: true })
    : element("textarea", { id, rows: 4, required: !isText, spellcheck: isText });
  control.enterKeyHint = "send";
  control.placeholder = isText ? "Type or paste a text" : "";
  control.classList.toggle("code", !isText && !isNumber);
  const json = () => {
    if (isText) return JSON.stringify(control.value);
    if (isNumber && !isInteger) return String(Number(control.value));
    try {
      JSON.parse(control.value);
    } catch (error) {
      throw new Error(`${name} is not JSON: ${error.message}`);
    }
    return control.value.trim();
  };
  const label = element("label", { htmlFor: id }, name, " ", element("span", { className: "kind" }, kind));
  const box = element("div", { className: "field" }, label, control);
  return { name, control, json, box, isText, isPlain: isText || isNumber, wrap: hasRows(tensor) };
}

const object = (entries) => `{${entries.map(([name, json]) => `${JSON.stringify(name)}: ${json}`).join(", ")}}`;
const example = () => object(asked.fields.map(({ name, json }) => [name, json()]));

function requestBody() {
  const { fields, byRows } = asked;
  if (byRows) return `{"instances": [${fields.length === 1 ? fields[0].json() : example()}]}`;
  return `{"inputs": ${object(fields.map(({ name, json, wrap }) => [name, wrap ? `[${json()}]` : json()]))}}`;
}

// The answer

async function send() {
  if (!asked) return part("model").value ? showForm(part("model").value) : listModels();
  const { path, outputs, byRows } = asked;
  const body = requestBody();
  showCommand(`${path}:predict`, body);
  part("answer").classList.add("stale");
  const { text, value, milliseconds } = await ask(`${path}:predict`, body);
  const given = byRows ? value.predictions[0] : value.outputs;
  showAnswer(outputs.length === 1 ? { [outputs[0]]: given } : given, await namedScores(), text, milliseconds);
}

/** [label, score] pairs, highest first; none where the signature that names them wants other features. */
async function namedScores() {
  if (!asked.classifies || !asked.fields.every(({ isPlain }) => isPlain)) return [];
  try {
    const body = `{"signature_name": "classify", "examples": [${example()}]}`;
    const pairs = (await ask(`${asked.path}:classify`, body)).value.results[0];
    return pairs.map(([label, score]) => [label, Number(score)]).sort(([, one], [, other]) => other - one);
  } catch (error) {
    if (error.status) return [];
    throw error;
  }
}

function showAnswer(row, scores, text, milliseconds) {
  part("label").textContent = row.label ?? scores[0]?.[0] ?? "Answer";
  part("milliseconds").textContent = `${milliseconds.toFixed(milliseconds < 100 ? 1 : 0)} ms`;
  const whole = Math.max(1, ...scores.map(([, score]) => score));
  part("scores").replaceChildren(...scores.slice(0, MOST_SCORES).map(([label, score]) => bar(label, score, whole)));
  part("more").hidden = scores.length <= MOST_SCORES;
  part("more").textContent = `and ${scores.length - MOST_SCORES} more labels with lower scores`;
  part("outputs").hidden = scores.length > 0;
  part("outputs").tBodies[0].replaceChildren(...Object.entries(row).map(([name, value]) => outputRow(name, value)));
  part("raw").textContent = text;
  show("answer");
}

function bar(label, score, whole) {
  const filled = element("span", { className: "filled" });
  filled.style.inlineSize = `${(100 * Math.max(0, score)) / whole}%`;
  const name = element("span", { className: "name" }, label);
  const track = element("span", { className: "track", ariaHidden: "true" }, filled);
  return element("li", {}, name, track, element("span", { className: "number" }, score.toFixed(3)));
}

function outputRow(name, value) {
  const words = typeof value === "string" ? value : JSON.stringify(value, null, 1);
  const line = words.replace(/(?<=[[{])\n\s*|\n\s*(?=[\]}])/g, "").replace(/,\n\s*/g, ", ");
  const exact = line.replace(/"(-?Infinity|NaN|-?\d{16,})"/g, "$1"); // as they came, before MISREAD
  const cell = element("td", {}, element("div", { className: "value" }, exact));
  return element("tr", {}, element("th", { scope: "row" }, name), cell);
}

function show(id) {
  part(id).hidden = false;
  part(id).classList.remove("stale");
  part(id).scrollIntoView({ block: "nearest" });
}

// The command

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

function showCommand(path, body) {
  const header = token ? '-H "Authorization: Bearer $TOKEN" ' : "";
  part("curl").textContent = `curl ${header}-d ${quoted(body)} ${quoted(new URL(path, document.baseURI).href)}`;
  part("command").hidden = false;
}

async function copy() {
  try {
    await navigator.clipboard.writeText(part("curl").textContent);
  } catch {
    getSelection().selectAllChildren(part("curl")); // browsers keep the clipboard from pages that came without TLS
    document.execCommand("copy");
  }
  part("copy").textContent = "Copied";
  setTimeout(() => (part("copy").textContent = "Copy"), 1500);
}

// What happens when

function showFailure(error) {
  part("failure-title").textContent = error.status ? `The server answered ${error.status}` : "This did not work";
  part("failure-message").textContent = error.message;
  part("answer").hidden = true;
  show("failure");
  if (error.status !== 401) return;
  part("access").hidden = false;
  part("token").focus();
}

/** Does one thing at a time: a newer one ends the one under way. */
async function attempt(work) {
  underWay.abort();
  const mine = (underWay = new AbortController());
  document.body.ariaBusy = "true";
  try {
    await work();
    part("failure").hidden = true;
  } catch (error) {
    if (mine.signal.aborted) return;
    showFailure(error);
  } finally {
    if (mine === underWay) document.body.ariaBusy = "false";
  }
}

part("form").onsubmit = (event) => {
  event.preventDefault();
  token = part("token").value.trim();
  attempt(send);
};
part("form").onkeydown = (event) => {
  const inText = event.target.tagName === "TEXTAREA" && event.key === "Enter" && !event.isComposing;
  const startsLine = event.shiftKey || (event.target.classList.contains("code") && !event.ctrlKey && !event.metaKey);
  if (!inText || startsLine) return;
  event.preventDefault();
  part("form").requestSubmit();
};
part("copy").onclick = copy;
attempt(listModels);
