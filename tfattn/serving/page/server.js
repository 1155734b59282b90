// Requests to the server, one at a time: a new request cancels the running one.

// Numbers that JSON.parse refuses or rounds: NaN, infinity, and integers beyond 2^53; strings are skipped.
const MISREAD = /"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

let underWay = new AbortController();
let token = ""; // in memory only

/** Cancels the running requests; returns the signal that cancels the next requests. */
export function begin() {
  underWay.abort();
  underWay = new AbortController();
  return underWay.signal;
}

/** Sets the token of all further requests; empty for none. */
export function useToken(words) {
  token = words;
}

export const hasToken = () => token !== "";

/** Returns the response as text and as a value, and its duration. An error has the HTTP status. */
export async function ask(path, body) {
  const started = performance.now();
  const response = await sent(path, body);
  const text = await response.text();
  const milliseconds = performance.now() - started;
  const value = JSON.parse(text.replace(MISREAD, (word) => (word[0] === '"' ? word : `"${word}"`)));
  return { text, value, milliseconds };
}

/** Yields the documents of an event stream as they arrive. */
export async function* events(path, body) {
  const reader = (await sent(path, body)).body.pipeThrough(new TextDecoderStream()).getReader();
  let unread = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const whole = (unread + read.value).split("\n\n");
    unread = whole.pop();
    for (const event of whole) {
      const data = event.slice("data: ".length);
      if (data === "[DONE]") return;
      const document = JSON.parse(data);
      if (document.error) throw new Error(document.error.message);
      yield document;
    }
  }
  throw new Error("The connection broke off.");
}

/** Returns the content of a file. */
export async function load(path) {
  return (await sent(path)).arrayBuffer();
}

async function sent(path, body) {
  const method = body === undefined ? "GET" : "POST";
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  const response = await fetch(path, { method, body, headers, cache: "no-store", signal: underWay.signal });
  if (!response.ok) throw Object.assign(new Error(errorIn(await response.text())), { status: response.status });
  return response;
}

function errorIn(text) {
  try {
    const { error } = JSON.parse(text);
    return error?.message ?? error ?? text;
  } catch {
    return text;
  }
}

/** Returns JSON as it was received: NaN, infinity and large integers without quotes. */
export const asItCame = (json) => json.replace(/"(-?Infinity|NaN|-?\d{16,})"/g, "$1");
