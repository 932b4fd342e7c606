// Small parts that every page is built from: elements, tokens as labels, numbers with three digits, light and dark.

const SMALLEST = 1e-20; // what is below is not told apart

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "class") made.className = value;
    else if (key === "style") made.style.cssText = value;
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== undefined && value !== null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
    // strings become text, never markup
  return made;
}

function drawn(name, properties = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(properties)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A token as a label: line ends and lone spaces are made visible. */
function label(token) {
  if (token === "") return "∅";
  return token.replaceAll("\n", "⏎").replaceAll("\t", "⇥").replaceAll("\r", "␍").replace(/^ +$/,
    (all) => "␣".repeat(all.length));
}

function quoted(token) {
  return `“${label(token)}”`;
}

function digits(value) {
  if (value === 0) return "0";
  if (value > 0 && value < SMALLEST) return "< 1e-20";
  const shown = value.toPrecision(3);
  return shown.includes("e") ? shown.replace("e+", "e") : shown.replace("-", "−");
}

function percent(share) {
  return share >= 0.0995 ? `${Math.round(100 * share)} %` : share >= 0.00095 ? `${(100 * share).toFixed(1)} %`
    : "< 0.1 %";
}

/** The places of the greatest numbers, greatest first. */
function greatest(numbers, many) {
  const best = [];
  for (let place = 0; place < numbers.length; place++) {
    if (best.length === many && numbers[place] <= numbers[best[many - 1]]) continue;
    let at = best.length;
    while (at > 0 && numbers[best[at - 1]] < numbers[place]) at--;
    best.splice(at, 0, place);
    if (best.length > many) best.pop();
  }
  return best;
}

/** Turns arrow keys into moves of the only focusable child; returns a function that focuses one. */
function roving(box, children, move) {
  let current = 0;
  const focus = (place, really = true) => {
    if (!children[place]) return;
    children[current].tabIndex = -1;
    current = place;
    children[current].tabIndex = 0;
    if (really) children[current].focus();
  };
  children.forEach((child, place) => {
    child.tabIndex = place === 0 ? 0 : -1;
    child.addEventListener("focus", () => focus(place, false));
  });
  box.addEventListener("keydown", (event) => {
    const next = move(event.key, current);
    if (next === undefined || !children[next]) return;
    event.preventDefault();
    focus(next);
  });
  return focus;
}

const themeListeners = [];

function themeSwitch() {
  const dark = () => getComputedStyle(document.documentElement).colorScheme === "dark"
    || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  const button = element("button", { class: "theme", type: "button" });
  const tell = () => {
    button.textContent = dark() ? "☀" : "☾";
    button.setAttribute("aria-label", dark() ? "Light colours" : "Dark colours");
    button.title = button.getAttribute("aria-label");
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    tell();
    themeListeners.forEach((listener) => listener());
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    tell();
    themeListeners.forEach((listener) => listener());
  });
  tell();
  return button;
}
