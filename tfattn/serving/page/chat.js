// A chat with a language model; a model without a chat template continues a text.

import { element, part } from "./elements.js";
import { ask, events } from "./server.js";

// Sampling parameters: the name, the label and the step of the control.
const SETTINGS = [
  { name: "temperature", words: "Temperature", step: "any" },
  { name: "top_p", words: "Top p", step: "any" },
  { name: "repetition_penalty", words: "Repetition penalty", step: "any" },
  { name: "max_tokens", words: "Most tokens", step: "1" },
  { name: "seed", words: "Seed", step: "1" },
];

/** Returns the generation settings of a version; null if it is not a language model. */
export async function writingOf(name, number) {
  return (await ask(`texts/${encodeURIComponent(name)}/${number}.json`)).value;
}

/**
 * Creates a chat with a model; returns its controls, actions and requests. `offer` is called with the whole text after
 * each answer, and with null for an empty chat.
 */
export function chatWith(model, { chat_template: template, defaults, context }, offer) {
  const isChat = template !== null;
  const said = []; // {role, content}
  const control = element("textarea", { id: "input-0", rows: 3, dir: "auto", spellcheck: true, enterKeyHint: "send" });
  const words = isChat ? "Message" : "Text";
  control.placeholder = isChat ? "Ask something" : "Begin a text: the model goes on with it";
  const hint = element("span", { className: "kind" }, `of ${context.toLocaleString("en")} tokens in all`);
  const field = element("div", { className: "field" }, element("label", { htmlFor: "input-0" }, words, " ", hint), control);
  const system = isChat ? setting("system", "System", element("textarea", { rows: 2, dir: "auto" })) : null;
  if (system) system.control.value = template.system ?? "";
  const numbers = SETTINGS.map(({ name, words: label, step }) => {
    const number = element("input", { type: "number", step, placeholder: `${defaults[name] ?? ""}` });
    return { name, ...setting(name, label, number) };
  });
  if ((defaults.seed ?? null) === null) numbers.at(-1).control.placeholder = "another each time";
  const settings = [...numbers, ...(system ? [system] : [])];
  part("settings").replaceChildren(...settings.map(({ box }) => box));
  part("options").hidden = false;
  part("anew").textContent = isChat ? "New chat" : "Clear";
  anew();

  function anew() {
    said.length = 0;
    offer(null);
    part("messages").replaceChildren();
    part("messages").hidden = part("anew").hidden = true;
    control.focus();
  }

  /** Returns the path and the body of the request for the typed text. */
  function request(content) {
    const given = numbers.filter(({ control: { value } }) => value !== "");
    const values = Object.fromEntries(given.map(({ name, control: { value } }) => [name, Number(value)]));
    if (!isChat) {
      const most = values.max_tokens ?? defaults.max_tokens ?? context;
      return { path: "v1/completions", document: { model, prompt: content, stream: true, ...values, max_tokens: most } };
    }
    const messages = [...begins(), ...said, { role: "user", content }];
    return { path: "v1/chat/completions", document: { model, messages, stream: true, ...values } };
  }

  function begins() {
    return system.control.value ? [{ role: "system", content: system.control.value }] : [];
  }

  /** Returns the whole chat in the format of the chat template. */
  function transcript() {
    const { start, system: usual, texts, system_in_user: inUser, repeats_start: repeats } = template;
    const first = begins().length || usual === null ? begins() : [{ role: "system", content: usual }];
    let written = start ?? "";
    let opening = ""; // a system message that is part of the user's message after it
    let end = "";
    for (const { role, content } of [...first, ...said]) {
      if (role === "system" && texts.system === null) {
        opening = inUser.join(content);
        continue;
      }
      const [before, after] = texts[role];
      if (repeats && role === "user" && written !== start) end += start;
      written += end + before + opening + content;
      [opening, end] = ["", after];
    }
    return written; // the last answer may be incomplete
  }

  /** Sends the typed text and shows the answer while it is generated; `tell` is called with the request. */
  async function say(tell) {
    const content = control.value;
    const { path, document } = request(content);
    const body = JSON.stringify(document);
    tell(path, body);
    const answer = show("assistant", isChat ? content : null);
    const begin = isChat ? "" : content;
    answer.replaceChildren(...(begin ? [element("b", {}, begin)] : []), "");
    control.value = "";
    let written = "";
    part("stop").hidden = false;
    try {
      for await (const { choices } of events(path, body)) {
        const piece = choices[0]?.delta?.content ?? choices[0]?.text ?? "";
        written += piece;
        answer.lastChild.data += piece;
        answer.scrollIntoView({ block: "nearest" });
      }
    } catch (error) {
      if (!written) takeBack(answer, content);
      throw error;
    } finally {
      part("stop").hidden = true;
      if (written && isChat) said.push({ role: "user", content }, { role: "assistant", content: written });
      if (written) offer(isChat ? transcript() : content + written);
    }
    control.focus();
  }

  /** Shows a message of the user, if there is one, and an empty answer; returns the element of its text. */
  function show(role, asked) {
    const text = element("p", { dir: "auto" });
    const shown = asked === null ? [] : [message("user", element("p", { dir: "auto" }, asked))];
    part("messages").append(...shown, message(role, text));
    part("messages").hidden = part("anew").hidden = false;
    return text;
  }

  /** Removes a message that was not answered, so that it can be sent again. */
  function takeBack(answer, content) {
    const last = answer.closest("li");
    if (isChat) last.previousElementSibling.remove();
    last.remove();
    control.value = content;
    part("messages").hidden = part("anew").hidden = !part("messages").children.length;
  }

  return { control, field, say, anew, request, isBlank: () => isChat && control.value.trim() === "" };
}

function message(role, text) {
  const who = { user: "You", assistant: "Model" }[role];
  return element("li", { className: role }, element("span", { className: "kind" }, who), text);
}

function setting(name, words, control) {
  control.id = `setting-${name}`;
  const box = element("div", { className: "field" }, element("label", { htmlFor: control.id }, words), control);
  box.classList.toggle("short", control.tagName !== "TEXTAREA");
  return { control, box };
}
