// The idea of attention with one's own hands: drag a query, a key or a value, and weights and output follow.

const LIMIT = 4; // the largest number a cell takes
const SHARING = {
  3: "Three matrices: what a word asks, how it is found and what it says are three different things.",
  2: "Two matrices: a word asks in one way; it is found by what it says.",
  1: "One matrix: a word asks for what it is itself, so likeness is all there is, and it is mutual.",
};
const MASKS = { none: "nothing", future: "what comes later", itself: "the word itself" };
const chosen = { matrices: 3, heads: 1, scaled: true, mask: "none", temperature: 1, word: 2, head: 0 };
let tables = fresh();

function fresh() {
  return { query: copied(QUERIES), key: copied(KEYS), value: copied(VALUES) };
}

function copied(table) {
  return table.map((row) => [...row]);
}

/** The three tables as they count: those that are one are the same object. */
function counted() {
  const { query, key, value } = tables;
  if (chosen.matrices === 1) return { query: value, key: value, value };
  return chosen.matrices === 2 ? { query, key: value, value } : { query, key, value };
}

function start() {
  mixColours();
  const controls = element("div", { class: "idea-controls" });
  const sentence = element("div", { class: "idea-sentence", role: "group", "aria-label": "Words: choose one" });
  const said = element("p", { class: "sentence", "aria-live": "polite" });
  const given = element("div", { class: "idea-tables" });
  const weights = element("div", { class: "idea-weights" });
  const output = element("div", { class: "idea-output" });
  document.querySelector("main").append(
    element("header", {}, element("div", { class: "top" }, element("p", { class: "run" }, "the idea of attention"),
      themeSwitch()),
      element("h1", {}, "A word asks, the others answer")),
    controls, sentence, said, given,
    element("div", { class: "idea-results" }, weights, output),
    saveButtons([["queries, keys, values", given], ["weights", weights], ["output", output]]),
    element("footer", {}, element("p", { class: "quiet" },
      "Drag a number up or down, or reach it with Tab and press the arrow keys. ",
      "weights = softmax(query · key / √width / temperature); output = Σ weight · value. Nothing was fetched.")));

  function follow() {
    const { query, key, value } = counted();
    const found = attend(query, key, value, chosen);
    showSentence(found);
    showWeights(found);
    output.replaceChildren(...still("output", found.output));
    given.querySelectorAll(".drag").forEach(paint);
  }

  function paint(cell) {
    const number = tables[cell.dataset.table][cell.dataset.row][cell.dataset.part];
    const shade = signShade(number, LIMIT);
    cell.textContent = spelled(number);
    cell.style.background = css(signColours, shade);
    cell.style.color = inkOn(signColours, shade);
    cell.setAttribute("aria-valuenow", number);
    cell.classList.toggle("other-head", Math.floor(cell.dataset.part / (4 / chosen.heads)) !== chosen.head
      && chosen.heads > 1);
  }

  function build() {
    const names = { 3: ["query", "key", "value"], 2: ["query", "value"], 1: ["value"] }[chosen.matrices];
    const titles = { query: "query: what it asks for", key: "key: what it is found by",
      value: { 3: "value: what it says", 2: "key = value: what it is and says",
      1: "query = key = value" }[chosen.matrices] };
    given.replaceChildren(...names.map((name) => element("section", {}, element("h2", {}, titles[name]), table(name))));
    buildControls();
    follow();
  }

  function table(name) {
    const cells = (row) => MEANINGS.map((meaning, part) =>
      element("td", {}, handle(name, row, part, `${name} of ${WORDS[row]}, ${meaning}`)));
    return framed(WORDS.map((word, row) => [word, ...cells(row)]));
  }

  function handle(name, row, part, words) {
    const cell = element("button", { type: "button", class: "drag", role: "slider", "aria-label": words,
      "aria-valuemin": -LIMIT, "aria-valuemax": LIMIT,
      "data-table": name, "data-row": row, "data-part": part });
    const set = (number) => {
      tables[name][row][part] = Math.max(-LIMIT, Math.min(LIMIT, Math.round(number * 10) / 10));
      chosen.word = name === "query" || chosen.matrices === 1 ? row : chosen.word;
      follow();
    };
    cell.addEventListener("pointerdown", (event) => {
      cell.setPointerCapture(event.pointerId);
      const [from, before] = [event.clientY, tables[name][row][part]];
      const moved = (later) => set(before + (from - later.clientY) / 30);
      cell.addEventListener("pointermove", moved);
      cell.addEventListener("lostpointercapture", () => cell.removeEventListener("pointermove", moved), { once: true });
    });
    cell.addEventListener("keydown", (event) => {
      const step = { ArrowUp: 0.1, ArrowRight: 0.1, ArrowDown: -0.1, ArrowLeft: -0.1, PageUp: 1,
        PageDown: -1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      set(tables[name][row][part] + step);
    });
    return cell;
  }

  function showSentence({ weights: all }) {
    const own = all[chosen.head][chosen.word];
    const words = WORDS.map((word, place) => {
      const shade = weightShade(own[place]);
      return element("button", { type: "button", class: "idea-word", "aria-pressed": String(place === chosen.word),
        "data-word": place,
        style: shaded(weightColours, shade),
        onclick: () => { chosen.word = place; follow(); sentence.children[place].focus(); } }, word,
          element("small", {}, own[place].toFixed(2)));
    });
    const held = [...sentence.children].indexOf(document.activeElement);
    sentence.replaceChildren(...words);
    if (held >= 0) words[held].focus();
    const best = greatest(own, 2);
    const named = (place) => `“${WORDS[place]}” (${digits(own[place])})`;
    const where = Math.max(...own) === 0 ? "may look at nothing"
      : `looks most at ${named(best[0])}${own[best[1]] >= 0.05 ? ` and at ${named(best[1])}` : ""}`;
    const within = chosen.heads > 1 ? `In head ${chosen.head} (${headMeanings(chosen.head)}) ` : "";
    const hard = chosen.temperature === 0 ? "At temperature 0 this is a lookup: the best key takes all." : "";
    said.textContent = `${within}“${WORDS[chosen.word]}” ${where}. ${hard}`;
  }

  function showWeights({ weights: all, scores }) {
    weights.replaceChildren(element("h2", {}, "weights: who looks (rows) at whom (columns)"),
      ...all.map((own, head) => element("section", {},
      chosen.heads > 1 ? element("h3", {}, `head ${head}: ${headMeanings(head)}`) : null,
      framed(own.map((row, at) => [WORDS[at], ...row.map((weight, key) => {
        const hidden = !sees(chosen.mask, at, key), shade = weightShade(weight);
        return element("td", {}, element("button",
          { type: "button", class: hidden ? "weigh hidden" : "weigh", tabindex: "-1",
          "data-weight": `${head},${at},${key}`,
          title: hidden ? "masked" : `score ${digits(scores[head][at][key])}, weight ${digits(weight)}`,
          style: shaded(weightColours, shade),
            onclick: () => { Object.assign(chosen, { word: at, head }); follow(); } },
            hidden ? "·" : weight.toFixed(2)));
      })]), WORDS, at => at === chosen.word && head === chosen.head))));
  }

  function still(title, rows) {
    return [element("h2", {}, `${title}: what each word has heard`),
      framed(rows.map((row, at) => [WORDS[at], ...row.map((number) => {
      const shade = signShade(number, LIMIT / 2);
      return element("td", {}, element("span",
        { class: "weigh", style: shaded(signColours, shade) },
        spelled(number, 2)));
    })]), MEANINGS, (at) => at === chosen.word)];
  }

  function framed(rows, heads = MEANINGS, marked = () => false) {
    return element("table", { class: "idea" }, element("thead", {},
      element("tr", {}, element("td"), ...heads.map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {},
        ...rows.map(([word, ...cells], at) => element("tr", { class: marked(at) ? "marked" : "" },
        element("th", { scope: "row" }, word), ...cells))));
  }

  function buildControls() {
    const heat = element("input", { type: "range", id: "temperature", min: 0, max: 3, step: 0.05,
      value: chosen.temperature,
      oninput: () => { chosen.temperature = Number(heat.value); told.textContent = spoken(); follow(); } });
    const spoken = () => (chosen.temperature === 0 ? "0: hard lookup" : chosen.temperature.toFixed(2));
    const told = element("output", { for: "temperature" }, spoken());
    controls.replaceChildren(
      group("matrices", [1, 2, 3], (number) => String(number), (number) => { chosen.matrices = number; build(); }),
      group("heads", [1, 2, 4], (number) => String(number),
        (number) => { Object.assign(chosen, { heads: number, head: 0 }); build(); }),
      group("mask", Object.keys(MASKS), (name) => MASKS[name], (name) => { chosen.mask = name; build(); }),
      group("scaled", [true, false], (yes) => (yes ? `÷ √${4 / chosen.heads}` : "as it is"),
        (yes) => { chosen.scaled = yes; build(); }),
      element("span", { class: "control" }, element("label", { for: "temperature" }, "temperature"), heat, told),
      element("button", { type: "button", class: "chip", onclick: () => { tables = fresh(); build(); } },
        "start again"),
      element("p", { class: "quiet" }, SHARING[chosen.matrices]));
  }

  function group(name, values, words, choose) {
    const titles = { matrices: "matrices", heads: "heads", mask: "hidden", scaled: "scores" };
    return element("span", { class: "control", role: "group", "aria-label": titles[name] },
      element("span", {}, titles[name]), ...values.map((value) => element("button", {
      type: "button", class: "chip", "data-choice": `${name}:${value}`, "aria-pressed": String(chosen[name] === value),
      onclick: () => { choose(value); controls.querySelector(`[data-choice="${name}:${value}"]`).focus(); },
    }, words(value))));
  }

  themeListeners.push(build);
  build();
}

function headMeanings(head) {
  const width = MEANINGS.length / chosen.heads;
  return MEANINGS.slice(head * width, (head + 1) * width).join(" and ");
}

function spelled(number, places = 1) {
  return number.toFixed(places).replace("-", "−").replace(/^−0(\.0+)$/, "0$1");
}

start();
