// What is being looked at: which text, which head, which token. Views read it here and are told when it changes.

const look = JSON.parse(document.getElementById("look").textContent);
const now = { text: 0, head: 0, side: "row", at: 0 };
const listeners = [];

function text() {
  return look.texts[now.text];
}

function head(place = now.head) {
  return text().heads[place];
}

function attention(place = now.head) {
  return text().attentions[head(place).attention];
}

/** The tokens that look: where the source is read, it is the token to come that is being chosen. */
function rowsOf(one) {
  if (one.kind === "cross") return text().predicts;
  return one.kind === "encoder" ? text().source : text().tokens;
}

function columnsOf(one) {
  return one.kind === "encoder" || one.kind === "cross" ? text().source : text().tokens;
}

/** Whether all weights of a head are here: it may be a thumbnail only, or the page may still be loading. */
function inFull(place = now.head) {
  return Boolean(head(place).key && document.getElementById(`n:${head(place).key}`));
}

function headWeights(place = now.head) {
  const one = attention(place);
  return weightsOf(head(place), rowsOf(one).length, columnsOf(one).length, one.causal);
}

function change(what) {
  const before = attention();
  Object.assign(now, what);
  const after = attention();
  const limit = (now.side === "row" ? rowsOf(after) : columnsOf(after)).length;
  if (what.text !== undefined || rowsOf(before).length !== rowsOf(after).length) now.at = Math.min(now.at, limit - 1);
  now.at = Math.max(0, Math.min(now.at, limit - 1));
  listeners.forEach((listener) => listener(what));
}

/** The next head in the order of the model that the page has in full. */
function neighbour(step) {
  const heads = text().heads;
  for (let place = now.head + step; place >= 0 && place < heads.length; place += step)
    if (heads[place].key) return place;
  return now.head;
}

function headName(place = now.head) {
  return `${attention(place).name}, head ${head(place).head}`;
}

function statisticsOf(place = now.head) {
  return look.statistics.find((one) => one.name === attention(place).name && one.head === head(place).head);
}

/** How a head is shown that the page does not have in full. */
function commandFor(place) {
  return `${text().command} --layers ${attention(place).layer} --heads ${head(place).head}`;
}

const PICTURES = Boolean(look.texts[0].picture);

const KINDS = {
  encoder: "The source reads itself",
  decoder: "The answer reads itself",
  cross: "The answer reads the source",
  text: PICTURES ? "The patches read one another" : look.texts[0].graph ? "The nodes read one another"
    : "The text reads itself",
};
