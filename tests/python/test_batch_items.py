"""The file of a batch: every mistake that it can contain, and its error."""

import json
import os
import time

import pytest

from agentjob import InvalidArgumentError, read_batch_list
from agentjob._cli.batch.items import read_items
from conftest import tried

GOOD = b'{"job_id":"a","prompt":"x"}\n'

OBJECTS = "Write one JSON object per line, or one array of objects."
JSONL = {
    "empty": (b"", "FILE contains no messages"),
    "blank lines alone": (b"\n  \n\r\n", "FILE contains no messages"),
    "not UTF-8": (GOOD + b"\xe9\n", "FILE, line 2, column 1: not valid UTF-8. Save the file as UTF-8."),
    "UTF-16": (GOOD.decode().encode("utf-16"), "FILE is UTF-16. Save it as UTF-8."),
    "not JSON": (GOOD + b"\nnope", "FILE, line 3, column 2: not JSON: expected ident"),
    "two on a line": (GOOD[:-1] + GOOD, "FILE, line 1, column 28: not JSON: trailing characters"),
    "a raw tab": (b'{"job_id":"a","prompt":"\t"}', "FILE, line 1, column 24: not JSON: control character (\\u0000-\\u001F) found while parsing a string"),
    "a deep one": (b"[" * 100_000, "FILE, line 1, column 100001: not JSON: the list ends too early"),
    "a long number": (b'{"job_id":' + b"1" * 5000 + b"}", "FILE, line 1, column 11: job_id must be a string, not a number"),
    "a list on a line": (GOOD + b'["x"]', f"FILE, line 2: the line is a list. {OBJECTS}"),
    "a string": (b'"x"', f"FILE, line 1: the line is a string. {OBJECTS}"),
    "an array of a string": (b'[\n  "x"]', "FILE, line 2, column 3: the array has a string. Write one JSON object per message."),
    "an array without its end": (b'[\n' + GOOD, "FILE, line 2, column 28: not JSON: the list ends too early"),
    "no job": (b'{"prompt":"x"}', "FILE, line 1, column 1: job_id is missing"),
    "no prompt": (b'{"job_id":"a"}', "FILE, line 1, column 1: prompt is missing"),
    "a typing mistake": (b'{"job_id":"a","promt":"x"}', 'FILE, line 1, column 1: prompt is missing; unknown field "promt"'),
    "an empty job": (b'{"job_id":"","prompt":"x"}', "FILE, line 1: job_id is empty. Give the id as the service shows it."),
    "an empty prompt": (b'{"job_id":"a","prompt":""}', "FILE, line 1: prompt is empty. Give at least one character."),
    "an empty key": (b'{"job_id":"a","prompt":"x","key":""}', "FILE, line 1: key is empty. Give 1 to 1024 bytes, or no key."),
    "a number for a job": (b'{"job_id":17,"prompt":"x"}', "FILE, line 1, column 11: job_id must be a string, not a number"),
    "null for a prompt": (b'{"job_id":"a","prompt":null}', "FILE, line 1, column 24: prompt must be a string, not null"),
    "a list for a key": (b'{"job_id":"a","prompt":"x","key":[]}', "FILE, line 1, column 34: key must be a string, not a list"),
    "an unknown field": (
        b'{"job_id":"a","prompt":"x","keys":"m"}',
        'FILE, line 1, column 29: unknown field "keys" (the nearest known one is key); the option extra (--extra) keeps it.'
        " The fields are job_id, prompt and key.",
    ),
    "a field twice": (b'{"job_id":"a","prompt":"x","prompt":"y"}', "FILE, line 1, column 29: the field prompt occurs twice"),
    "a field twice in disguise": (b'{"job_id":"a","prompt":"x","\\u0070rompt":"y"}', "FILE, line 1, column 29: the field prompt occurs twice"),
    "a lone surrogate": (
        b'{"job_id":"a","prompt":"\\ud83d"}',
        "FILE, line 1, column 24: prompt contains a lone surrogate: an escape from \\ud800 to \\udfff without its pair",
    ),
    "two with one key": (
        b'{"job_id":"a","prompt":"x","key":"k"}\n\n{"job_id":"b","prompt":"y","key":"k"}',
        'FILE, line 3: key "k" is also the key of line 1. Give each item its own key.',
    ),
    "two lines": (GOOD + b"1\n2\n", f"FILE, line 2: the line is a number (and 1 more wrong line). {OBJECTS}"),
    "four lines": (GOOD + b"1\n2\n" + GOOD + b"{}\nx", f"FILE, line 2: the line is a number (and 3 more wrong lines). {OBJECTS}"),
}

HEADER = ". The columns are job_id, prompt and, optionally, key, separated by commas."
SEMICOLONS = ". Its columns are separated by semicolons: save the list with commas."
CSV = {
    "empty": (b"", "FILE contains no messages"),
    "a header alone": (b"job_id,prompt\n", "FILE contains no messages"),
    "no header": (b"a,x\n", f'FILE, line 1: there is no column job_id; the first line must be the header{HEADER}'),
    "semicolons": (b"job_id;prompt\na;x\n", f'FILE, line 1: there is no column job_id; the first line must be the header{SEMICOLONS}'),
    "an unknown column": (
        b"job_id,prompt,Keys\n",
        f'FILE, line 1: the header has an unknown column "Keys" (the nearest known one is key); the option extra (--extra) keeps it{HEADER}',
    ),
    "a mistyped column": (b"job,prompt\n", f'FILE, line 1: there is no column job_id, but one called "job"{HEADER}'),
    "a column twice": (b"job_id,prompt,prompt\n", f'FILE, line 1: the header has the column "prompt" twice{HEADER}'),
    "not UTF-8": (b"job_id,prompt\na,\xe9\n", "FILE, line 2, column 3: not valid UTF-8. Save the file as UTF-8."),
    "a field less": (b'job_id,prompt\na,"x\ny"\n\nb\n', "FILE, line 5: the line has 1 field, but the header has 2"),
    "a field more": (b"job_id,prompt\na,x,y\n", "FILE, line 2: the line has 3 fields, but the header has 2"),
    "an empty prompt": (b'job_id,prompt\n"a",\n', "FILE, line 2: prompt is empty. Give at least one character."),
    "an empty job": (b"job_id,prompt\n,x\nb,\n", "FILE, line 2: job_id is empty (and 1 more wrong line). Give the id as the service shows it."),
    "an open quote": (b'job_id,prompt\na,x\nb,"x\ny\n', "FILE, line 3, column 3: a quoted field begins here and is never closed"),
    "a space before a quote": (
        b'job_id,prompt\njob_1, "Fix it"\n',
        "FILE, line 2, column 8: a quote is inside a field that does not begin with one; quote the whole field, without a space before it,"
        ' and write a quote inside it as ""',
    ),
    "a space before a job": (
        b"job_id,prompt\n job_1,x\n",
        "FILE, line 2: job_id begins with white space (U+0020). Give the id as the service shows it.",
    ),
    "a no-break space after a key": (
        b"job_id,prompt,key\na,x,k\xc2\xa0\n",
        "FILE, line 2: key ends with white space (U+00A0). Give the key without it.",
    ),
    "text without a column": (
        b"job_id,prompt,,\na,x,y,\n",
        "FILE, line 2: the line has text in column 3, for which the header has no name. Quote a field that contains the separator.",
    ),
    "joined files": (
        b"job_id,prompt\na,x\njob_id,prompt\nb,y\n",
        "FILE, line 3: the line is the header again, probably because files were joined. Remove it.",
    ),
    "a quote inside": (
        b'job_id,prompt\na,"x"y\n',
        'FILE, line 2, column 6: text follows a closing quote; write a quote inside a quoted field as ""',
    ),
    "two with one key": (
        b"key,job_id,prompt\nk,a,x\n,a,x\n,a,x\nk,a,x\n",
        'FILE, line 5: key "k" is also the key of line 2. Give each item its own key.',
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
    assert refused(path) == expected


@pytest.mark.parametrize("name", CSV)
def test_a_wrong_line_of_csv(name, tmp_path):
    content, expected = CSV[name]
    path = tmp_path / "messages.csv"
    path.write_bytes(content)
    assert refused(path) == expected


def test_a_file_that_cannot_be_read(tmp_path):
    assert refused(tmp_path / "nowhere.jsonl") == "FILE cannot be read: No such file or directory"
    why = "Permission denied" if os.name == "nt" else "Is a directory"
    assert refused(tmp_path) == f"FILE cannot be read: {why}"


def test_valid_jsonl(tmp_path):
    path = tmp_path / "messages"
    lines = [
        b'\xef\xbb\xbf{"prompt":"x","job_id":"a"}\r',
        b"",
        '{"job_id":"a","prompt":"line\u2028end \\ud83d\\ude00 say \\"prompt\\" and \\"prompt\\"","key":null}'.encode(),
        b'{"job_id":"a","prompt":"x","key":"k"}',
    ]
    path.write_bytes(b"\n".join(lines))
    assert read_batch_list(path) == [
        {"job_id": "a", "prompt": "x", "line": 1},
        {"job_id": "a", "prompt": 'line\u2028end \U0001f600 say "prompt" and "prompt"', "line": 3},
        {"job_id": "a", "prompt": "x", "key": "k", "line": 4},
    ]


def test_a_json_array_and_tsv(tmp_path):
    array, tsv = tmp_path / "messages.json", tmp_path / "messages.tsv"
    array.write_text(json.dumps([{"job_id": "a", "prompt": "x"}, {"job_id": "b", "prompt": "y", "key": "k"}], indent=1))
    tsv.write_text('key\tjob_id\tprompt\n\ta\tx\nk\tb\t"y"\n')
    items = [{"job_id": "a", "prompt": "x"}, {"job_id": "b", "prompt": "y", "key": "k"}]
    assert read_batch_list(array) == [{**item, "line": line} for item, line in zip(items, (2, 6))]
    assert read_batch_list(str(tsv)) == [{**item, "line": line} for item, line in zip(items, (2, 3))]


def test_what_a_spreadsheet_adds_is_skipped(tmp_path):
    path = tmp_path / "messages.csv"
    path.write_bytes(b"sep=,\r\njob_id,prompt,,\r\na,x,,\r\n,,,\r\n")
    assert read_batch_list(path) == [{"job_id": "a", "prompt": "x", "line": 3}]


def test_an_id_with_a_space_behind_it_is_refused_in_a_list_of_the_program_too(emulator, tmp_path):
    client = emulator.client()
    with pytest.raises(InvalidArgumentError, match=r"^item 1: job_id ends with white space \(U\+0020\)"):
        client.send_all([("job_demo ", "go")], journal=tmp_path / "journal")
    with pytest.raises(InvalidArgumentError, match=r"^job_id ends with an invisible character \(U\+200B\)"):
        client.poller("job_demo\u200b")


def test_other_columns_are_kept_as_metadata_if_the_program_says_so(tmp_path):
    path = tmp_path / "messages.csv"
    path.write_text("repo,job_id,prompt,due\nweb,a,x,\napi,b,y,1\n")
    with pytest.raises(InvalidArgumentError, match='unknown column "repo"'):
        read_batch_list(path)
    assert [item["extra"] for item in read_batch_list(path, extra=True)] == [{"repo": "web", "due": ""}, {"repo": "api", "due": "1"}]
    path.write_text('{"job_id": "a", "prompt": "x", "tags": [1, 2.5, null], "due": {"by": "é"}}\n{"job_id": "b", "prompt": "y"}\n', "utf-8")
    first, second = read_batch_list(path, format="jsonl", extra=True)
    assert first["extra"] == {"tags": [1, 2.5, None], "due": {"by": "é"}} and "extra" not in second


def test_wrong_options_of_a_list_are_refused(tmp_path):
    path = tmp_path / "messages.csv"
    path.write_text("job_id,prompt\na,x\n")
    with pytest.raises(InvalidArgumentError, match='format is "yaml". Give json, jsonl, csv or tsv.'):
        read_batch_list(path, format="yaml")
    with pytest.raises(TypeError, match="extra must be True or False, not str"):
        read_batch_list(path, extra="yes")
    with pytest.raises(TypeError, match="path"):
        read_batch_list(17)
    with pytest.raises(InvalidArgumentError, match="nowhere.csv cannot be read"):
        read_batch_list(tmp_path / "nowhere.csv")


@pytest.mark.parametrize("name", ["messages.csv", "MESSAGES.CSV", "messages.txt"])
def test_valid_csv(name, tmp_path):
    path = tmp_path / name
    long = "x" * 200_000
    path.write_bytes(f'\ufeffprompt, key ,job_id\r\n"two\r\nlines, ""quoted""",,a\r\n\r\n{long},k,b\r\n'.encode())
    items = read_batch_list(path, format="csv" if name.endswith("txt") else None)
    assert items == [
        {"job_id": "a", "prompt": 'two\r\nlines, "quoted"', "line": 2},
        {"job_id": "b", "prompt": long, "key": "k", "line": 5},
    ]


def test_a_hundred_thousand_lines_are_read_fast(tmp_path):
    path = tmp_path / "messages.jsonl"
    lines = [json.dumps({"job_id": f"job_{n}", "prompt": "Añade pruebas", "key": f"k{n}"}) for n in range(100_000)]
    path.write_text("\n".join(lines), encoding="utf-8")

    def seconds(work):
        began = time.process_time()
        assert work() == 100_000
        return time.process_time() - began

    def attempt(_):
        # Compared with Python's json, which says how fast the machine is.
        yardstick = seconds(lambda: sum(json.loads(line) is not None for line in lines))
        assert seconds(lambda: len(read_items(str(path)))) < 4 * yardstick

    tried(5, attempt)
