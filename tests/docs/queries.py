#!/usr/bin/env python3
"""Runs the queries of docs/queries.md on the kept recordings, and compares the results with those in the page.

Usage: queries.py [--write]    needs duckdb, pandas and pyarrow: ./dev docs. With --write the results are put into the page.
"""
import contextlib
import io
import os
import pathlib
import re
import sys
import tempfile

import duckdb

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/queries.md"
# A query and its result.
BLOCK = re.compile(r"```(sql|python)\n(.*?)```\n```text\n(.*?)```", re.DOTALL)


def laid_out(header, rows):
    """Columns side by side, numbers to the right, without a tool's own frame, which may change with its version."""
    def cell(value):
        return "-" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)
    lines = [list(header)] + [[cell(value) for value in row] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    right = [all(row[i] is None or isinstance(row[i], (int, float)) or row[i].__class__.__name__ == "Decimal" for row in rows)
             for i in range(len(header))]
    laid = [[c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, right)] for line in lines]
    return "\n".join("  ".join(line).rstrip() for line in laid)


def result(language, code):
    """What the code prints, or the rows of the query."""
    if language == "sql":
        found = duckdb.sql(code)
        return laid_out(found.columns, found.fetchall())
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, str(PAGE), "exec"), {})
    return "\n".join(line.rstrip() for line in printed.getvalue().strip("\n").splitlines())


def main():
    page = PAGE.read_text()
    blocks = list(BLOCK.finditer(page))
    languages = [block[1] for block in blocks]
    if languages.count("sql") < 6 or languages.count("python") < 3:
        sys.exit(f"queries: only {languages} are left in {PAGE}")
    wrong = 0
    fresh = page
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.symlink(ROOT / "fixtures/birthday", "recording")
        os.symlink(ROOT / "fixtures/birthday-repaired", "repaired")
        for language, code, expected in (block.groups() for block in blocks):
            found = result(language, code)
            # The widths of columns are not compared: pandas chooses them, and a new version may choose others.
            if found.split() != expected.split():
                wrong += 1
                fresh = fresh.replace(f"{code}```\n```text\n{expected}```", f"{code}```\n```text\n{found}\n```")
                if "--write" not in sys.argv:
                    print(f"--- {language}\n{code}--- the page says\n{expected}--- it gives\n{found}", file=sys.stderr)
        os.chdir(ROOT)
    if "--write" in sys.argv:
        PAGE.write_text(fresh)
        print(f"{wrong} of {len(blocks)} results written")
    else:
        print(f"{len(blocks) - wrong} passed, {wrong} failed")
        sys.exit(1 if wrong else 0)


main()
