// The page at /: sends the form to a model, like any client, and shows the response.

import { named, showAnswer } from "./answer.js";
import { isDoubtful, line, quality } from "./card.js";
import { chatWith, writingOf } from "./chat.js";
import { element, part, show } from "./elements.js";
import { fieldsOf, hasRows, hint, requestOf, rowOf, withExample } from "./form.js";
import { ALL_MASKS } from "./masks.js";
import { ask, begin, hasToken, useToken } from "./server.js";
import { hideViews, offerViews } from "./offered_views.js";
import { NEIGHBORS, neighborsRequest, onlyRow } from "./words.js";

const RETRY = 3000; // milliseconds

let asked = null; // the request of the form: {name, path, card, fields, outputs, byRows, signatures}, or {chat}
let examplesShown = 0;
let open = listModels; // opens a form, if there is none yet

// The form

async function listModels() {
  const models = (await ask("models.json")).value;
  if (!models.length) throw new Error("This server has no models.");
  part("model").replaceChildren(...models.map(({ name }) => element("option", { value: name }, name)));
  part("model").onchange = () => attempt(() => chooseModel(models[part("model").selectedIndex]));
  await chooseModel(models[0]);
}

async function chooseModel({ name, versions, labels }) {
  clear();
  const cards = new Map(await Promise.all(versions.map(async (number) => [number, await cardOf(name, number)])));
  const choices = [
    { words: "latest", path: "", number: versions[0] },
    ...Object.entries(labels).map(([label, number]) => {
      return { words: label, path: `/labels/${encodeURIComponent(label)}`, number };
    }),
  ];
  const others = versions.length > 1 ? versions : [];
  choices.push(...others.map((number) => ({ words: "", path: `/versions/${number}`, number })));
  const options = choices.map(({ words, number }) => {
    return element("option", {}, number === undefined ? words : line(words, number, cards.get(number)));
  });
  part("version").replaceChildren(...options);
  open = () => {
    const { path, number } = choices[part("version").selectedIndex];
    return showForm(name, path, number, cards.get(number) ?? null);
  };
  part("version").onchange = () => attempt(open);
  await open();
}

/** Returns the card of a version; null if it has none, or was unloaded. */
async function cardOf(name, number) {
  try {
    return (await ask(`cards/${encodeURIComponent(name)}/${number}.json`)).value;
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

/** Removes the form and its results. */
function clear() {
  asked = null;
  part("inputs").replaceChildren();
  part("quality").textContent = "";
  part("messages").replaceChildren();
  const parts = ["failure", "notice", "answer", "command", "example", "messages", "options", "stop", "anew"];
  for (const id of parts) part(id).hidden = true;
  hideViews();
}

async function showForm(name, version, number, card) {
  clear();
  part("quality").textContent = quality(card);
  part("quality").className = isDoubtful(card) ? "warning" : "hint";
  const writing = number === undefined ? null : await writingOf(name, number);
  const path = `v1/models/${encodeURIComponent(name)}${version}`;
  const signatures = (await ask(`${path}/metadata`)).value.metadata.signature_def.signature_def;
  if (writing) return showChat(`${name}${decodeURIComponent(version)}`, writing, `${path}:predict`, signatures, card);
  if (!signatures.serving_default) throw new Error(`${name} has no signature serving_default.`);
  const { inputs, outputs } = signatures.serving_default;
  const byRows = [...Object.values(inputs), ...Object.values(outputs)].every(hasRows);
  const fields = fieldsOf(inputs, card);
  asked = { name, path, card, fields, outputs: Object.keys(outputs).sort(), byRows, signatures };
  part("inputs").replaceChildren(...fields.map(({ box }) => box));
  part("hint").textContent = hint(fields);
  part("example").hidden = !card?.examples.length;
  examplesShown = 0;
  if (card?.examples.length) showCommand(...requestFor(withExample(fields, card.examples[0], card)), EXAMPLE);
  fields[0].control.focus();
}

function showChat(model, writing, path, signatures, card) {
  const chat = chatWith(model, writing, (text) => {
    if (text === null) return hideViews();
    offerViews(model, path, signatures, [{ name: "text", json: () => JSON.stringify(text) }], {});
  });
  asked = { chat };
  part("inputs").replaceChildren(chat.field);
  part("hint").textContent = "Enter sends, Shift+Enter starts a new line";
  const { path: route, document: asking } = chat.request(card?.examples[0]?.text ?? "");
  if (card?.examples.length) showCommand(route, JSON.stringify(asking), [], EXAMPLE);
  chat.control.focus();
}

function fillInExample() {
  const { card, fields } = asked;
  const example = card.examples[examplesShown++ % card.examples.length];
  for (const { name, fill } of fields) fill(example[name] ?? null);
  part("notice").hidden = true;
  part("send").focus();
}

// Request and response

async function send() {
  if (!asked) return open();
  if (asked.chat) return asked.chat.isBlank() ? asked.chat.control.focus() : asked.chat.say(showCommand);
  const { card, fields, outputs, byRows, signatures } = asked;
  for (const { ready } of fields) await ready?.();
  const isEmpty = fields.every(({ isBlank }) => isBlank());
  part("notice").hidden = !isEmpty;
  const what = fields.some(({ isText }) => isText) ? "text" : fields.some(({ picture }) => picture) ? "image" : "row";
  part("notice").textContent = `The ${what} is empty: there is nothing to answer.`;
  if (isEmpty) return fields[0].control.focus();
  const [path, body, files] = requestFor(fields);
  showCommand(path, body, files);
  part("answer").classList.add("stale");
  const answer = await ask(path, body);
  const given = NEIGHBORS in signatures ? onlyRow(answer.value.outputs) : byRows ? answer.value.predictions[0] : answer.value.outputs;
  const row = outputs.length === 1 ? { [outputs[0]]: given } : given;
  const texts = Object.fromEntries(fields.filter(({ isText }) => isText).map(({ name, control }) => [name, control.value]));
  offerViews(asked.name, path, signatures, fields, row);
  const pictures = fields.flatMap(({ picture }) => picture?.() ?? []);
  showAnswer(row, await scoresOf(row), card, { ...answer, texts, pictures });
}

/** Returns the path and the body of the request for the values of fields, and the files in it. */
function requestFor(fields) {
  const { path, byRows, signatures } = asked;
  const masks = byRows && ALL_MASKS in signatures ? ALL_MASKS : undefined;
  const body = NEIGHBORS in signatures ? neighborsRequest(fields) : requestOf(fields, byRows, masks);
  return [`${path}:predict`, body, fields.flatMap(({ file }) => (file ? [file()] : []))];
}

/** Returns [label, score] pairs, with labels from the typed choices, the card, or the signature `classify`. */
async function scoresOf(row) {
  const { path, card, fields, signatures } = asked;
  const listed = fields.find(({ entries }) => entries)?.entries() ?? [];
  if (listed.length && row.scores?.length === listed.length) return listed.map((text, place) => [text, Number(row.scores[place])]);
  const known = named("scores", row.scores, card);
  if (known.length || !("classify" in signatures) || !fields.every(({ isPlain }) => isPlain)) return known;
  try {
    const body = `{"signature_name": "classify", "examples": [${rowOf(fields)}]}`;
    return (await ask(`${path}:classify`, body)).value.results[0].map(([label, score]) => [label, Number(score)]);
  } catch (error) {
    if (error.status) return [];
    throw error;
  }
}

// The curl command

const SAME = "The same from a shell";
const EXAMPLE = "An example from a shell";
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** Shows the curl command of a request; it reads the content of files from the disk. */
function showCommand(path, body, files = [], title = SAME) {
  part("command-title").textContent = title;
  const header = hasToken() ? '-H "Authorization: Bearer $TOKEN" ' : "";
  const address = quoted(new URL(path, document.baseURI).href);
  const read = ({ name }) => `'"$(base64 < ${quoted(name)} | tr -d '\\n')"'`;
  const whole = files.reduce((words, file) => words.replace(file.data, () => read(file)), quoted(body));
  part("curl").textContent = files.length
    ? `echo ${whole} | curl ${header}-d @- ${address}`
    : `curl ${header}-d ${whole} ${address}`;
  part("command").hidden = false;
}

async function copy() {
  try {
    await navigator.clipboard.writeText(part("curl").textContent);
  } catch {
    getSelection().selectAllChildren(part("curl")); // browsers block the clipboard on pages without TLS
    document.execCommand("copy");
  }
  part("copy").textContent = "Copied";
  setTimeout(() => (part("copy").textContent = "Copy"), 1500);
}

// Events

/** Returns the message of an assertion in the graph of a model, without graph locations; other messages unchanged. */
const said = (message) => /^assertion failed: \[(.*)\]$/m.exec(message)?.[1] ?? message;

function showFailure(error) {
  part("failure-title").textContent = error.status ? `The server answered ${error.status}` : "This did not work";
  part("failure-message").textContent = said(error.message);
  part("answer").hidden = true;
  hideViews();
  show("failure");
  if (error.status !== 401) return;
  part("access").hidden = false;
  part("token").focus();
}

/** Runs a task; a running task is cancelled. */
async function attempt(work) {
  const mine = begin();
  document.body.ariaBusy = "true";
  try {
    await work();
    part("failure").hidden = true;
  } catch (error) {
    if (mine.aborted) return;
    showFailure(error);
    if (!asked && error.status !== 401) setTimeout(() => mine.aborted || attempt(open), RETRY); // a model may be loading
  } finally {
    if (!mine.aborted) document.body.ariaBusy = "false";
  }
}

part("form").onsubmit = (event) => {
  event.preventDefault();
  if (!part("stop").hidden) return; // a text is being generated
  useToken(part("token").value.trim());
  attempt(send);
};
part("form").onkeydown = (event) => {
  if (event.key !== "Enter" || event.isComposing) return;
  const isOwn = event.shiftKey || event.target.matches("select, button, .code, .lines"); // keys with another function
  if (isOwn && !event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  part("form").requestSubmit();
};
part("example").onclick = fillInExample;
part("stop").onclick = () => attempt(async () => {}); // cancels the running task
part("anew").onclick = () => attempt(async () => asked.chat.anew());
part("copy").onclick = copy;
attempt(listModels);
