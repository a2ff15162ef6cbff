"""The site that `make docs` built: no dead link, an entry for every flag, and every page fits a phone and a screen, light and dark."""

import argparse
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site"
sys.path.append(str(ROOT / "tests" / "report"))
sys.path.append(str(ROOT / "python" / "tools"))
from chromium import found  # noqa: E402
from commands import commands, emulator_help, emulator_parser  # noqa: E402

from agentjob._cli.flags import SETTINGS_GROUPS  # noqa: E402

#: What the browser does with each page, in frames of these widths.
WIDTHS = [390, 1280]

pytestmark = pytest.mark.skipif(not (SITE / "index.html").exists(), reason="the site is not built: make docs")


def pages():
    """The pages that mkdocs made; rustdoc and Doxygen check their own."""
    found = [path for path in SITE.rglob("*.html") if path.relative_to(SITE).parts[0] not in ("rust", "c") and path.name != "404.html"]
    assert len(found) > 30
    return sorted(found)


def test_no_link_is_dead():
    names = {}

    def anchors(path):
        if path not in names:
            names[path] = set(re.findall(r'\b(?:id|name)="?([^"\s>]+)', path.read_text(encoding="utf-8", errors="replace")))
        return names[path]

    dead = []
    for page in pages():
        for link in re.findall(r'\b(?:href|src)="?([^"\s>]+)', page.read_text(encoding="utf-8")):
            link = html.unescape(link)
            if re.match(r"[a-z]+:|//", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / urllib.parse.unquote(path)).resolve() if path else page
            if target.is_dir():
                target /= "index.html"
            if "c" == target.relative_to(SITE).parts[0] and not (SITE / "c").exists():
                continue  # without doxygen
            if not target.exists() or (anchor and target.suffix == ".html" and urllib.parse.unquote(anchor) not in anchors(target)):
                dead.append(f"{page.relative_to(SITE)}: {link}")
    assert not dead, "\n".join(dead)


def test_nothing_is_loaded_from_elsewhere():
    for page in pages():
        for address in re.findall(r'<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)="?(https?://[^"\s>]+)', page.read_text(encoding="utf-8")):
            raise AssertionError(f"{page.name} loads {address}")


def test_every_flag_of_every_command_has_an_entry():
    page = (SITE / "reference" / "command-line.html").read_text(encoding="utf-8")
    anchors = set(re.findall(r'<h4 id="([^"]+)"', page))
    checked = 0
    for name, command in commands():
        assert re.search(rf'<h3 id="[^"]*">{name}<', page), name
        for group in command._action_groups:
            place = [group.title] if group.title in SETTINGS_GROUPS else name.split()[1:]
            for flag in group._group_actions:
                if flag.dest != "help" and flag.help != argparse.SUPPRESS:
                    entry = "-".join([*place, (flag.option_strings or [flag.dest])[-1].strip("-")])
                    assert entry in anchors, f"{name}: {entry}"
                    checked += 1
    assert checked > 100
    # The emulator's own program isn't parsed here: its flags come from its help.
    named = {flag for action in emulator_parser()._actions for flag in action.option_strings} - {"-h", "--help"}
    assert named == set(re.findall(r"^  (--[\w-]+)", emulator_help(), re.M))


def test_arguments_are_lists_and_examples_are_code_in_the_reference_of_python():
    page = (SITE / "reference" / "python.html").read_text(encoding="utf-8")
    assert len(re.findall(r"<li>\s*(?:<p>)?<strong><code>\w+", page)) > 35
    assert "<blockquote>" not in page and "<summary>" not in page


def test_every_command_has_a_manual_page_that_man_can_show():
    manual = ROOT / "build" / "man"
    names = {page.stem for page in manual.glob("*.1")}
    assert names == {name.replace(" ", "-") for name, _ in commands()}
    if not shutil.which("man"):
        pytest.skip("man is not installed")
    for page in manual.glob("*.1"):
        shown = subprocess.run(["man", "--warnings", "-l", str(page)], capture_output=True, text=True, timeout=60)
        assert shown.returncode == 0 and not shown.stderr, f"{page.name}: {shown.stderr}"
        # Bold letters are printed twice over each other where there is no terminal.
        text = re.sub(".\x08", "", shown.stdout)
        assert page.stem in text and "SEE ALSO" in text and ("OPTIONS" in text or "EXAMPLES" in text), page.name
        assert page.stem == "agentjob-emulator" or "EXIT STATUS" in text, page.name
        # Each of --help's lines begins where it should.
        assert not re.search(r"variable *\n? *waits", text), page.name


MEASURE = """<!doctype html><body><pre id=result></pre><script>
const pages = %s, widths = %s, wide = [], broken = [];
async function show(page, width) {
    const frame = document.createElement("iframe");
    frame.style = `width:${width}px;height:900px;border:0`;
    document.body.append(frame);
    await new Promise((done, failed) => { frame.onload = done; frame.onerror = failed; frame.src = page; });
    const root = frame.contentDocument.documentElement;
    if (root.scrollWidth > width) wide.push(`${page} at ${width}: ${root.scrollWidth}`);
    for (const image of frame.contentDocument.images) if (image.complete && !image.naturalWidth) broken.push(`${page}: ${image.src}`);
    frame.remove();
}
(async () => {
    for (const page of pages) for (const width of widths) await show(page, width);
    document.getElementById("result").textContent = "RESULT" + JSON.stringify({wide, broken}) + "END";
})();
</script>"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_a_phone_and_a_screen(scheme, tmp_path):
    chromium = found()
    if not chromium:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    frame = tmp_path / "frame.html"
    frame.write_text(MEASURE % (json.dumps([path.as_uri() for path in pages()]), WIDTHS), encoding="utf-8")
    command = [chromium, "--headless", "--disable-gpu", "--disable-web-security", "--allow-file-access-from-files", "--dump-dom",
               "--virtual-time-budget=600000", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--no-sandbox"] if os.getuid() == 0 else []
    command += ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    shown = subprocess.run([*command, frame.as_uri()], capture_output=True, text=True, timeout=300)
    result = re.search(r"RESULT(.*?)END", shown.stdout, re.S)
    assert result, shown.stderr[-2000:]
    assert json.loads(html.unescape(result[1])) == {"wide": [], "broken": []}
