// The contribution of each token to the score, next to the attention that it gets.

import { isRightToLeft, percent, signedColour } from "./canvas.js";
import { element } from "./elements.js";
import { summed } from "./weights.js";

const STRONGEST = 0.75; // the opacity of a color, so that text on it is readable
const NO_SCORE = "This model gives no score to which tokens could contribute.";
const SOURCE =
  "Contributions are integrated gradients, from vectors of zeros to those of the tokens (Sundararajan et al. 2017): " +
  "blue raises the score, orange lowers it.";

/** Shows the attributions of views, and the mean attention that each token gets in a layer. */
export function contributions(views, part, state) {
  const sequence = views.sequences[0];
  const parts = [];
  if (views.attributions) {
    const { values, score, baseline, scored, missing } = views.attributions;
    const sum = values.reduce((one, other) => one + other, 0);
    parts.push(
      element("h3", {}, "Contributions to ", element("strong", { dir: "auto" }, scored || "(nothing)")),
      element(
        "p", {},
        `The score is ${figure(score)}; without any token it is ${figure(baseline)}. The tokens together make ` +
          `${figure(sum)} of that difference, and ${figure(missing)} is lost because the gradients are taken at a few steps only.`,
      ),
      chips(summed(views, values, state), true),
    );
  }
  if (part.to === 0) {
    const received = new Float64Array(sequence.tokens.length);
    const places = received.map((_, place) => place);
    const looking = views.sequences[part.from].tokens.length;
    for (let row = 0; row < looking; row++) {
      for (const head of state.heads) part.add(state.layer, head, row, 1 / state.heads.size / looking, places, received);
    }
    const words = "on the average of tokens and of the chosen heads";
    const title = `Attention that each token gets in layer ${state.layer + 1}, ${words}`;
    parts.push(element("h3", {}, title), chips(summed(views, received, state), false));
  }
  if (!views.attributions) parts.unshift(element("p", { className: "hint" }, NO_SCORE));
  if (!views.attributions) return { content: parts, draw() {} };
  return { content: [...parts, element("p", { className: "hint" }, SOURCE)], draw() {} };
}

/** Returns an element with [label, number] pairs, colored by their numbers. */
function chips(pairs, isSigned) {
  const largest = Math.max(1e-12, ...pairs.map(([, value]) => Math.abs(value)));
  const text = pairs.map(([label]) => label).join("");
  const box = element("p", { className: "chips", dir: isRightToLeft(text) ? "rtl" : "ltr" });
  for (const [label, value] of pairs) {
    const number = isSigned ? figure(value) : percent(value);
    const small = element("small", { dir: "ltr" }, number);
    const chip = element("span", { dir: "auto", title: `${label}: ${number}` }, label, small);
    chip.style.background = signedColour(value, (STRONGEST * Math.abs(value)) / largest);
    box.append(chip);
  }
  return box;
}

const figure = (number) => (Math.abs(number) < 0.0005 ? "0" : number.toFixed(3).replace(/0+$/, "").replace(/\.$/, ""));
