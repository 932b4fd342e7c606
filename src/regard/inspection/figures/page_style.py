"""The looks of pages that Python writes, and the little script that lights up what is pointed at."""

from __future__ import annotations

from regard.inspection.figures.standalone import DRAWING_STYLE, LIGHT

_LIGHT = " ".join(f"--{name}: {colour};" for name, colour in LIGHT.items())
_PAGE = """
@media (prefers-color-scheme: dark) { :root { --paper: #15181b; --ink: #e7e6e2; --quiet: #9ba3ac; --rule: #2d3237;
  --ground: #20252a; --accent: #83bbf7; --on-low: #fff; --on-middle: #000; --on-high: #000; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); -webkit-text-size-adjust: 100%;
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 74rem; margin: 0 auto; padding: clamp(2rem, 6vw, 5rem) clamp(1.1rem, 5vw, 4rem); }
h1, h3, .translation { font-family: ui-serif, "Iowan Old Style", "Palatino Linotype", Palatino, Georgia, serif;
  font-weight: 500; line-height: 1.25; overflow-wrap: anywhere; }
h1 { margin: 0 0 .75rem; font-size: clamp(1.9rem, 5vw, 2.9rem); letter-spacing: -.015em; }
h2 { margin: 4.5rem 0 1rem; padding-top: 1.25rem; border-top: 1px solid var(--rule);
  font-size: 1rem; font-weight: 600; }
h3, .translation { margin: 0; max-width: none; font-size: clamp(1.2rem, 3vw, 1.45rem); }
p { margin: 0 0 1rem; max-width: 42rem; }
.lead { font-size: 1.125rem; color: var(--quiet); }
.quiet, figcaption { color: var(--quiet); font-size: .875rem; }
.translation { margin: .15rem 0 .25rem; color: var(--accent); font-style: italic; }
dl { margin: 0; }
dd { margin: 0; font-variant-numeric: tabular-nums; }
.scores { display: grid; grid-template-columns: repeat(auto-fit, minmax(7rem, 1fr)); gap: 1.75rem 1.5rem;
  margin-top: 3rem; }
.scores div { display: flex; flex-direction: column-reverse; justify-content: flex-end; }
.scores dt { color: var(--quiet); font-size: .875rem; line-height: 1.4; }
.scores dd { font-size: 1.9rem; line-height: 1.3; letter-spacing: -.02em; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: 0 3rem; }
.facts div { display: flex; justify-content: space-between; gap: 1.5rem; padding: .5rem 0;
  border-bottom: 1px solid var(--rule); }
.facts dt { color: var(--quiet); }
.facts dd { text-align: right; overflow-wrap: anywhere; }
.pair { margin: 3.25rem 0 0; }
.figures { display: flex; flex-wrap: wrap; align-items: flex-start; gap: 2rem 4rem; margin-top: 1.5rem; }
figure { margin: 0; min-width: 0; max-width: 100%; }
.box { overflow-x: auto; padding: 3px; scrollbar-width: thin; }
.box:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 6px; }
svg { display: block; height: auto; max-width: 100%; font-family: inherit; }
.links path, .word, .cell, .heat-map text { transition: opacity .12s; }
"""
_POINTED_AT = """
.word { cursor: default; outline: none; }
.word:hover rect, .word.held rect { fill: var(--ground); }
.word:focus-visible rect { stroke: var(--accent); stroke-width: 2; }
.lighting [data-s]:not(.lit), .lighting [data-t]:not(.lit) { opacity: .16; }
.lighting .word:not(.lit), .lighting .heat-map > text:not(.lit) { opacity: .4; }
.scale { display: inline-flex; vertical-align: -1px; margin: 0 .35em; border-radius: 3px; overflow: hidden; }
.whole { white-space: nowrap; }
.scale i { width: 1.1em; height: .8em; background: var(--accent); }
.curve { width: 100%; max-width: 46rem; }
.save { display: inline-block; margin: .5rem 0; color: var(--quiet); font-size: .8125rem; }
.key::before { content: ""; display: inline-block; width: 1.5em; margin-right: .5em; vertical-align: .28em;
  border-top: 1.5px solid var(--quiet); }
.key + .key { margin-left: 1.5em; }
.key.second::before { border-top: 3px solid var(--accent); }
@media (max-width: 40rem) { .curve text { font-size: 21px; } }
@media (prefers-reduced-motion: reduce) { * { transition: none !important; } }
@media print { :root { --paper: #fff; --ink: #000; --quiet: #444; --rule: #ccc; --ground: #f3f3f3; --accent: #0b4f94;
    --on-low: #000; --on-middle: #000; --on-high: #fff; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } main { max-width: none; padding: 0; }
  .pair, figure, .scores { break-inside: avoid; } h2 { break-after: avoid; }
  .save { display: none; } .box { overflow: visible; } svg { min-width: 0 !important; } }
"""
STYLE = f"\n:root {{ color-scheme: light dark; {_LIGHT} }}{_PAGE}{DRAWING_STYLE}{_POINTED_AT}"

SCRIPT = """
for (const pair of document.querySelectorAll(".pair")) {
  const weights = JSON.parse(pair.dataset.weights);
  const marks = pair.querySelectorAll("[data-s], [data-t]");
  const agree = (one, other) => one === undefined || other === undefined || one === other;
  const number = (mark, s, t) => {
    const row = mark.dataset.t ?? t, column = mark.dataset.s ?? s;
    return row === undefined || column === undefined ? "" : weights[row][column].toFixed(2);
  };
  const light = (held) => {
    const { s, t } = held ? held.dataset : {};
    pair.classList.toggle("lighting", Boolean(held));
    for (const mark of marks) {
      const lit = held && agree(s, mark.dataset.s) && agree(t, mark.dataset.t);
      mark.classList.toggle("lit", Boolean(lit));
      mark.classList.toggle("held", mark === held);
      const slot = mark.querySelector(".number");
      if (slot) slot.textContent = lit ? number(mark, s, t) : "";
    }
  };
  const at = (element) => element && pair.contains(element) ? element.closest("[data-s], [data-t]") : null;
  const focused = () => at(document.activeElement);
  pair.addEventListener("pointerover", (event) => light(at(event.target) || focused()));
  pair.addEventListener("pointerleave", () => light(focused()));
  pair.addEventListener("focusin", () => light(focused()));
  pair.addEventListener("focusout", () => light(null));
}
"""
