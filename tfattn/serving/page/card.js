// A version in words: when it was exported and how good it is, from its card where it has one.

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
// What a model should be better than, by the figure that tells: its name in metrics.json begins with `baseline_`.
const BASELINES = {
  __proto__: null,
  accuracy: "always giving the most frequent label",
  masked_lm_accuracy: "always saying the most frequent token",
  bleu: "copying the source",
  mean_absolute_error: "always predicting the mean",
  micro_f1: "always giving the most frequent labels",
  ndcg_at_10: "ordering by common words (BM25)",
};
/** Of which less is better. */
const isError = (name) => name.endsWith("_error");
const DATE = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** Whether a version's number is the second in which it was exported. */
const isTime = (number) => number > 1e9 && number < Date.now() / 1000 + DAY;

/** When it was exported; empty where nobody knows. */
function date(number, card) {
  if (card) return DATE.format(new Date(card.exported));
  return isTime(number) ? DATE.format(new Date(number * 1000)) : "";
}

/** A figure as it is read: BLEU and chrF are of 100, errors in the unit of the data, correlations and ranks plain, others shares. */
function shown(name, value) {
  if (/^(bleu|chrf)$/.test(name)) return value.toFixed(1);
  if (isError(name)) return String(Number(value.toPrecision(4)));
  return /^(r2|pearson|spearman|ndcg_at_10|mrr_at_10)$/.test(name) ? value.toFixed(3) : `${(100 * value).toFixed(1)}%`;
}

/** The figures of a card, without the ends of their intervals and without baselines. */
function figures({ metrics }) {
  return Object.entries(metrics).filter(([name]) => !/_(low|high)$/.test(name) && !name.startsWith("baseline_"));
}

/** Figures with a baseline, and whether they are better than that for certain. */
function compared({ metrics }) {
  return figures({ metrics }).flatMap(([name, value]) => {
    const baseline = metrics[`baseline_${name}`];
    const [low, high] = [metrics[`${name}_low`] ?? value, metrics[`${name}_high`] ?? value];
    return baseline === undefined ? [] : [{ name, baseline, isBetter: isError(name) ? high < baseline : low > baseline }];
  });
}

const spoken = (name) => NAMES[name] ?? name.replaceAll("_", " ");

/** A line for the list of versions: `latest (7) · 30 Jul 2025, 14:03 · accuracy 95.8%`. */
export function line(words, number, card) {
  const [first] = card ? figures(card) : [];
  const figure = first ? `${spoken(first[0])} ${shown(...first)}` : "";
  const when = date(number, card);
  const which = isTime(number) && when ? words : words ? `${words} (${number})` : `${number}`;
  return [which, when, figure].filter(Boolean).join(" · ");
}

/** Whether it may be no better than what one can do without a model. */
export const isDoubtful = (card) => card !== null && compared(card).some(({ isBetter }) => !isBetter);

/** How good it is, in a few words; empty where nobody knows. */
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
