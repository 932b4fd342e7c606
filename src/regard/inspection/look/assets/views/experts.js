// Which experts of a mixture every token was sent to, with which weights, and how busy each of them was.

function expertsView() {
  const layer = element("select", { id: "experts-layer", onchange: () => { chosen = Number(layer.value); build(); } });
  const told = element("p", { class: "sentence", "aria-live": "polite" });
  const box = element("div", { class: "wide tall", tabindex: "0", role: "region", "aria-label": "Experts by token" });
  const panel = element("div", {},
    element("p", { class: "choose" }, element("label", { for: "experts-layer" }, "layer "), layer),
    element("p", { class: "quiet" },
      "A cell holds the weight of an expert's answer at a token; where it is empty, the expert was not asked. ",
      "The last row is the share of all choices that fell on each."), told, box);
  let built = "", chosen = 0;

  function build() {
    const { experts } = text();
    built = `${now.text}`;
    chosen = Math.min(chosen, experts.length - 1);
    layer.replaceChildren(...experts.map((one, place) => element("option", { value: place }, one.name)));
    if (chosen < 0) { chosen = 0; box.replaceChildren(); told.textContent = ""; return; }
    layer.value = String(chosen);
    const { tokens, weights, load, sentence } = experts[chosen];
    const most = Math.max(...weights.flat(), 1e-9);
    const cell = (value, greatest, words) => element("td", value
      ? { style: shaded(weightColours, weightShade(value, greatest)), title: words } : {}, value ? value.toFixed(2) : "");
    const rows = weights.map((row, at) => element("tr", {}, element("th", { scope: "row" }, label(tokens[at] ?? `${at}`)),
      ...row.map((weight, expert) => cell(weight, most, `${label(tokens[at] ?? `${at}`)}: expert ${expert}, ${digits(weight)}`))));
    const last = element("tr", {}, element("th", { scope: "row" }, "share of choices"),
      ...load.map((share, expert) => cell(share, 1, `expert ${expert}: ${digits(share)} of all choices`)));
    box.replaceChildren(element("table", { class: "experts" },
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "expert"),
        ...load.map((_, expert) => element("th", { scope: "col" }, `${expert}`)))),
      element("tbody", {}, ...rows), element("tfoot", {}, last)));
    told.textContent = sentence;
  }

  themeListeners.push(() => { built = ""; });
  return {
    id: "experts", title: "Experts", panel,
    figures: () => [...box.children].map((own) => ["experts by token", own]),
    there: () => look.texts.some((one) => one.experts.length),
    update() { if (built !== `${now.text}`) build(); },
  };
}
