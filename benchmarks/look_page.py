"""The two large pages of ``regard look`` in headless Chromium: size, time to the first picture, time to switch a head.

    python benchmarks/look_page.py           prints them beside their bars and writes results/look_page.json
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import machine_facts, write_result

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from regard.inspection.look.gathering import look  # noqa: E402
from regard.inspection.look.page import look_page  # noqa: E402
from tests.inspection.browsing import chromium  # noqa: E402
from tests.interop.untrained import WRITER, saved  # noqa: E402

PAGES = (
    ("512 tokens × 6 layers × 8 heads", 512, 6, 8, 20e6),
    ("1,000 tokens × 12 layers × 12 heads", 1000, 12, 12, 40e6),
)
FIRST_PICTURE, SWITCH = 2.0, 0.1  # seconds; bars for the first page
SWITCHES = 12
SWITCH_SCRIPT = """async (place) => {
  const select = document.getElementById("head");
  const from = performance.now();
  select.value = select.options[place % select.options.length].value;
  select.dispatchEvent(new Event("change"));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - from;
}"""


def made(folder: Path, tokens: int, layers: int, heads: int) -> tuple[Path, float, list[str]]:
    """A page of an untrained model over so many letters."""
    model: Any = {"kind": "gpt", "layers": layers, "width": 64 * heads, "heads": heads,
                  "position": {"kind": "learned", "max_length": tokens}}  # fmt: skip
    task = {"kind": "language-model", "max_length": tokens, "sample": 0}
    run = saved({**WRITER, "model": model, "task": task}, folder / str(tokens))
    text = ("der Hund sieht den Vogel im Garten und singt " * tokens)[:tokens]
    started = time.perf_counter()
    found = look(run, [text])
    page = folder / f"{tokens}.html"
    page.write_text(look_page(found), encoding="utf-8")
    return page, time.perf_counter() - started, found.left_out


def measure(browser: Any, file: Path) -> dict[str, float]:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_function("performance.getEntriesByName('first picture').length")
    first = page.evaluate("performance.getEntriesByName('first picture')[0].startTime") / 1000
    page.get_by_role("tab", name="Heads").click()
    switches = [page.evaluate(SWITCH_SCRIPT, place) / 1000 for place in range(1, SWITCHES + 1)]
    page.close()
    assert not complaints, complaints
    return {"first_picture": first, "switch_median": statistics.median(switches), "switch_worst": max(switches)}


def main() -> None:
    result: dict[str, Any] = {"machine": machine_facts(), "pages": {}}
    print(f"{'page':40}{'size':>12}{'bar':>8}{'made in':>10}{'first picture':>15}{'head switch':>13}{'worst':>9}")
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        for name, tokens, layers, heads, most in PAGES:
            page, seconds, left_out = made(Path(folder), tokens, layers, heads)
            size = page.stat().st_size
            found = measure(browser, page)
            result["pages"][name] = {"bytes": size, "seconds_to_make": seconds, **found}
            print(
                f"{name:40}{size / 1e6:9.1f} MB{most / 1e6:5.0f} MB{seconds:8.1f} s{found['first_picture']:13.2f} s"
                f"{1000 * found['switch_median']:10.0f} ms{1000 * found['switch_worst']:6.0f} ms"
            )
            for sentence in left_out:
                print(f"  {sentence}")
    print(f"bars for the first page: first picture under {FIRST_PICTURE:g} s, head switch under {1000 * SWITCH:.0f} ms")
    write_result("look_page", result)


if __name__ == "__main__":
    main()
