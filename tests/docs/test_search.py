"""The search box of the site, in a real browser: what a user types finds the page that is about it."""

import functools
import http.server
import json
import pathlib
import sys
import threading

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site"
sys.path.append(str(ROOT / "tests" / "report"))
from chromium import Browser, found  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="the site is not built: make docs"),
    pytest.mark.skipif(found() is None, reason="Chromium is not installed (apt-get install chromium)"),
]
#: What a user types, and the page that is one of the first three that are found.
WORDS = {
    "unknown": "unknown.html",
    "resend": "unknown.html",
    "proxy": "how-to/proxy-and-ca.html",
    "AGENTJOB_BASE_URL": "reference/settings.html",
}
#: Types into the box as a person does, and waits for the results.
TYPE = """(async () => {
    const until = async (ready) => {
        for (;;) {
            const value = ready();
            if (value) return value;
            await new Promise((wake) => setTimeout(wake, 20));
        }
    };
    const box = await until(() => document.querySelector("[data-md-component=search-query]"));
    box.focus();
    await until(() => document.querySelector("[data-md-component=search-result] .md-search-result__meta").textContent.trim());
    box.value = WORD;
    for (const kind of ["keydown", "input", "keyup"]) box.dispatchEvent(new Event(kind, { bubbles: true }));
    const links = () => [...document.querySelectorAll(".md-search-result__item > a")].map((link) => new URL(link.href).pathname.slice(1));
    return await until(() => links().length && links());
})()"""


@pytest.fixture(scope="module")
def address():
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("word", WORDS)
def test_the_search_box_finds_the_page_about(word, address):
    with Browser() as browser:
        browser.open(address + "index.html")
        results = list(dict.fromkeys(browser.run(TYPE.replace("WORD", json.dumps(word)))))
        assert WORDS[word] in results[:3], results[:10]
        assert all(request.startswith((address, "data:", "blob:")) for request in browser.requests), browser.requests
