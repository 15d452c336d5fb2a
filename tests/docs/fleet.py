#!/usr/bin/env python3
"""Runs docs/examples/fleet.py on a small fleet, and compares its numbers with DuckDB's.

Usage: fleet.py [--write]    needs pyspark, Java and duckdb: ./dev fleet. Checks that docs/fleet.md shows what the script prints;
with --write puts it there.

The fleet consists of two kept recordings, each as it is and as if another machine had made it. One folder has a space and a
plus in its name; one recording lacks a table and a column, as older formats do.
"""
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import duckdb

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def example():
    spec = importlib.util.spec_from_file_location("fleet", ROOT / "docs/examples/fleet.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fleet(folder):
    """Four recordings of two machines."""
    made = []
    for host, model in (("alpha", None), ("beta + gamma", "Another Processor")):
        for name in ("birthday", "birthday-repaired"):
            to = folder / host / name
            shutil.copytree(ROOT / "fixtures" / name, to)
            if model:
                meta = json.loads((to / "meta.json").read_text())
                meta["machine"]["model"] = model
                (to / "meta.json").write_text(json.dumps(meta))
            made.append(to)
    older = made[-1]
    shutil.rmtree(older / "marks")
    for part in (older / "runs").glob("*.parquet"):
        rest = part.with_suffix(".new")
        duckdb.sql(f"copy (select * exclude (throttled_ns) from '{part}') to '{rest}' (format parquet)")
        rest.replace(part)
    return made


def close(name, found, expected):
    assert len(found) == len(expected), f"{name}: {len(found)} rows, {len(expected)} expected"
    for one, other in zip(found, expected):
        same = all(abs(float(a) - float(b)) < 0.006 if isinstance(b, float) else a == b for a, b in zip(one, other))
        assert same and len(one) == len(other), f"{name}: {one} is not {other}"


def main():
    module = example()
    with tempfile.TemporaryDirectory() as place:
        folders = fleet(pathlib.Path(place).resolve())
        spark = module.start()
        spark.sparkContext.setLogLevel("ERROR")
        meta, runs = module.described(spark, folders), module.table(spark, folders, "runs")
        checks = 0

        lacking = runs.filter("throttled_ns is null").select("recording").distinct().collect()
        assert [row.recording for row in lacking] == [str(folders[-1])], lacking
        marks = {row.recording for row in module.table(spark, folders, "marks").select("recording").distinct().collect()}
        assert marks <= {str(folder) for folder in folders[:-1]}, marks
        checks += 2

        def each(query):
            """The rows of the query on each recording, each preceded by the recording's processor model and command."""
            for folder in folders:
                about = json.loads((folder / "meta.json").read_text())
                for row in duckdb.sql(query.format(folder=folder)).fetchall():
                    yield about["machine"]["model"], " ".join(about["command"]), *row

        found = [(r.model, r.command, r.threads, r.runs, r.seconds, r.speedup) for r in module.curves(runs, meta).collect()]
        expected = each("""
            with c as (select threads, count(*) as n, median(wall_ns) / 1e9 as s, median(throughput) as t
                       from '{folder}/runs/*.parquet' where kind = 'clean' group by threads)
            select threads, n, s::double, t / first_value(t) over (order by threads) from c""")
        close("curves", sorted(found), sorted(expected))
        checks += 1

        waits = module.table(spark, folders, "waits")
        found = [(r.model, r.command, r.threads, r.reason, r.times, r.blocked_ms) for r in module.waiting(waits, runs, meta).collect()]
        expected = each("""
            select r.threads, reason, sum(count)::bigint, round(sum(blocked_ns) / 1e6, 1)::double
            from '{folder}/waits/*.parquet' join (select run, threads from '{folder}/runs/*.parquet' where kind = 'traced'
                order by threads desc, run desc limit 1) r using (run) group by r.threads, reason""")
        close("waiting", sorted(found), sorted(expected))
        checks += 1

        parts = [module.table(spark, folders, name) for name in ("samples", "stacks", "frames", "traces")]
        grown = {r.function: (r.recordings, r.growth_ms) for r in module.growing(*parts, runs).collect()}
        expected = {}
        rows = each("""
            select f.function, round(sum(case when r.threads = 4 then 1 else -1 end * t.sample_period_ns::double) / 1e6)
            from '{folder}/samples/*.parquet' s join '{folder}/stacks/*.parquet' k on k.stack = s.user_stack
            join '{folder}/frames/*.parquet' f on f.frame = k.frame and f.depth = 0
            join '{folder}/traces/*.parquet' t on t.run = s.run join '{folder}/runs/*.parquet' r on r.run = s.run
            where r.threads in (1, 4) group by f.function""")
        for _, _, function, growth in rows:
            recordings, sum_so_far = expected.get(function, (0, 0.0))
            expected[function] = (recordings + 1, sum_so_far + growth)
        assert grown.keys() == expected.keys(), grown.keys() ^ expected.keys()
        # Each of four recordings may have been rounded by half a millisecond.
        wrong = {f: (grown[f], e) for f, e in expected.items() if grown[f][0] != e[0] or abs(grown[f][1] - e[1]) > 2.5}
        assert not wrong, wrong
        checks += 1
        spark.stop()

        # The script as a user calls it.
        done = subprocess.run([sys.executable, ROOT / "docs/examples/fleet.py", *folders], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        page = (ROOT / "docs/fleet.md").read_text()
        shown = re.search(r"```text\n(.*?)```", page, re.DOTALL)
        if "--write" in sys.argv:
            (ROOT / "docs/fleet.md").write_text(page.replace(shown[0], f"```text\n{done.stdout.rstrip()}\n```"))
        else:
            assert shown[1].split() == done.stdout.split(), f"docs/fleet.md does not show this: ./dev fleet --write\n{done.stdout}"
        wrong = subprocess.run([sys.executable, ROOT / "docs/examples/fleet.py", place], capture_output=True, text=True)
        assert wrong.returncode != 0 and "no meta.json" in wrong.stderr, wrong.stderr[-500:]
        checks += 2
    print(f"{checks} passed, 0 failed")


main()
