// The page at /: asks a model what is typed, as any client would, and shows what it answers.

import { named, showAnswer } from "./answer.js";
import { isDoubtful, line, quality } from "./card.js";
import { chatWith, writingOf } from "./chat.js";
import { element, part, show } from "./elements.js";
import { fieldsOf, hasRows, hint, requestOf, rowOf } from "./form.js";
import { ALL_MASKS } from "./masks.js";
import { ask, begin, hasToken, useToken } from "./server.js";
import { hideViews, offerViews } from "./offered_views.js";
import { NEIGHBORS, neighborsRequest, onlyRow } from "./words.js";

let asked = null; // what the form asks: {name, path, card, fields, outputs, byRows, signatures}, or {chat}
let examplesShown = 0;
let open = listModels; // what leads to a form, where there is none yet

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

/** The card of a version; null where it has none, or has just gone. */
async function cardOf(name, number) {
  try {
    return (await ask(`cards/${encodeURIComponent(name)}/${number}.json`)).value;
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

/** Takes the form away, with all that was asked by it. */
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
  if (writing) return showChat(`${name}${decodeURIComponent(version)}`, writing, `${path}:predict`, signatures);
  if (!signatures.serving_default) throw new Error(`${name} has no signature serving_default.`);
  const { inputs, outputs } = signatures.serving_default;
  const byRows = [...Object.values(inputs), ...Object.values(outputs)].every(hasRows);
  const fields = fieldsOf(inputs, card);
  asked = { name, path, card, fields, outputs: Object.keys(outputs).sort(), byRows, signatures };
  part("inputs").replaceChildren(...fields.map(({ box }) => box));
  part("hint").textContent = hint(fields);
  part("example").hidden = !card?.examples.length;
  examplesShown = 0;
  fields[0].control.focus();
}

function showChat(model, writing, path, signatures) {
  const chat = chatWith(model, writing, (text) => {
    if (text === null) return hideViews();
    offerViews(model, path, signatures, [{ name: "text", json: () => JSON.stringify(text) }], {});
  });
  asked = { chat };
  part("inputs").replaceChildren(chat.field);
  part("hint").textContent = "Enter sends, Shift+Enter starts a new line";
  chat.control.focus();
}

function fillInExample() {
  const { card, fields } = asked;
  const example = card.examples[examplesShown++ % card.examples.length];
  for (const { name, fill } of fields) fill(example[name] ?? null);
  part("notice").hidden = true;
  part("send").focus();
}

// The question and the answer

async function send() {
  if (!asked) return open();
  if (asked.chat) return asked.chat.isBlank() ? asked.chat.control.focus() : asked.chat.say(showCommand);
  const { path, card, fields, outputs, byRows, signatures } = asked;
  for (const { ready } of fields) await ready?.();
  const isEmpty = fields.every(({ isBlank }) => isBlank());
  part("notice").hidden = !isEmpty;
  const what = fields.some(({ isText }) => isText) ? "text" : fields.some(({ picture }) => picture) ? "image" : "row";
  part("notice").textContent = `The ${what} is empty: there is nothing to answer.`;
  if (isEmpty) return fields[0].control.focus();
  const nears = NEIGHBORS in signatures;
  const masks = byRows && ALL_MASKS in signatures ? ALL_MASKS : undefined;
  const body = nears ? neighborsRequest(fields) : requestOf(fields, byRows, masks);
  showCommand(`${path}:predict`, body, fields.flatMap(({ file }) => (file ? [file()] : [])));
  part("answer").classList.add("stale");
  const answer = await ask(`${path}:predict`, body);
  const given = nears ? onlyRow(answer.value.outputs) : byRows ? answer.value.predictions[0] : answer.value.outputs;
  const row = outputs.length === 1 ? { [outputs[0]]: given } : given;
  const texts = Object.fromEntries(fields.filter(({ isText }) => isText).map(({ name, control }) => [name, control.value]));
  offerViews(asked.name, `${path}:predict`, signatures, fields, row);
  const pictures = fields.flatMap(({ picture }) => picture?.() ?? []);
  showAnswer(row, await scoresOf(row), card, { ...answer, texts, pictures });
}

/** [label, score] pairs: by the texts that were asked about, by the card, or by the signature that names them. */
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

// The command

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The command that sends a request; of files that are in it, it reads what they hold. */
function showCommand(path, body, files = []) {
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
    getSelection().selectAllChildren(part("curl")); // browsers keep the clipboard from pages that came without TLS
    document.execCommand("copy");
  }
  part("copy").textContent = "Copied";
  setTimeout(() => (part("copy").textContent = "Copy"), 1500);
}

// What happens when

/** What a model says that refuses a text, without the places in its graph; else the server's own words. */
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

/** Does one thing at a time: a newer one ends the one under way. */
async function attempt(work) {
  const mine = begin();
  document.body.ariaBusy = "true";
  try {
    await work();
    part("failure").hidden = true;
  } catch (error) {
    if (mine.aborted) return;
    showFailure(error);
  } finally {
    if (!mine.aborted) document.body.ariaBusy = "false";
  }
}

part("form").onsubmit = (event) => {
  event.preventDefault();
  if (!part("stop").hidden) return; // a text is being written
  useToken(part("token").value.trim());
  attempt(send);
};
part("form").onkeydown = (event) => {
  if (event.key !== "Enter" || event.isComposing) return;
  const isOwn = event.shiftKey || event.target.matches("select, button, .code, .lines"); // a new line, a list, a click
  if (isOwn && !event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  part("form").requestSubmit();
};
part("example").onclick = fillInExample;
part("stop").onclick = () => attempt(async () => {}); // which ends what is under way
part("anew").onclick = () => attempt(async () => asked.chat.anew());
part("copy").onclick = copy;
attempt(listModels);
