// The form of a model: a labeled control for each input, and the request with their values.

import { element } from "./elements.js";
import { image } from "./image.js";

const INTEGER = /^DT_U?INT\d+$/;
const NUMBER = /^DT_(U?INT\d+|FLOAT|DOUBLE|HALF|BFLOAT16)$/;
const NO_VALUE = "(no value)";

/** Returns the fields of the inputs of a signature, in the order of the card; by name without a card. */
export function fieldsOf(inputs, card) {
  const known = Object.keys(card?.inputs ?? {}).filter((name) => name in inputs);
  const others = Object.keys(inputs).filter((name) => !known.includes(name));
  return [...known, ...others.sort()].map((name, index) => {
    return field(name, inputs[name], card?.inputs[name] ?? {}, `input-${index}`);
  });
}

/** Returns the dimensions of a tensor, -1 for any size; undefined for any rank. */
const sizes = ({ tensor_shape: shape }) => (shape.unknown_rank ? undefined : shape.dim.map(({ size }) => +size));

/** Returns whether a tensor has an entry for each row of a request. */
export const hasRows = (tensor) => !sizes(tensor) || sizes(tensor)[0] === -1;

/**
 * Returns the control of an input with its label, and functions to read and fill it.
 * `json` returns the value for a request, `fill` sets the value of an example; `isPlain` is true for one value per row.
 * Only numbers of a table, according to the card, can be missing; they are sent as NaN.
 */
function field(name, tensor, known, id) {
  const inner = hasRows(tensor) ? sizes(tensor)?.slice(1) : sizes(tensor);
  const isPlain = inner?.length === 0 && (tensor.dtype === "DT_STRING" || NUMBER.test(tensor.dtype));
  const made = !isPlain
    ? tensor.dtype === "DT_STRING" && inner?.length === 1 && inner[0] === -1
      ? lines()
      : anything(name, tensor.dtype, inner)
    : tensor.dtype !== "DT_STRING"
      ? number(name, tensor.dtype, known)
      : known.kind === "image"
        ? image(known)
        : known.values
          ? choice(known)
          : text(known.kind === "category");
  const { control, kind, body = control } = made;
  Object.assign(control, { id, dir: "auto", enterKeyHint: "send" });
  const column = known.column && known.column !== name ? known.column : "";
  const words = [column, kind].filter(Boolean).join(", ");
  const label = element("label", { htmlFor: id }, name, " ", element("span", { className: "kind" }, words));
  const box = element("div", { className: "field" }, label, body);
  box.classList.toggle("short", control.tagName !== "TEXTAREA" && body === control);
  const isBlank = () => control.value.trim() === "";
  return { isText: false, isBlank, ...made, name, box, isPlain, wrap: hasRows(tensor) };
}

function text(isShort) {
  const control = isShort
    ? element("input", { type: "text" })
    : element("textarea", { rows: 4, spellcheck: true, placeholder: "Type or paste a text" });
  const fill = (value) => (control.value = value ?? "");
  return { control, kind: "", json: () => JSON.stringify(control.value), fill, isText: !isShort };
}

/** Returns a field of several texts, one on each line; `entries` returns the typed texts. */
function lines() {
  const control = element("textarea", { rows: 4, spellcheck: true, className: "lines", placeholder: "One on each line" });
  const entries = () => control.value.split("\n").filter((line) => line.trim() !== "");
  const fill = (values) => (control.value = (values ?? []).join("\n"));
  return { control, kind: "one on each line", json: () => JSON.stringify(entries()), fill, entries };
}

function number(name, dtype, known) {
  const isInteger = INTEGER.test(dtype);
  const control = element("input", { type: "number", step: isInteger ? "1" : "any", required: !known.kind });
  control.placeholder = known.may_be_missing ? NO_VALUE : "";
  const range = known.low === undefined || known.low === null ? "" : `${known.low} to ${known.high}`;
  const json = () => {
    if (control.value === "") return "NaN";
    return isInteger ? whole(name, control.value) : String(Number(control.value));
  };
  return { control, kind: range || dtype.slice(3).toLowerCase(), json, fill: (value) => (control.value = value ?? "") };
}

function choice({ values, no_value: none }) {
  const options = [...values.map((value) => [value, value]), ...(none === null ? [] : [[NO_VALUE, none]])];
  const shown = options.map(([words], place) => element("option", { value: `${place}`, dir: "auto" }, words));
  const control = element("select", { required: true }, element("option", { value: "" }, "Choose…"), ...shown);
  const json = () => JSON.stringify(options[control.value][1]);
  const fill = (value) => {
    const place = values.indexOf(value?.trim());
    control.value = place >= 0 ? place : none === null ? "" : values.length;
  };
  return { control, kind: "", json, fill };
}

function anything(name, dtype, inner) {
  const control = element("textarea", { rows: 4, required: true, spellcheck: false, className: "code" });
  const shape = inner ? ` [${inner.map((size) => (size < 0 ? "?" : size)).join(", ")}]` : "";
  const kind = `JSON, ${dtype.slice(3).toLowerCase()}${shape}`;
  const fill = (value) => (control.value = JSON.stringify(value));
  return { control, kind, json: () => whole(name, control.value), fill };
}

/** Returns a field of JSON; numbers keep all their digits. */
function whole(name, typed) {
  try {
    JSON.parse(typed);
  } catch (error) {
    throw new Error(`${name} is not JSON: ${error.message}`);
  }
  return typed.trim();
}

/** Returns the hint about the key that sends the form. */
export function hint(fields) {
  if (fields.some(({ control }) => control.matches("select, .lines"))) return "Ctrl+Enter sends";
  if (fields.some(({ isText }) => isText)) return "Enter sends, Shift+Enter starts a new line";
  return fields.every(({ isPlain }) => isPlain) ? "Enter sends" : "Ctrl+Enter sends";
}

const object = (entries) => `{${entries.map(([name, json]) => `${JSON.stringify(name)}: ${json}`).join(", ")}}`;

/** Returns the typed row as a JSON object. */
export const rowOf = (fields) => object(fields.map(({ name, json }) => [name, json()]));

/** Returns the fields with the values of an example of the card in place of the typed values. */
export function withExample(fields, example, card) {
  return fields.map((field) => {
    const value = example[field.name] ?? null;
    const { kind, no_value: none } = card.inputs[field.name] ?? {};
    const missing = kind === "number" ? "NaN" : JSON.stringify(none ?? "");
    const file = field.file && (() => ({ name: "image.png", data: value.b64 }));
    return { ...field, file, json: () => (value === null ? missing : JSON.stringify(value)) };
  });
}

/** Returns a predict request for the typed row: by rows if all inputs and outputs have rows. */
export function requestOf(fields, byRows, signature) {
  const named = signature ? `"signature_name": "${signature}", ` : "";
  if (byRows) return `{${named}"instances": [${fields.length === 1 ? fields[0].json() : rowOf(fields)}]}`;
  return `{${named}"inputs": ${object(fields.map(({ name, json, wrap }) => [name, wrap ? `[${json()}]` : json()]))}}`;
}
