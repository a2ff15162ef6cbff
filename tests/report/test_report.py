"""The report of a batch, in a real browser: what a person sees, and what hostile texts in a journal can do (nothing)."""

import re
import time

import pytest
from chromium import Browser, found
from journals import Journal, finish, night, record

import agentjob

needs_browser = pytest.mark.skipif(found() is None, reason="SKIPPED: Chromium is not installed (apt-get install chromium)")
WIDTHS = (1280, 390)
#: Types words into the filter.
FIND = "{{ const box = document.getElementById('find'); box.value = '{}'; box.dispatchEvent(new Event('input')); }}"
SCHEMES = ("light", "dark")

#: Each does something, or looks like something else, wherever a text is taken for markup.
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "' onmouseover='alert(1)' x='",
    "</title></style></script><script>alert(1)</script>",
    "<!-- --><iframe src=javascript:alert(1)>",
    "javascript:alert(1)",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<base href=https://evil.example/><a href=x>x</a>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<style>@import 'https://evil.example/x'</style>",
    "{{constructor.constructor('alert(1)')()}}${alert(1)}",
    "\u202egnp.exe\u2066\u200b\u2028\u0000\u001b[31m",
    "]]><x:script xmlns:x='http://www.w3.org/1999/xhtml'>alert(1)</x:script>",
    "https://evil.example/\"onclick=\"alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "x" * 5000,
]


@pytest.fixture(scope="module")
def browser():
    with Browser() as browser:
        yield browser


@pytest.fixture
def page(tmp_path):
    """Writes a journal's report, and returns its path."""

    def written(journal, name="night"):
        path = tmp_path / f"{name}.html"
        agentjob.write_batch_report(journal.write(tmp_path / f"{name}.journal"), path)
        return path

    return written


@pytest.fixture
def quiet(browser):
    """A browser as a person has it; nothing may go wrong in it meanwhile."""
    browser.size(1280)
    browser.media()
    browser.scripts(True)
    for heard in (browser.requests, browser.errors, browser.dialogs):
        heard.clear()
    yield browser
    assert [url for url in browser.requests if not url.startswith("file:")] == []
    assert (browser.errors, browser.dialogs) == ([], [])


def hostile(text):
    """A journal that has this text in every field that holds a text."""
    journal = Journal(base_url=f"https://api.example.com/{text}", project_id=text, rate=text, items=4)
    job = {"id": text, "status": text, "source": {"repository": text, "ref": text}, "model": text, "prLink": text}
    job.update(createdAt=text, archivedAt=text)
    journal.sending(1, text, own_key=text[:1000] or "x")
    journal.at += 1
    journal.ended(1, "accepted", text[:1000] or "x", job)
    journal.finished(1, {**job, "prLink": f"https://{text}"}, text[:1000] or "x")
    journal.sending(2, text)
    journal.ended(2, "rejected", error={"kind": "not_found", "http_status": 404, "request_id": text})
    journal.sending(3, text)
    journal.ended(3, "unknown", error={"kind": "server", "http_status": 503, "request_id": text})
    journal.decided(3, "resend")
    journal.paused("rate_limit", 1)
    journal.sending(4, text)
    return journal


@needs_browser
@pytest.mark.parametrize("text", HOSTILE, ids=[f"{n}" for n in range(len(HOSTILE))])
def test_hostile_texts_in_every_field_are_inert(quiet, page, text):
    quiet.open(page(hostile(text)))
    facts = quiet.run(
        """({
            scripts: document.scripts.length, styles: document.styleSheets.length, links: [...document.links].map((a) => a.href),
            frames: document.querySelectorAll("iframe,object,embed,base,link,img,video").length,
            handlers: [...document.querySelectorAll("*")].flatMap((e) => e.getAttributeNames()).filter((n) => n.startsWith("on")),
            metas: document.querySelectorAll("meta[http-equiv]").length, rows: document.querySelectorAll("#messages tbody tr").length,
            text: document.body.innerText, hidden: document.getElementById("controls").hidden,
        })"""
    )
    assert (facts["scripts"], facts["styles"], facts["frames"], facts["handlers"], facts["metas"]) == (1, 1, 0, [], 1)
    assert facts["rows"] == 4 and facts["hidden"] is False, "the page's own script runs"
    assert all(link.startswith(("https://", "file:")) and "evil" not in link for link in facts["links"])
    if text.isprintable() and len(text) < 100:
        assert text in re.sub(r"\s+", " ", facts["text"]) or "  " in text, "it is shown as it is"
    for sign in "\u202e\u2066\u200b\u2028\0\x1b":
        assert sign not in facts["text"]


@needs_browser
def test_a_script_that_got_into_the_page_would_not_run(browser, page):
    path = page(night(20))
    broken = path.read_text().replace("<h1>", "<script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\"><h1>")
    path.write_text(broken)
    browser.scripts(True)
    browser.errors.clear()
    browser.open(path)
    assert browser.run("document.title") != "broken"
    assert any("Content Security Policy" in error for error in browser.errors), "the policy says so"


#: For each text that is shown: its contrast with what is behind it, as WCAG 2 computes it.
CONTRASTS = """(() => {
    const parse = (color) => { const n = color.match(/[\\d.]+/g).map(Number); return [n[0], n[1], n[2], n[3] ?? 1]; };
    const light = ([r, g, b]) => {
        const part = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
        return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    };
    const over = ([r, g, b, a], under) => [r * a + under[0] * (1 - a), g * a + under[1] * (1 - a), b * a + under[2] * (1 - a), 1];
    const behind = (element) => {
        const layers = [];
        for (let at = element; at; at = at.parentElement) layers.unshift(parse(getComputedStyle(at).backgroundColor));
        return layers.reduce((under, layer) => over(layer, under), [255, 255, 255, 1]);
    };
    const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const check = (element, style, text) => {
        const under = behind(element), color = over(parse(style.color), under);
        const [a, b] = [light(color), light(under)].sort((x, y) => y - x);
        found.push([(a + 0.05) / (b + 0.05), text.slice(0, 40), style.color]);
    };
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement, text = walker.currentNode.data.trim();
        if (!text || /^(SCRIPT|STYLE|OPTION|TITLE)$/i.test(element.tagName) || !element.checkVisibility()) continue;
        check(element, getComputedStyle(element), text);
        for (const pseudo of ["::before", "::after"]) {
            const style = getComputedStyle(element, pseudo);
            if (!["none", "normal", '""'].includes(style.content)) check(element, style, style.content);
        }
    }
    return found;
})()"""


@needs_browser
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_text_has_enough_contrast(quiet, page, width, scheme):
    quiet.size(width)
    quiet.media(scheme)
    quiet.open(page(night(60, unsent=3)))
    quiet.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    background = quiet.run("getComputedStyle(document.documentElement).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light"), "the page has both schemes"
    contrasts = quiet.run(CONTRASTS)
    assert len(contrasts) > 300
    assert [found for found in contrasts if found[0] < 4.5] == []


@needs_browser
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_page(quiet, page, width):
    quiet.size(width)
    for journal in (night(60), hostile("x" * 5000)):
        quiet.open(page(journal, str(time.monotonic_ns())))
        assert quiet.run("document.documentElement.scrollWidth") <= width


@needs_browser
def test_it_can_be_read_without_scripts(quiet, page):
    quiet.scripts(False)
    quiet.open(page(night(60, unsent=3)))
    quiet.scripts(True)
    facts = quiet.run("({text: document.body.innerText, rows: document.querySelectorAll('#messages tbody tr').length, hidden: controls.hidden})")
    assert facts["rows"] == 60 and facts["hidden"], "what only a script can do is not shown"
    for shown in ("What to do next", "agentjob batch resolve", "Timeline", "Rate", "Decisions", "TICKET-5", "pull/101", "3 messages were never"):
        assert shown in facts["text"], shown


def numbers(browser):
    return browser.run("[...document.querySelectorAll('#messages tbody tr:not([hidden]) th')].map((one) => Number(one.textContent))")


@needs_browser
def test_the_table_sorts_and_filters(quiet, page):
    quiet.open(page(night(60)))
    assert numbers(quiet) == list(range(1, 61))
    click = "document.querySelectorAll('#messages thead button')[{}].click()"
    quiet.run(click.format(0))
    assert numbers(quiet) == list(range(60, 0, -1)), "by number, not by text"
    assert quiet.run("document.querySelector('#messages thead th').ariaSort") == "descending"
    quiet.run(click.format(7))
    times = "[...document.querySelectorAll('#messages tbody td:nth-child(8)')].map((one) => one.dataset.v ?? '')"
    for order in (1, -1):
        took = quiet.run(times)
        assert "" in took and took.index("") == len(took) - took.count(""), "an empty cell is last in either direction"
        took = [int(one) for one in took if one]
        assert took == sorted(took)[::order] and max(took) > 10_000
        quiet.run(click.format(7))
    quiet.run("sort.value = '2'; sort.dispatchEvent(new Event('change'))")
    assert numbers(quiet)[:12] == list(range(1, 13)), "job_2 is before job_10"
    quiet.run("document.querySelector('[value=accepted]').click()")
    quiet.run("document.querySelector('[value=failed]').click()")
    states = set(quiet.run("[...document.querySelectorAll('#messages tbody tr:not([hidden])')].map((one) => one.dataset.s)"))
    assert states and not any("accepted" in state for state in states)
    quiet.run("document.querySelectorAll('[name=state]').forEach((one) => { if (!one.checked) one.click(); })")
    quiet.run(FIND.format("TICKET-10 "))
    quiet.run("new Promise((done) => { const look = () => shown.textContent.startsWith('1 of 60') ? done() : setTimeout(look, 10); look(); })")
    assert numbers(quiet) == [10]


@needs_browser
def test_it_can_be_used_with_the_keyboard_alone(quiet, page):
    quiet.open(page(night(20)))
    seen = []
    for _ in range(60):
        quiet.press("Tab", 9)
        at = quiet.run("document.activeElement.id || document.activeElement.tagName + ' ' + document.activeElement.textContent.slice(0, 20)")
        outline = quiet.run("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", f"{at} shows that it has the focus"
        seen.append(at)
        if at == "BUTTON #":
            break
    assert seen[0].startswith("A Skip") and {"find", "sort"} < set(seen) and any(at.startswith("SUMMARY") for at in seen)
    quiet.press("Enter", 13)
    assert numbers(quiet) == list(range(20, 0, -1))


@needs_browser
def test_a_screen_reader_gets_a_table_and_names(quiet, page):
    for width in WIDTHS:
        quiet.size(width)
        quiet.open(page(night(10), f"at-{width}"))
        nodes = quiet.call("Accessibility.getFullAXTree")["nodes"]
        roles = [node["role"]["value"] for node in nodes if not node.get("ignored")]
        assert roles.count("table") >= 1 and roles.count("row") >= 10 and roles.count("image") >= 2
        for node in nodes:
            if node.get("role", {}).get("value") in ("image", "link", "button", "searchbox", "combobox", "checkbox") and not node.get("ignored"):
                assert node["name"]["value"], node


@needs_browser
def test_it_prints_without_its_controls_and_in_dark_ink(quiet, page):
    quiet.open(page(night(30)))
    quiet.media("light", "print")
    facts = quiet.run("({controls: getComputedStyle(controls).display, background: getComputedStyle(document.documentElement).backgroundColor})")
    assert facts == {"controls": "none", "background": "rgb(255, 255, 255)"}
    assert len(quiet.call("Page.printToPDF")["data"]) > 20_000
    quiet.media()


#: A long list, as it is sent over four days.
LONG = 10_000


@pytest.fixture(scope="module")
def long_page(tmp_path_factory):
    journal = Journal(items=LONG, wait=True)
    for item in range(1, LONG + 1):
        journal.sending(item)
        journal.at += 34 + item % 5
        if item % 97 == 0:
            journal.ended(item, "rejected", error={"kind": "not_found", "http_status": 404})
        else:
            journal.ended(item, "accepted", None, record(item, "active", link=False))
            finish(journal, item)
    folder = tmp_path_factory.mktemp("long")
    agentjob.write_batch_report(journal.write(folder / "long.journal"), folder / "long.html")
    return folder / "long.html"


@needs_browser
@pytest.mark.parametrize("width", WIDTHS)
def test_ten_thousand_messages_open_within_two_seconds(long_page, width):
    with Browser() as fresh:
        fresh.size(width)
        # What counts is what the page computes: on a machine that does other things, too, the clock says more than that.
        taken, computed = fresh.open(long_page), fresh.computed()
        print(f"\n{width}: {LONG} messages open in {taken:.0f} ms, of which {computed:.0f} ms computed; {long_page.stat().st_size / 1e6:.1f} MB")
        assert computed < 2000 and fresh.run("document.querySelectorAll('#messages tbody tr').length") == LONG
        fresh.run("sort.value = '8'; sort.dispatchEvent(new Event('change'))")
        fresh.run(FIND.format("pull/200"))
        fresh.run("new Promise((done) => { const look = () => parseInt(shown.textContent) < 200 ? done() : setTimeout(look, 10); look(); })")
        print(f"sorted and filtered in {fresh.computed() - computed:.0f} ms")


def test_a_page_is_made_fast(long_page, tmp_path):
    began = time.process_time()
    page = agentjob.batch_report(long_page.with_name("long.journal"))
    assert page.encode() == long_page.read_bytes(), "the same journal makes the same page"
    assert time.process_time() - began < 2
