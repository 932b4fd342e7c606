// One query's way to its output with the model's own numbers: q·k, ÷ √d_k, mask, softmax, weighted values.

const WALKED = 14; // keys that are shown; of longer texts the strongest

function walkView() {
  const chooser = element("select", { id: "query",
    onchange: () => change({ side: "row", at: Number(chooser.value) }) });
  const body = element("div", { "aria-live": "polite" });
  const panel = element("div", {}, element("p", { class: "choose" },
    element("label", { for: "query" }, "The query of "), chooser), body);
  let listed = "";

  function update() {
    const one = attention();
    const rows = rowsOf(one);
    const at = now.side === "row" || one.kind !== "cross" ? Math.min(now.at, rows.length - 1) : 0;
    if (listed !== `${now.text} ${one.kind}`) {
      listed = `${now.text} ${one.kind}`;
      chooser.replaceChildren(...rows.map((token, place) =>
        element("option", { value: place }, `${place}  ${label(token)}`)));
    }
    chooser.value = String(at);
    const missing = head().walk && !document.getElementById(`n:${head().key}.walk`);
    if (!inFull() || missing) body.replaceChildren(notHere(now.head));
    else if (!head().walk) body.replaceChildren(element("p", { class: "missing" },
      "The queries, keys and values of this head are not in the page, to keep it small, or its weights are not a ",
      "softmax of scores alone. To see them: ",
      element("code", {}, commandFor(now.head))));
    else body.replaceChildren(...steps(at, one));
  }

  function steps(at, one) {
    const { q, k, v, scores, bias, seen } = walkOf(head());
    const { divisor, temperature, mask } = head().walk;
    const query = q.at(at), columns = columnsOf(one);
    const raw = columns.map((_, key) => (scores ? scores.at(at)[key] : dot(query, k.at(key))));
    const scaled = raw.map((score) => score / (divisor || 1));
    const added = bias ? scaled.map((score, key) => score + bias.at(at)[key]) : scaled;
    const allowed = columns.map((_, key) => mask === "none" || (mask === "causal" ? key <= at : seen.at(at)[key] > 0));
    const heat = temperature || 1;
    const top = Math.max(...added.filter((_, key) => allowed[key]));
    const powers = added.map((score, key) => (allowed[key] ? Math.exp((score - top) / heat) : 0));
    const sum = powers.reduce((total, power) => total + power, 0);
    const weights = powers.map((power) => power / sum);
    const output = new Float64Array(v.columns);
    weights.forEach((weight, key) => v.at(key).forEach((value, part) => { output[part] += weight * value; }));
    const shown = columns.length <= WALKED ? columns.map((_, key) => key)
      : greatest(weights, WALKED - (allowed.includes(false) ? 1 : 0)).concat(allowed.includes(false)
        ? [allowed.indexOf(false)] : []).sort((a, b) => a - b);
    const left = weights.reduce((total, weight, key) => shown.includes(key) ? total : total + weight, 0);
    const sizes = { k: largest(k, shown), v: largest(v, shown), q: Math.max(...Array.from(query, Math.abs)) };
    return [
      element("p", { class: "formula" }, formula(scores, bias, divisor, query.length, mask, heat)),
      element("div", { class: "vector" }, element("b", {}, `q of ${quoted(rowsOf(one)[at])}`),
        strip(query, sizes.q, vectorWords(query)),
        element("span", { class: "quiet" }, `${query.length} numbers: ${firstOf(query)}`)),
      element("div", { class: "wide" }, table(shown, columns,
        { k, v, sizes, raw, scaled, bias, at, added, allowed, weights, scores, divisor, mask })),
      shown.length < columns.length ? element("p", { class: "quiet" },
        `${columns.length - shown.length} other ${PICTURES ? "patches" : "tokens"} have ${digits(left)} of the weight together.`) : null,
      element("div", { class: "vector result" }, element("b", {}, "output = Σ weight · v"),
        strip(output, Math.max(...Array.from(output, Math.abs)), vectorWords(output)),
        element("span", { class: "quiet" }, `${output.length} numbers: ${firstOf(output)}`)),
    ].filter(Boolean);
  }

  function table(shown, columns, { k, v, sizes, raw, scaled, bias, at, added, allowed, weights, scores, divisor,
    mask }) {
    const steps = [PICTURES ? "patch" : "token", "k", scores ? "score(q, k)" : "q · k",
      !scores && divisor !== 1 ? `÷ ${digits(divisor)}` : null, bias ? "+ bias" : null,
      mask !== "none" ? "mask" : null, "softmax", "", "v"].filter((step) => step !== null);
    const cells = (key) => [
      element("th", { scope: "row" }, label(columns[key])),
      element("td", {}, strip(k.at(key), sizes.k, vectorWords(k.at(key)))),
      element("td", { class: "figure" }, digits(raw[key])),
      !scores && divisor !== 1 ? element("td", { class: "figure" }, digits(scaled[key])) : null,
      bias ? element("td", { class: "figure" }, digits(added[key])) : null,
      mask !== "none" ? element("td", { class: "figure" }, allowed[key] ? "✓"
        : element("span", { title: "masked" }, "−∞")) : null,
      element("td", { class: "figure weight" }, digits(weights[key])),
      element("td", { class: "bar-cell" }, element("span", { class: "bar", style: `--share: ${weights[key]}` })),
      element("td", {}, strip(v.at(key), sizes.v, vectorWords(v.at(key)))),
    ].filter(Boolean);
    return element("table", { class: "walk" }, element("thead", {},
      element("tr", {}, ...steps.map((step) => element("th", { scope: "col" }, step)))),
      element("tbody", {},
        ...shown.map((key) => element("tr", { class: allowed[key] ? "" : "masked" }, ...cells(key)))));
  }

  themeListeners.push(() => panel.isConnected && !panel.hidden && update());
  return { id: "walk", title: "Walk", panel, usesHead: true, update, figures: () => [["one query’s walk", body]] };
}

function formula(scores, bias, divisor, width, mask, heat) {
  const score = scores ? "score(q, k)" : divisor === 1 ? "q · k" : `q · k / √${width}`;
  const beside = `${score}${bias ? " + bias" : ""}${mask === "none" ? "" : ", masked"}`;
  return `output = softmax(${heat === 1 ? beside : `(${beside}) / ${digits(heat)}`}) · v`;
}

function dot(one, other) {
  let sum = 0;
  for (let part = 0; part < one.length; part++) sum += one[part] * other[part];
  return sum;
}

function largest(vectors, rows) {
  return Math.max(...rows.map((row) => Math.max(...Array.from(vectors.at(row), Math.abs))));
}

function firstOf(numbers) {
  return Array.from(numbers.slice(0, 4), digits).join(", ") + (numbers.length > 4 ? ", …" : "");
}

function vectorWords(numbers) {
  return `${numbers.length} numbers: ${firstOf(numbers)}`;
}
