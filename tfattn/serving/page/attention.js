// What a translator looked at as it wrote: a line for each token written, a column for each token read.

import { element, part } from "./elements.js";
import { ask } from "./server.js";

const WORDS = "How much each token of the source (a column) counted for each token written (a line), in per cent.";
let question = null; // what to ask once somebody wants to see it

/** Offers to show it for a request to the signature `alignment`; hides it where there is none. */
export function offerAttention(path, body) {
  question = body === null ? null : { path, body };
  part("attention").hidden = question === null;
  part("attention").open = false;
  part("attention-words").textContent = "";
  part("weights").replaceChildren();
}

async function showAttention() {
  if (!part("attention").open || !question || part("weights").rows.length) return;
  const asked = question;
  try {
    const { alignment, source_tokens: source, tokens } = (await ask(asked.path, asked.body)).value.predictions[0];
    if (asked !== question) return;
    part("attention-words").textContent = WORDS;
    part("weights").replaceChildren(...lines(alignment, source, tokens));
  } catch (error) {
    if (asked === question) part("attention-words").textContent = error.message;
  }
}

function lines(alignment, source, tokens) {
  const columns = source.map((token) => element("th", { scope: "col", dir: "auto" }, token));
  const body = tokens.map((token, place) => {
    const cells = alignment[place].map((weight) => {
      const percent = Math.round(100 * weight);
      const cell = element("td", { title: `${percent}%` }, `${percent}`);
      cell.style.setProperty("--weight", `${percent}%`);
      return cell;
    });
    return element("tr", {}, element("th", { scope: "row", dir: "auto" }, token), ...cells);
  });
  return [element("tr", {}, element("td", {}), ...columns), ...body];
}

part("attention").ontoggle = showAttention;
