// The description of a version: the time of its export and its metrics, from its card if it has one.

const DAY = 86400; // seconds
const NAMES = {
  __proto__: null,
  bleu: "BLEU",
  chrf: "chrF",
  roc_auc: "ROC AUC",
  exact_match: "equal to the reference",
  masked_lm_accuracy: "masked token accuracy",
  next_sentence_accuracy: "pairs told apart",
  mean_absolute_error: "mean absolute error",
  micro_f1: "micro F1",
  macro_f1: "macro F1",
  mrr_at_10: "MRR@10",
  ndcg_at_10: "nDCG@10",
  r2: "R²",
  recall_at_10: "recall@10",
};
// The baseline of a metric; its value in metrics.json is `baseline_<metric>`.
const BASELINES = {
  __proto__: null,
  accuracy: "always giving the most frequent label",
  masked_lm_accuracy: "always saying the most frequent token",
  bleu: "copying the source",
  mean_absolute_error: "always predicting the mean",
  micro_f1: "always giving the most frequent labels",
  ndcg_at_10: "ordering by common words (BM25)",
};
// Metrics of which lower values are better.
const isLoss = (name) => /error|loss|perplexity|bits/.test(name);
// Metrics that are fractions, shown as percentages.
const isFraction = (name) => /accuracy|precision|recall|sensitivity|specificity|f1|exact_match|roc_auc/.test(name);
const DATE = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** Returns whether the number of a version is the time of its export, in seconds since 1970. */
const isTime = (number) => number > 1e9 && number < Date.now() / 1000 + DAY;

/** Returns the date of the export; empty if it is unknown. */
function date(number, card) {
  if (card) return DATE.format(new Date(card.exported));
  return isTime(number) ? DATE.format(new Date(number * 1000)) : "";
}

/** Formats a metric: fractions as percentages, BLEU and chrF with one decimal, other numbers plainly. */
function shown(name, value) {
  if (/^(bleu|chrf)$/.test(name)) return value.toFixed(1);
  if (isLoss(name)) return String(Number(value.toPrecision(4)));
  return isFraction(name) ? `${(100 * value).toFixed(1)}%` : value.toFixed(3);
}

/** Returns the metrics of a card, without the ends of intervals and without baselines. */
function figures({ metrics }) {
  return Object.entries(metrics).filter(([name]) => !/_(low|high)$/.test(name) && !name.startsWith("baseline_"));
}

/** Returns the metrics with a baseline, and whether their interval is better than the baseline. */
function compared({ metrics }) {
  return figures({ metrics }).flatMap(([name, value]) => {
    const baseline = metrics[`baseline_${name}`];
    const [low, high] = [metrics[`${name}_low`] ?? value, metrics[`${name}_high`] ?? value];
    return baseline === undefined ? [] : [{ name, baseline, isBetter: isLoss(name) ? high < baseline : low > baseline }];
  });
}

const spoken = (name) => NAMES[name] ?? name.replaceAll("_", " ");

/** Returns a line for the list of versions: `latest (7) · 30 Jul 2025, 14:03 · accuracy 95.8%`. */
export function line(words, number, card) {
  const [first] = card ? figures(card) : [];
  const figure = first ? `${spoken(first[0])} ${shown(...first)}` : "";
  const when = date(number, card);
  const which = isTime(number) && when ? words : words ? `${words} (${number})` : `${number}`;
  return [which, when, figure].filter(Boolean).join(" · ");
}

/** Returns whether a version may not be better than a baseline. */
export const isDoubtful = (card) => card !== null && compared(card).some(({ isBetter }) => !isBetter);

/** Returns the metrics as a sentence; empty if there are none. */
export function quality(card) {
  if (!card || !figures(card).length) return "";
  const { metrics } = card;
  const parts = figures(card).map(([name, value]) => {
    const [low, high] = [metrics[`${name}_low`], metrics[`${name}_high`]];
    const interval = low === undefined ? "" : ` (${shown(name, low)} to ${shown(name, high)})`;
    return `${spoken(name)} ${shown(name, value)}${interval}`;
  });
  const others = compared(card).map(({ name, baseline, isBetter }) => {
    const usual = `${BASELINES[name] ?? "the baseline"} would reach ${shown(name, baseline)}`;
    return isBetter ? ` For comparison: ${usual}.` : ` It is not better than without a model: ${usual}.`;
  });
  const where = card.measured_on ? `On ${card.measured_on} rows: ` : "";
  const intervals = Object.keys(metrics).some((name) => name.endsWith("_low")) ? "; in brackets the 95% interval" : "";
  return `${where}${parts.join(", ")}${intervals}.${others.join("")}`;
}
