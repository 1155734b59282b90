// The attention views: the controls and the selected view.

import { headColour } from "./canvas.js";
import { contributions } from "./contributions.js";
import { element } from "./elements.js";
import { headView } from "./head_view.js";
import { imageView } from "./image_view.js";
import { modelView } from "./model_view.js";
import { named, neuronView, numbered } from "./neuron_view.js";
import { lensOf } from "./weights.js";

const TABS = { image: "Image", heads: "Heads", model: "Model", neurons: "Neurons", contributions: "Contributions" };
const PLAIN = { words: false, special: true, from: "all", to: "all" }; // all tokens separately
const PARTS = { encoder: "encoder to itself", decoder: "decoder to itself", cross: "decoder to the source" };
const HOW = "A click toggles, a double click leaves it alone";
const CAUTION =
  "Attention alone is not an explanation: weights tell where vectors are mixed, not why the model answers as it does " +
  "(Jain and Wallace 2019, “Attention is not Explanation”). See the contributions, too.";

/** Shows views in an element of the page. */
export function showViews(box, views) {
  const hasImage = Boolean(views.sequences[0].grid);
  const state = { tab: hasImage ? "image" : "heads", part: 0, layer: 0, heads: new Set(), ...PLAIN };
  const controls = element("div", { className: "controls" });
  const headButtons = element("div", { className: "head-buttons", role: "group", ariaLabel: "Heads" });
  const body = element("section", { className: "view-body" });
  let redraw = () => {};

  const part = () => views.parts[state.part];
  const allHeads = () => new Set(Array(part().heads).keys());
  const hasPairs = views.sequences.some(({ segments }) => segments.includes(1));

  function choosePart(number) {
    state.part = number;
    state.layer = Math.min(state.layer, part().layers - 1);
    state.heads = allHeads();
    build();
  }

  function build() {
    const select = (id, options, value, change) => {
      const made = element("select", { id: `view-${id}` }, ...options);
      made.value = value;
      made.onchange = () => change(made.value);
      return made;
    };
    const parts = views.parts.map(({ name }, number) => element("option", { value: number }, PARTS[name] ?? name));
    const check = (words, name) => {
      const made = element("input", { type: "checkbox", id: `view-${name}`, checked: state[name] });
      made.onchange = () => ((state[name] = made.checked), show());
      return element("label", { htmlFor: made.id }, made, ` ${words}`);
    };
    const segments = (name) => {
      const texts = [["all", "all"], ["0", "A"], ["1", "B"]].map(([value, words]) => element("option", { value }, words));
      return select(name, texts, state[name], (value) => ((state[name] = value), show()));
    };
    const pairs = hasPairs ? [named("from", segments("from")), named("to", segments("to"))] : [];
    controls.replaceChildren(
      named("Attention of the", select("part", parts, state.part, (value) => choosePart(+value))),
      named("Layer", select("layer", numbered(part().layers, ""), state.layer, (value) => ((state.layer = +value), show()))),
      check("words", "words"),
      check("special tokens", "special"),
      ...pairs,
    );
    makeHeads();
    show();
  }

  function makeHeads() {
    const toggles = [...allHeads()].map((head) => {
      const button = element("button", { type: "button", title: HOW }, `${head + 1}`);
      button.onclick = ({ detail: clicks }) => {
        if (clicks === 2) state.heads = new Set([head]);
        else if (!state.heads.delete(head)) state.heads.add(head);
        show();
      };
      return button;
    });
    const all = element("button", { type: "button", className: "all" }, "all heads");
    all.onclick = () => ((state.heads = allHeads()), show());
    headButtons.replaceChildren(...toggles, all);
  }

  function showHeads() {
    for (const head of allHeads()) {
      headButtons.children[head].ariaPressed = String(state.heads.has(head));
      headButtons.children[head].style.setProperty("--head", headColour(head));
    }
    headButtons.hidden = part().heads === 1 || !["image", "heads", "contributions"].includes(state.tab);
  }

  function show() {
    showHeads();
    for (const button of tabs.children) button.ariaSelected = String(button.dataset.tab === state.tab);
    const shown = { image: PLAIN, neurons: { ...state, words: false } }[state.tab] ?? state;
    const lens = lensOf(views, part(), shown);
    const open = (layer, head) => {
      Object.assign(state, { layer, heads: new Set([head]), tab: "heads" });
      build();
    };
    const made = {
      image: () => imageView(views, lens, state),
      heads: () => headView(lens, state),
      model: () => modelView(part(), lens, state, open),
      neurons: () => neuronView(part(), lens, state),
      contributions: () => contributions(views, part(), state),
    }[state.tab]();
    body.replaceChildren(...made.content);
    redraw = made.draw;
    redraw();
  }

  const tabs = element("div", { className: "tabs", role: "tablist" });
  const shownTabs = Object.entries(TABS).filter(([tab]) => tab !== "image" || hasImage);
  for (const [tab, words] of shownTabs) {
    const button = element("button", { type: "button", role: "tab" }, words);
    button.dataset.tab = tab;
    button.onclick = () => ((state.tab = tab), show());
    tabs.append(button);
  }
  tabs.onkeydown = ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    const names = shownTabs.map(([tab]) => tab);
    if (!step) return;
    state.tab = names[(names.indexOf(state.tab) + step + names.length) % names.length];
    show();
    tabs.querySelector('[aria-selected="true"]').focus();
  };
  matchMedia("(prefers-color-scheme: dark)").onchange = () => show();
  box.classList.add("views");
  box.replaceChildren(tabs, controls, headButtons, body, element("p", { className: "caution" }, CAUTION));
  choosePart(0);
  new ResizeObserver(() => redraw()).observe(box);
}
