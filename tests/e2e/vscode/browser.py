"""A headless Chromium with one page, by Playwright, whose loop stays in a thread of its own, out of others' way."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from playwright.sync_api import Page, Playwright, ViewportSize, sync_playwright

from tests.e2e.vscode.provide import Editor
from tests.e2e.vscode.settings import View

T = TypeVar("T")
PATIENCE_MS = 40_000


class Browser:
    """`do` runs a call on the page and returns what it returns."""

    def __init__(self, editor: Editor, view: View) -> None:
        self._editor, self._view = editor, view
        self._thread = ThreadPoolExecutor(1)
        self._playwright: Playwright | None = None
        self._page: Page | None = None

    def open(self, address: str, selector: str) -> None:
        """Go to an address, and wait until `selector` is there."""

        def browse() -> None:
            self._playwright = sync_playwright().start()
            chromium = self._playwright.chromium.launch(
                executable_path=self._editor.browser,
                args=["--no-sandbox", "--disable-gpu"],
                env={**os.environ, "LD_LIBRARY_PATH": str(self._editor.libraries)},
            )
            size = ViewportSize(width=self._view.width, height=self._view.height)
            self._page = chromium.new_page(viewport=size, device_scale_factor=self._view.scale)
            self._page.set_default_timeout(PATIENCE_MS)
            self._page.goto(address, wait_until="commit")
            self._page.wait_for_selector(selector)

        self._thread.submit(browse).result()

    def do(self, call: Callable[[Page], T]) -> T:
        assert self._page
        return self._thread.submit(call, self._page).result()

    def evaluate(self, script: str, argument: Any = None) -> Any:
        """Run a script in the page."""
        return self.do(lambda page: page.evaluate(script, argument))

    def wait_for(self, selector: str, hidden: bool = False) -> None:
        """Until an element is there and to be seen, or is not."""
        self.do(lambda page: page.wait_for_selector(selector, state="hidden" if hidden else "visible"))

    def close(self) -> None:
        if self._playwright:
            self._thread.submit(self._playwright.stop).result()
        self._thread.shutdown()
