// The answer read off at every depth: what the model would say if a layer were its last.

function depthsView() {
  const told = element("p", { class: "sentence", "aria-live": "polite" });
  const box = element("div", { class: "wide tall", tabindex: "0", role: "region", "aria-label": "Answers by depth" });
  const panel = element("div", {},
    element("p", { class: "quiet" },
      "States made for the next layer are shown to the output head. A cell holds the token that would lead there, ",
      "shaded by its probability; framed where it is already the final answer. What comes out early is a hint of ",
      "what is settled where, no more."), told, box);
  let built = "";

  function build() {
    const { depths, tokens } = text();
    built = `${now.text}`;
    if (!depths) { box.replaceChildren(); told.textContent = ""; return; }
    const names = depths.names.map((name) => name.replace(/^.*\.(\d+)$/, "layer $1"));
    const row = (at, place) => element("tr", {}, element("th", { scope: "row" }, label(tokens[at])),
      ...names.map((name, depth) => {
      const [best, chance, rank] = [depths.best[depth][place], depths.probability[depth][place],
        depths.final_rank[depth][place]];
      const shade = weightShade(chance);
      return element("td", { class: rank === 1 ? "final" : "",
        style: shaded(weightColours, shade),
        title: `${name}: ${label(best)} ${digits(chance)}; the final answer ${label(depths.final[place])} `
          + `is number ${rank}, ${digits(depths.final_probability[depth][place])}` },
        element("div", {}, element("span", { class: "word" }, label(best)), element("small", {}, chance.toFixed(2))));
    }));
    const rows = depths.at.map((at, place) => row(at, place));
    rows.forEach((one, place) => {
      one.tabIndex = place ? -1 : 0;
      one.addEventListener("focus", () => tell(place));
      one.addEventListener("pointerenter", () => tell(place));
    });
    const body = element("tbody", {}, ...rows);
    roving(body, rows, (key, at) => ({ ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 })[key]);
    box.replaceChildren(element("table", { class: "depths" },
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "after"),
        ...names.map((name) => element("th", { scope: "col" }, name)))), body));
    tell(0);
  }

  function tell(place) {
    told.textContent = text().depths.sentences[place] ?? "";
  }

  themeListeners.push(() => { built = ""; });
  return {
    id: "depths", title: "Depths", panel, figures: () => [...box.children].map((own) => ["answers by depth", own]), there: () => look.texts.some((one) => one.depths),
    update() { if (built !== `${now.text}`) build(); },
  };
}
