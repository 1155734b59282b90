// Head view: tokens on both sides, and lines from the token under the mouse to the attended tokens, by head.

import { headColour, percent, sized, styleColour } from "./canvas.js";
import { element } from "./elements.js";

const LINE = 22; // pixels, the height of a token
const FAINTEST = 0.02; // of all tokens: smaller weights are not drawn
const FAINT = 0.1;
const MOST_TOLD = 6;
const LEGEND = "Tokens on the left look at those on the right. A line's colour is its head, its strength the weight; a click holds it.";
const HOW = "Move over a token, or walk through them with the arrow keys.";
const SECOND = " The second text is in italics.";

/** Shows a layer; `state` has the layer and the drawn heads. */
export function headView(lens, state) {
  const canvas = element("canvas", { className: "lines", ariaHidden: "true" });
  const sides = ["rows", "columns"].map((side) => tokenList(lens[side], side));
  const [left, right] = sides;
  const gap = element("div", { className: "gap" });
  const scroller = element("div", { className: "scroller" }, left, gap, right);
  const frame = element("div", { className: "head-view" }, scroller, canvas);
  const told = element("p", { className: "told", ariaLive: "polite" });
  let chosen = null; // {side, item}
  let held = false; // until another token is clicked

  function draw() {
    const height = Math.min(scroller.clientHeight, Math.max(lens.rows.length, lens.columns.length) * LINE);
    const from = left.offsetWidth;
    const pen = { context: sized(canvas, gap.offsetWidth, height), width: gap.offsetWidth };
    canvas.style.left = `${from}px`;
    canvas.style.top = "0";
    pen.context.lineCap = "round";
    const above = scroller.scrollTop; // read once: reading it may cause a layout of the page
    const middle = (item) => (item + 0.5) * LINE - above;
    const strength = [lens.rows, lens.columns].map((items) => new Float32Array(items.length));
    if (chosen) {
      lines(chosen, (head, row, column, weight) => {
        strength[chosen.side === "rows" ? 1 : 0][chosen.side === "rows" ? column : row] += weight / state.heads.size;
        line(pen, middle(row), middle(column), headColour(head, Math.min(1, 0.15 + weight)), 1 + 3 * weight);
      });
    } else {
      drawAll(pen, middle, height);
    }
    sides.forEach((list, side) => paint(list, strength[side], side));
    told.replaceChildren(...(chosen ? words(chosen, strength) : [HOW]));
  }

  function drawAll(pen, middle, height) {
    for (let row = 0; row < lens.rows.length; row++) {
      for (const head of state.heads) {
        const { sums } = lens.weights(state.layer, head, row);
        for (let column = 0; column < sums.length; column++) {
          if (sums[column] < FAINT) continue;
          const [begin, end] = [middle(row), middle(column)];
          const isOutside = (begin < 0 && end < 0) || (begin > height && end > height);
          if (isOutside) continue;
          line(pen, begin, end, headColour(head, 0.35 * sums[column]), 1);
        }
      }
    }
  }

  /** Calls `draw` with each line from a token, or to a token of the right side. */
  function lines({ side, item }, drawn) {
    for (const head of state.heads) {
      if (side === "rows") {
        const { sums } = lens.weights(state.layer, head, item);
        sums.forEach((weight, column) => weight >= FAINTEST && drawn(head, item, column, weight));
      } else {
        for (let row = 0; row < lens.rows.length; row++) {
          const weight = lens.weights(state.layer, head, row).sums[item];
          if (weight >= FAINTEST) drawn(head, row, item, weight);
        }
      }
    }
  }

  function words({ side, item }, strength) {
    const others = side === "rows" ? lens.columns : lens.rows;
    const sizes = strength[side === "rows" ? 1 : 0];
    const best = [...sizes.keys()].filter((place) => sizes[place] > 0).sort((one, other) => sizes[other] - sizes[one]);
    const listed = best.slice(0, MOST_TOLD).flatMap((place, number) => [
      number ? ", " : "", isolated(others[place].label), ` ${percent(sizes[place])}`,
    ]);
    const own = ["“", isolated(lens[side][item].label), "”"];
    if (side === "columns") return [...own, " is looked at by ", ...(best.length ? listed : ["nothing"])];
    let rest = 0;
    for (const head of state.heads) rest += lens.weights(state.layer, head, item).rest / state.heads.size;
    const left = rest > 0.005 ? `; all that is left out: ${percent(rest)}` : "";
    return [...own, " looks at ", ...(best.length ? listed : ["nothing that is shown"]), left];
  }

  function paint(list, strength, side) {
    const colour = styleColour(frame, "--view-blue");
    [...list.children].forEach((line, place) => {
      const isChosen = chosen && (chosen.side === "rows") === (side === 0) && chosen.item === place;
      const shade = Math.min(85, Math.round(100 * strength[place]));
      const background = shade > 1 ? `color-mix(in srgb, ${colour} ${shade}%, transparent)` : "";
      if (line.dataset.shade !== background) {
        line.dataset.shade = background;
        line.style.background = background;
      }
      line.classList.toggle("chosen", Boolean(isChosen));
    });
  }

  function choose(target, hold = held) {
    const line = target?.closest?.("li");
    held = hold && Boolean(line);
    chosen = line ? { side: line.parentElement.dataset.side, item: +line.dataset.place } : null;
    draw();
  }

  scroller.onmouseover = (event) => held || choose(event.target);
  scroller.onmouseleave = () => held || choose(null);
  scroller.onclick = (event) => choose(event.target, !held);
  scroller.addEventListener("focusin", (event) => choose(event.target));
  scroller.onscroll = draw;
  scroller.onkeydown = (event) => {
    const to = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    const across = { ArrowLeft: left, ArrowRight: right }[event.key];
    const line = event.target.closest("li");
    if (!line || !(to || across)) return;
    event.preventDefault();
    const next = to ? line[to] : across.children[Math.min(+line.dataset.place, across.children.length - 1)];
    next?.focus();
  };
  const hasSecond = [...lens.rows, ...lens.columns].some(({ segment }) => segment === 1);
  return { content: [told, frame, element("p", { className: "hint" }, LEGEND + (hasSecond ? SECOND : ""))], draw };
}

/** Isolates a token from the writing direction of the text around it. */
const isolated = (label) => element("bdi", {}, label.trim() || "␣");

function tokenList(items, side) {
  const name = side === "rows" ? "Tokens that look" : "Tokens that are looked at";
  const list = element("ol", { className: `tokens ${side}`, ariaLabel: name });
  list.dataset.side = side;
  items.forEach(({ label, segment }, place) => {
    const line = element("li", { dir: "auto", tabIndex: place ? -1 : 0, title: label }, label || "␣");
    line.dataset.place = place;
    line.classList.toggle("second", segment === 1);
    list.append(line);
  });
  return list;
}

function line({ context, width }, begin, end, colour, thickness) {
  context.strokeStyle = colour;
  context.lineWidth = thickness;
  context.beginPath();
  context.moveTo(4, begin);
  context.bezierCurveTo(width / 2, begin, width / 2, end, width - 4, end);
  context.stroke();
}
