"""The live lines of a batch: bar, counts and notes, laid out for the terminal's width."""

from ..terminal import columns_of, cut
from .describe import counts, finish

#: The bar's greatest width, and the width from which there is a bar.
BAR, NARROW = 40, 30


def frame(progress, style, turn, columns, rows, finishes=None, notes=()):
    """The live lines of a batch, each a list of (text, style) and narrower than the terminal.

    turn: how many frames came before. finishes: when the last message will be sent, if that is known. notes: (text, style) for the
    lines below.
    """
    width = max(columns - 1, 1)
    first = [(style.frames[turn % len(style.frames)], "bold blue")]
    numbers = f" {progress['done']}/{progress['items']}"
    share = progress["done"] / max(progress["items"], 1)
    sent = share + progress["waiting"] / max(progress["items"], 1)
    beside = "" if finishes is None else "  " + finish(finishes)
    room = width - 1 - len(numbers) - len("  100 %")
    if room >= len(beside) + NARROW // 2:
        room -= len(beside)
    else:
        beside = ""
    if room >= NARROW // 3:
        bar = min(BAR, room - 1)
        full, in_progress = int(bar * share), int(bar * sent)
        done, waiting, to_do = style.bar
        first += [(" ", ""), (done * full, "green"), (waiting * (in_progress - full), "cyan"), (to_do * (bar - in_progress), "dim")]
    first += [(numbers, "bold"), (f"  {int(100 * share)} %", "dim"), (beside, "")]
    lines = [fitting(first, width), *flowing(counts(progress), "  ", width)]
    for text, colour in notes:
        lines += flowing([(word, colour) for word in text.split(" ")], " ", width)
    return lines[: max(rows - 1, 1)]


def flowing(parts, gap, width):
    """Parts side by side, on as many lines as they need."""
    lines, used = [], 0
    for text, colour in parts:
        if not lines or used + len(gap) + columns_of(text) > width:
            lines.append([("  ", "")])
            used = 2
        else:
            lines[-1].append((gap, ""))
            used += len(gap)
        lines[-1].append((text, colour))
        used += columns_of(text)
    return [fitting(line, width) for line in lines]


def fitting(parts, width):
    """A line's parts, cut at the end of the line."""
    fit = []
    for text, colour in parts:
        text = cut(text, width)
        width -= columns_of(text)
        fit.append((text, colour))
    return fit
