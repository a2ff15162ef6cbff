"""The file of a batch: every way in which it can be wrong, and what is said of it."""

import json
import time

import pytest

from agentjob import InvalidArgumentError
from agentjob._cli.batch.items import read_items

GOOD = b'{"job_id":"a","prompt":"x"}\n'

JSONL = {
    "empty": (b"", "FILE has no messages in it"),
    "blank lines alone": (b"\n  \n\r\n", "FILE has no messages in it"),
    "not UTF-8": (GOOD + b"\xe9\n", "FILE, line 2: it is not UTF-8; save the file as UTF-8"),
    "UTF-16": (GOOD.decode().encode("utf-16"), "FILE, line 1: it is not UTF-8; save the file as UTF-8"),
    "not JSON": (GOOD + b"\nnope", "FILE, line 3: it is not JSON: expecting value, at character 1"),
    "two on a line": (GOOD[:-1] + GOOD, "FILE, line 1: it is not JSON: extra data, at character 28"),
    "a raw tab": (b'{"job_id":"a","prompt":"\t"}', "FILE, line 1: it is not JSON: invalid control character, at character 25"),
    "a deep one": (b"[" * 100_000, "FILE, line 1: it is not JSON: it is nested too deeply"),
    "a long number": (b'{"job_id":' + b"1" * 5000 + b"}", None),
    "a list": (b'[{"job_id":"a","prompt":"x"}]', "FILE, line 1: it is a list; give one object a line"),
    "a string": (b'"x"', "FILE, line 1: it is a string; give one object a line"),
    "no job": (b'{"prompt":"x"}', "FILE, line 1: job_id is missing"),
    "no prompt": (b'{"job_id":"a"}', "FILE, line 1: prompt is missing"),
    "a typing mistake": (b'{"job_id":"a","promt":"x"}', 'FILE, line 1: prompt is missing; it has an unknown field "promt"'),
    "an empty job": (b'{"job_id":"","prompt":"x"}', "FILE, line 1: job_id is empty"),
    "an empty prompt": (b'{"job_id":"a","prompt":""}', "FILE, line 1: prompt is empty"),
    "an empty key": (b'{"job_id":"a","prompt":"x","key":""}', "FILE, line 1: key is empty"),
    "a number for a job": (b'{"job_id":17,"prompt":"x"}', "FILE, line 1: job_id is a number; give a string"),
    "null for a prompt": (b'{"job_id":"a","prompt":null}', "FILE, line 1: prompt is null; give a string"),
    "a list for a key": (b'{"job_id":"a","prompt":"x","key":[]}', "FILE, line 1: key is a list; give a string"),
    "an unknown field": (
        b'{"job_id":"a","prompt":"x","model":"m"}',
        'FILE, line 1: it has an unknown field "model"; the fields are job_id, prompt and key',
    ),
    "a field twice": (b'{"job_id":"a","prompt":"x","prompt":"y"}', "FILE, line 1: it has prompt twice"),
    "a field twice in disguise": (b'{"job_id":"a","prompt":"x","\\u0070rompt":"y"}', "FILE, line 1: it has prompt twice"),
    "half a character": (
        b'{"job_id":"a","prompt":"\\ud83d"}',
        "FILE, line 1: prompt has half a character in it (an escape from \\ud800 to \\udfff without its other half)",
    ),
    "two with one key": (
        b'{"job_id":"a","prompt":"x","key":"k"}\n\n{"job_id":"b","prompt":"y","key":"k"}',
        'FILE, line 3: its key "k" is that of line 1, too; give each line a key of its own',
    ),
    "two lines": (GOOD + b"1\n2\n", "FILE, line 2: it is a number; give one object a line (and 1 more line)"),
    "four lines": (GOOD + b"1\n2\n" + GOOD + b"{}\nx", "FILE, line 2: it is a number; give one object a line (and 3 more lines)"),
}

HEADER = "; give job_id, prompt and perhaps key, with commas between"
CSV = {
    "empty": (b"", "FILE has no messages in it"),
    "a header alone": (b"job_id,prompt\n", "FILE has no messages in it"),
    "no header": (b"a,x\n", f'FILE, line 1: the header has no column job_id; it is "a,x"{HEADER}'),
    "semicolons": (b"job_id;prompt\na;x\n", f'FILE, line 1: the header has no column job_id; it is "job_id;prompt"{HEADER}'),
    "an unknown column": (b"job_id,prompt,model\n", f'FILE, line 1: the header has an unknown column "model"{HEADER}'),
    "a column twice": (b"job_id,prompt,prompt\n", f"FILE, line 1: the header has the column prompt twice{HEADER}"),
    "not UTF-8": (b"job_id,prompt\na,\xe9\n", "FILE, line 2: it is not UTF-8; save the file as UTF-8"),
    "a field less": (b'job_id,prompt\na,"x\ny"\n\nb\n', "FILE, line 5: it has 1 field, and the header has 2"),
    "a field more": (b"job_id,prompt\na,x,y\n", "FILE, line 2: it has 3 fields, and the header has 2"),
    "an empty prompt": (b'job_id,prompt\n"a\nb",\n', "FILE, line 2: prompt is empty"),
    "an empty job": (b"job_id,prompt\n,x\nb,\n", "FILE, line 2: job_id is empty (and 1 more line)"),
    "an open quote": (b'job_id,prompt\na,x\nb,"x\ny\n', "FILE, line 3: the quote that begins in it is never closed"),
    "a quote inside": (
        b'job_id,prompt\na,"x"y\n',
        'FILE, line 2: text stands behind a closing quote; a quote inside a quoted field is written ""',
    ),
    "two with one key": (
        b"key,job_id,prompt\nk,a,x\n,a,x\n,a,x\nk,a,x\n",
        'FILE, line 5: its key "k" is that of line 2, too; give each line a key of its own',
    ),
}


def refused(path, format=None):
    with pytest.raises(InvalidArgumentError) as refusal:
        read_items(str(path), format)
    sentence = str(refusal.value)
    assert "\n" not in sentence
    return sentence.replace(str(path), "FILE")


@pytest.mark.parametrize("name", JSONL)
def test_a_wrong_line_of_jsonl(name, tmp_path):
    content, expected = JSONL[name]
    path = tmp_path / "messages.jsonl"
    path.write_bytes(content)
    # How long a number may be is not the same in every Python.
    assert refused(path) in ([expected] if expected else ALSO_RIGHT)


ALSO_RIGHT = [
    "FILE, line 1: it is not JSON: a number in it is too long",
    "FILE, line 1: job_id is a number; give a string",
]


@pytest.mark.parametrize("name", CSV)
def test_a_wrong_line_of_csv(name, tmp_path):
    content, expected = CSV[name]
    path = tmp_path / "messages.csv"
    path.write_bytes(content)
    assert refused(path) == expected


def test_a_file_that_cannot_be_read(tmp_path):
    assert refused(tmp_path / "nowhere.jsonl") == "FILE cannot be read: No such file or directory"
    assert refused(tmp_path) == "FILE cannot be read: Is a directory"


def test_what_jsonl_may_have(tmp_path):
    path = tmp_path / "messages"
    lines = [
        b'\xef\xbb\xbf{"prompt":"x","job_id":"a"}\r',
        b"",
        '{"job_id":"a","prompt":"line\u2028end \\ud83d\\ude00 say \\"prompt\\" and \\"prompt\\"","key":null}'.encode(),
        b'{"job_id":"a","prompt":"x","key":"k"}',
    ]
    path.write_bytes(b"\n".join(lines))
    assert read_items(str(path)) == [
        {"job_id": "a", "prompt": "x", "line": 1},
        {"job_id": "a", "prompt": 'line\u2028end \U0001f600 say "prompt" and "prompt"', "key": None, "line": 3},
        {"job_id": "a", "prompt": "x", "key": "k", "line": 4},
    ]


@pytest.mark.parametrize("name", ["messages.csv", "MESSAGES.CSV", "messages.txt"])
def test_what_csv_may_have(name, tmp_path):
    path = tmp_path / name
    long = "x" * 200_000
    path.write_bytes(f'\ufeffprompt, key ,job_id\r\n"two\r\nlines, ""quoted""",,a\r\n\r\n{long},k,b\r\n'.encode())
    items = read_items(str(path), "csv" if name.endswith("txt") else None)
    assert items == [
        {"job_id": "a", "prompt": 'two\r\nlines, "quoted"', "line": 2},
        {"job_id": "b", "prompt": long, "key": "k", "line": 5},
    ]


def test_a_hundred_thousand_lines_are_read_fast(tmp_path):
    path = tmp_path / "messages.jsonl"
    lines = (json.dumps({"job_id": f"job_{n}", "prompt": "Añade pruebas", "key": f"k{n}"}) for n in range(100_000))
    path.write_text("\n".join(lines))
    began = time.process_time()
    assert len(read_items(str(path))) == 100_000
    assert time.process_time() - began < 2
