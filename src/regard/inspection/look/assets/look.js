// Puts the page together: header, what is chosen, one tab for each view.

function start() {
  mixColours();
  mixHeat();
  const views = (PICTURES ? [pictureView(), rolloutView(), headsView(), walkView(), expertsView(), statisticsView()]
    : [graphView(), tokensView(), headsView(), walkView(), decodingView(), depthsView(), expertsView(),
      statisticsView(), enteringView()])
    .filter((view) => !view.there || view.there());
  const tabs = views.map((view) => element("button",
    { type: "button", role: "tab", id: `tab-${view.id}`, "aria-controls": `view-${view.id}`,
    "aria-selected": "false" }, view.title));
  const tablist = element("div", { role: "tablist", class: "tabs", "aria-label": "Views" }, ...tabs);
  const chosen = chooser();
  const notes = element("div", { class: "notes" }), saves = element("div");
  const title = element("h1", { dir: "auto" });
  views.forEach((view) => { view.panel.id = `view-${view.id}`; view.panel.setAttribute("role", "tabpanel");
    view.panel.setAttribute("aria-labelledby", `tab-${view.id}`); view.panel.hidden = true; });
  document.querySelector("main").append(
    element("header", {}, element("div", { class: "top" }, element("p", { class: "run" }, facts()), themeSwitch()),
      title, textChooser()),
    element("div", { class: "steering" }, tablist, chosen.panel), notes, ...views.map((view) => view.panel), saves,
    element("footer", {}, element("p", { class: "quiet" },
      "A weight says where a head looked, not why the model answered as it did. ",
      "Everything here is in this file; nothing was fetched.")));
  let open = null;

  function show(view) {
    open = view;
    views.forEach((one, place) => {
      one.panel.hidden = one !== view;
      tabs[place].setAttribute("aria-selected", String(one === view));
      tabs[place].tabIndex = one === view ? 0 : -1;
    });
    tabs[views.indexOf(view)].scrollIntoView({ block: "nearest", inline: "nearest" });
    chosen.panel.hidden = !view.usesHead;
    tellView({ text: now.text, head: now.head });
    if (location.hash !== `#${view.id}`) history.replaceState(null, "", `#${view.id}`);
  }

  /** Figures change with what is looked at, and so do the buttons that save them. */
  function tellView(what) {
    open.update(what);
    saves.replaceChildren(...[saveButtons(open.figures())].filter(Boolean));
  }

  roving(tablist, tabs, (key, at) =>
    ({ ArrowRight: (at + 1) % tabs.length, ArrowLeft: (at + tabs.length - 1) % tabs.length, Home: 0,
    End: tabs.length - 1 })[key]);
  tabs.forEach((tab, place) => {
    tab.addEventListener("click", () => show(views[place]));
    tab.addEventListener("focus", () => open !== views[place] && show(views[place]));
  });
  listeners.push((what) => {
    if (what.text !== undefined) tell();
    chosen.update();
    tellView(what);
  });
  themeListeners.push(() => tellView({}));
  document.addEventListener("keydown", (event) => {
    if (event.target.matches("select, input, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "n" || event.key === "p") change({ head: neighbour(event.key === "n" ? 1 : -1) });
  });
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; tellView({}); } });

  function tell() {
    title.textContent = PICTURES || text().graph ? text().text.split(/[\\/]/).at(-1) : text().text;
    title.title = text().text;
    title.className = text().text.length > 160 ? "long" : "";
    notes.replaceChildren(...text().left_out.map((sentence) => element("p", { class: "missing" }, sentence)));
  }
  now.head = text().first;
  now.at = PICTURES ? 0 : text().graph ? firstNode() : Math.min(Math.floor(rowsOf(attention()).length / 2), 12);
  tell();
  chosen.update();
  show(views.find((view) => `#${view.id}` === location.hash) ?? views[0]);
  requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("first picture"))); // it has been painted
  if (document.readyState === "loading")
    document.addEventListener("DOMContentLoaded", () => tellView({ text: now.text, head: now.head }));
}

function facts() {
  const { name, kind, parameters, task } = look.run;
  return `${name} · ${kind} · ${task} · ${parameters.toLocaleString("en")} parameters`;
}

function textChooser() {
  if (look.texts.length < 2) return null;
  if (PICTURES) return pictureChooser();
  const select = element("select", { "aria-label": "Text",
    onchange: () => change({ text: Number(select.value), at: 0 }) },
    ...look.texts.map((one, place) => element("option", { value: place }, one.text)));
  return element("p", { class: "choose" }, select);
}

/** Which attention and which head, with a step to either side. */
function chooser() {
  const layer = element("select", { id: "attention", onchange: () => change({ head: first(Number(layer.value)) }) });
  const number = element("select", { id: "head", onchange: () => change({ head: Number(number.value) }) });
  const step = (by, sign, words) => element("button",
    { type: "button", "aria-label": words, title: `${words} (${by > 0 ? "n" : "p"})`,
    onclick: () => change({ head: neighbour(by) }) }, sign);
  const panel = element("div", { class: "chosen" }, element("label", { for: "attention" }, "attention"), layer,
    element("label", { for: "head" }, "head"), number, element("span", { class: "buttons" },
      step(-1, "‹", "Previous head"), step(1, "›", "Next head")));
  const first = (own) => text().heads.findIndex((one) => one.attention === own);
  let listed = -1;
  return {
    panel,
    update() {
      if (listed !== now.text) {
        listed = now.text;
        layer.replaceChildren(...text().attentions.map((one, place) =>
          element("option", { value: place, disabled: !one.matrix }, one.name)));
      }
      layer.value = String(head().attention);
      const own = text().heads.map((_, place) => place).filter((place) => head(place).attention === head().attention);
      number.replaceChildren(...own.map((place) => element("option", { value: place },
        `${head(place).head}${head(place).key ? "" : " (thumbnail)"}`)));
      number.value = String(now.head);
    },
  };
}

start();
