"""Measured figures in the pages of the documentation: text between two markers, made from the kept figures.

    <!-- measured: cost -->
    ...
    <!-- end -->

The markers are on lines of their own or within a line. Each program in this folder that measures has `PARTS`: for each name in a
marker, the page and the function that makes the text from the figures. With `--write` it keeps its figures in `kept/` and writes
its parts into the pages; `bench/tables` writes them without measuring, and checks that nobody edited them by hand.

Imports only Python's standard library.
"""
import json
import os
import pathlib
import platform
import re
import textwrap
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = ROOT / "bench/kept"
# No other marker may be between the two: then an end marker was forgotten.
PART = re.compile(r"(<!-- measured: (?P<name>[a-z-]+) -->)(?P<text>(?:(?!<!--).)*?)(<!-- end -->)", re.DOTALL)
BEGIN = re.compile(r"<!-- measured: ([a-z-]+) -->")


class Wrong(Exception):
    """An error in a page or in figures; its text says which, and what to do."""


def replaced(text, name, fresh):
    """The page's text with `fresh` as the content of the part `name`, which must exist exactly once."""
    places = [part for part in PART.finditer(text) if part["name"] == name]
    if len(places) != 1 or BEGIN.findall(text).count(name) != 1:
        raise Wrong(f"{len(places)} places for '{name}' between <!-- measured: {name} --> and <!-- end -->, there must be one")
    part = places[0]
    fresh = fresh.strip("\n")
    if part["text"].startswith("\n"):
        fresh = f"\n{fresh}\n"
    elif "\n" in fresh:
        raise Wrong(f"'{name}' stands within a line, and its text has several")
    if "<!--" in fresh:
        raise Wrong(f"the text of '{name}' holds a marker")
    return text[: part.start("text")] + fresh + text[part.end("text") :]


def names(text):
    """The names in a page's begin markers, in order."""
    return BEGIN.findall(text)


def kept_at(bench):
    return KEPT / f"{bench}.json"


def kept(bench):
    """The figures that a bench has kept."""
    try:
        return json.loads(kept_at(bench).read_text())
    except (OSError, ValueError) as error:
        raise Wrong(f"{kept_at(bench)}: {error}; measure them (--write), or restore them with git") from error


def write(figures, parts):
    """Updates the pages from the figures; returns the pages that changed."""
    changed = []
    for name, (page, text) in parts.items():
        path = ROOT / page
        was = path.read_text()
        try:
            now = replaced(was, name, text(figures))
        except Wrong as error:
            raise Wrong(f"{page}: {error}") from error
        if now != was:
            path.write_text(now)
            changed.append(page)
    return changed


def keep(bench, figures, parts):
    """Keeps what was measured, and writes it into the pages."""
    KEPT.mkdir(exist_ok=True)
    # First make the texts: figures that cannot be shown must not replace figures that can.
    for _, text in parts.values():
        text(figures)
    kept_at(bench).write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    write(figures, parts)
    print(f"written: {kept_at(bench).relative_to(ROOT)}, {', '.join(sorted({page for page, _ in parts.values()}))}")


def circumstances():
    """When and where the figures are measured. Called before measuring, so that the load is not the measurement's own."""
    info = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)$", info, re.MULTILINE)
    system = platform.freedesktop_os_release()
    return {
        "day": time.strftime("%Y-%m-%d"),
        "processors": os.cpu_count(),
        "model": model[1] if model else platform.machine(),
        "virtual": " hypervisor " in f"{info} ",
        "linux": platform.release().split("-")[0],
        "system": f"{system['NAME'].removesuffix(' GNU/Linux')} {system.get('VERSION_ID', '')}".strip(),
        "beside": f"a load of {os.getloadavg()[0]:.1f} before it",
    }


def on(made):
    """The circumstances in words, without a full stop."""
    machine = made["model"] + (", virtual machine" if made["virtual"] else "")
    beside = f", {made['beside']}" if made["beside"] else ""
    return f"{made['processors']} processors ({machine}), Linux {made['linux']}, {made['system']}{beside}; {made['day']}"


def row(cells):
    """A row of a Markdown table."""
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def table(header, rows):
    return "\n".join([row(header), row("---" for _ in header), *map(row, rows)])


def paragraph(text):
    """Wrapped to the width of the pages' lines."""
    return textwrap.fill(text, width=140, break_long_words=False, break_on_hyphens=False)
