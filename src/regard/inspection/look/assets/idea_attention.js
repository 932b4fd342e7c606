// Attention over six words and four meanings, in plain loops: what the page of the idea computes at every move.

const WORDS = ["the", "cat", "sat", "on", "the", "mat"];
const MEANINGS = ["animal", "action", "object", "definiteness"];

// Every word asks for what it lacks, is found by what it is, and answers with what it means.
const QUERIES = [[1.5, 0, 1.5, 0], [0, 0, 0, 2], [3, 0, 0.5, 0], [0, 0, 3, 0], [1.5, 0, 1.5, 0], [0, 0, 0, 2]];
const KEYS = [[0, 0, 0, 1.5], [2, 0, 0, 0], [0, 2, 0, 0], [0, 0.5, 0, 0], [0, 0, 0, 1.5], [0, 0, 2, 0]];
const VALUES = [[0, 0, 0, 1], [1, 0, 0.2, 0], [0, 1, 0, 0], [0, 0.3, 0.3, 0], [0, 0, 0, 1], [0, 0, 1, 0]];

/** weights[head][query][key] = softmax(scores / temperature) over what may be seen;
  at temperature 0 the best key alone. */
function attend(queries, keys, values, { heads, scaled, mask, temperature }) {
  const width = MEANINGS.length / heads;
  const weights = [], scores = [];
  for (let head = 0; head < heads; head++) {
    const own = (vector) => vector.slice(head * width, (head + 1) * width);
    scores.push(queries.map((query) => keys.map((key) =>
      product(own(query), own(key)) / (scaled ? Math.sqrt(width) : 1))));
    weights.push(scores[head].map((row, at) => normalised(row, WORDS.map((_, key) => sees(mask, at, key)),
      temperature)));
  }
  const output = queries.map((_, at) => MEANINGS.map((_, part) => {
    const head = Math.floor(part / width);
    return weights[head][at].reduce((sum, weight, key) => sum + weight * values[key][part], 0);
  }));
  return { scores, weights, output };
}

function product(one, other) {
  return one.reduce((sum, number, part) => sum + number * other[part], 0);
}

function sees(mask, query, key) {
  return mask === "none" || (mask === "future" ? key <= query : key !== query);
}

function normalised(scores, seen, temperature) {
  const best = Math.max(...scores.filter((_, key) => seen[key]));
  const powers = scores.map((score, key) => {
    if (!seen[key]) return 0;
    if (temperature === 0) return score === best ? 1 : 0;
    return Math.exp((score - best) / temperature);
  });
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => (sum ? power / sum : 0));
}
