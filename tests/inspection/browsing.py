"""A real Chromium for tests of pages; where none can be had they are skipped in plain words."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
QUIET = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
)  # fmt: skip


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser with an empty profile of its own."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("pages are not tried in a browser: there is no Chromium here; apt-get install chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(QUIET))
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Seen:
    """A page that is open, and everything that it asked for or complained about."""

    page: Any
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def text(self, selector: str) -> str:
        return self.page.locator(selector).first.inner_text()

    def texts(self, selector: str) -> list[str]:
        return self.page.locator(selector).all_inner_texts()

    def tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name).click()

    def check_tabs(self, names: Sequence[str]) -> None:
        """Every tab has something to show."""
        for name in names:
            self.tab(name)
            panel = self.page.get_by_role("tabpanel", name=name)
            assert panel.is_visible()
            assert len(panel.inner_text()) > 20


def opened(browser: Any, file: Path, *, width: int = 1200, colours: str = "light", touch: bool = False) -> Seen:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=colours, has_touch=touch)
    seen = Seen(context.new_page())
    seen.page.on("request", lambda request: seen.requests.append(request.url))
    seen.page.on("console", lambda message: seen.complaints.append(message.text))
    seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    seen.page.set_default_timeout(15_000)
    seen.page.goto(file.as_uri())
    return seen
