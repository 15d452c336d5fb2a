"""Checks what the virtual machine of tests/boot/run sent: the exit statuses of its steps, and the contents of the recordings.

usage: check.py FOLDER   (needs the package duckdb, with which it reads the recordings)
"""
import json
import pathlib
import sys

import duckdb

folder = pathlib.Path(sys.argv[1])
kernel = (folder / "kernel").read_text().strip()
version = tuple(int(part) for part in kernel.split("-")[0].split(".")[:2])
# Task storage can be used by tracing programs since Linux 5.11, contention tracepoints exist since 5.19.
observed = version >= (5, 11)
locks = version >= (5, 19)
failures = 0


def check(good, what):
    global failures
    failures += not good
    print(f"{'ok    ' if good else 'FAILED'}  {what}")


def rows(recording, query):
    connection = duckdb.connect()
    for table in ("threads", "slices", "waits", "wakes", "stacks", "frames", "traces", "runs", "losses", "kernel_locks", "samples"):
        files = list((folder / recording / table).glob("*.parquet"))
        if files:
            connection.execute(f"create view {table} as select * from read_parquet({[str(f) for f in files]})")
    return connection.execute(query).fetchall()


steps = {}
for line in (folder / "steps").read_text().splitlines():
    name, status, _ = line.split()
    steps[name] = int(status)
print(f"Linux {kernel}")
for name, status in steps.items():
    last = (folder / f"{name}.err").read_text().strip().splitlines()[-1:]
    check(status == 0, f"{name}: exit status {status} {'' if status == 0 else last}")
    if status != 0:
        # A test harness prints its failures to standard output.
        said = (folder / f"{name}.out").read_text().strip().splitlines()
        print("\n".join(f"        | {line}" for line in said[-60:]))


def capability(report, what):
    found = [c for c in json.loads((folder / report).read_text()) if c["what"] == what]
    return found[0] if found else {"available": None, "why": "not in the report"}


bpf = capability("doctor.out", "kernel observation (eBPF)")
check(bpf["available"] is observed, f"root, eBPF: {bpf['why']}")
kernel_locks = capability("doctor.out", "waits for kernel locks")
check(kernel_locks["available"] is locks, f"root, kernel locks: {kernel_locks['why']}")
denied = capability("plain-doctor.out", "kernel observation (eBPF)")
check(denied["available"] is False, f"without rights, eBPF: {denied['why']}")
check(bool(denied.get("unlock")), f"without rights, what unlocks it: {denied.get('unlock')}")

THREADS = "select t.run, r.threads, count(*) from threads t join runs r using (run) group by all order by 2"
GAPS = """select count(*) from threads t left join (select run, thread, sum(spent_ns) spent from slices group by all) s
    using (run, thread) where coalesce(s.spent, 0) <> t.end_ns - t.start_ns"""
SUMS = """select count(*) from threads
    where running_ns + runnable_ns + preempted_ns + blocked_ns <> end_ns - start_ns"""
IN_RANDOM = """with recursive up(wait, frame, parent) as (
        select w.wait, s.frame, s.parent from waits w join stacks s on s.stack = w.user_stack where w.reason = 'futex'
        union all select up.wait, s.frame, s.parent from up join stacks s on s.stack = up.parent)
    select count(distinct wait) from up join frames f using (frame) where f.function = 'random'"""

for name in ("birthday", "clean", "pagesum") if observed else ():
    recording = f"{name}.rec"
    try:
        counts = {wanted: seen for _, wanted, seen in rows(recording, THREADS)}
        # With one thread a program may work in its main thread; otherwise the main thread waits for the others.
        check(set(counts) == {1, 8}, f"{name}: observed runs with 1 and 8 threads: {counts}")
        check(all(wanted <= seen <= wanted + 1 for wanted, seen in counts.items()), f"{name}: all threads are seen")
        check(rows(recording, SUMS)[0][0] == 0, f"{name}: the four times of each thread sum to its life")
        check(rows(recording, GAPS)[0][0] == 0, f"{name}: the slices of each thread sum to its life")
        samples = rows(recording, "select count(*), count(user_stack) from samples")[0]
        check(samples[1] > 0, f"{name}: samples, with a stack: {samples}")
        seen = rows(recording, "select sum(observer_ns), sum(foreign_ns) from traces")[0]
        check(seen[0] > 0, f"{name}: knee's own time, that of other programs (ns): {seen}")
        # A table without a row has no file: on a quiet machine nothing is lost.
        lost = any((folder / recording / "losses").glob("*.parquet"))
        losses = rows(recording, "select what, sum(count) from losses where count > 0 group by all") if lost else []
        print(f"        losses: {losses}")
    except duckdb.Error as error:
        check(False, f"{name}: {error}")
    answer = json.loads((folder / f"{name}.out").read_text() or "{}")
    causes = [cause["id"] for cause in answer["verdict"]["causes"]]
    print(f"        causes: {', '.join(causes)}")
if observed:
    waits = rows("birthday.rec", IN_RANDOM)[0][0]
    check(waits > 0, f"birthday: futex waits under a function named random: {waits} places")
if locks:
    what = rows("pagesum.rec", "select * from kernel_locks limit 1")
    check(bool(what), "pagesum: kernel locks are named")
meta = json.loads((folder / "plain" / "rec" / "meta.json").read_text())
check(meta["completion"] == "finished", f"without rights: the recording is {meta['completion']}")
sys.exit(failures > 0)
