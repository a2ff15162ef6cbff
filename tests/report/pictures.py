"""Takes the pictures of the documentation: build/venv/bin/python tests/report/pictures.py"""

import os
import pathlib
import tempfile

from chromium import Browser
from journals import night

import agentjob

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs" / "pictures"

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        os.chdir(folder)
        night(120, unsent=30).write(pathlib.Path("night.journal"))
        agentjob.write_batch_report("night.journal", "night.html")
        for width, height in ((1280, 1500), (390, 1500)):
            browser.size(width, height)
            browser.media("light")
            browser.open("night.html")
            (FOLDER / f"report-{width}.png").write_bytes(browser.picture())
        os.chdir("/")
