#!/usr/bin/env python3
"""How often knee finds what threads do to each other's memory, how often it cries wolf, and how good its estimates are.

Generates twenty-one programs with varied layouts, widths, compilers and optimisation levels, sweeps each, and compares the
estimated cost with the real one: the time beside that of the repaired program, unobserved, in turns. Needs root, gcc,
clang and rustc, and a quiet machine. Python's standard library only.

    bench/sharing/run.py --knee target/release/knee --repeats 5
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from programs import Maker

CAUSES = ("false-sharing", "true-sharing", "spin-wait")
ESTIMATE = "CPU time over that without the sharing"
# Slowdowns below this are not asked to be found.
SLOW = 1.2


def build(program, folder):
    source = os.path.join(folder, f"{program.name}.{program.language}")
    with open(source, "w") as file:
        file.write(program.source)
    binary = os.path.join(folder, program.name)
    subprocess.run(program.compiler + ["-o", binary, source], check=True)
    return binary


def seconds(binary, threads, steps):
    begin = time.monotonic()
    subprocess.run([binary, str(threads), str(steps)], check=True)
    return time.monotonic() - begin


def enough(binary, threads, goal):
    """Steps with which a run takes about `goal` seconds."""
    steps = 1_000
    while (took := seconds(binary, threads, steps)) < 0.1:
        steps *= 4
    return max(int(steps * goal / took), 1000)


def slowdowns(shared, apart, threads, steps, pairs):
    """Paired ratios of the times, unobserved."""
    return [seconds(shared, threads, steps) / seconds(apart, threads, steps) for _ in range(pairs)]


def sweep(knee, binary, threads, steps, folder, runs):
    recording = os.path.join(folder, "recording")
    shutil.rmtree(recording, ignore_errors=True)
    command = [knee, "sweep", "--quiet", "--format", "json", "--runs", str(runs), "--warm-up", "0", "-t", f"1,{threads}"]
    command += ["-o", recording, "--", binary, "{threads}", str(steps)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def verdict(answer):
    """Causes of the three that were found, the reasons of those that stay unsure, and the estimated slowdown."""
    found = {cause["id"]: cause for cause in answer["verdict"]["causes"] if cause["id"] in CAUSES}
    unsure = {one["id"]: one["missing"] for one in answer["verdict"]["unsure"] if one["id"] in CAUSES}
    rows = [row for cause in found.values() for row in cause["evidence"] if row["what"].startswith(ESTIMATE)]
    # Both kinds add up: each says how much the whole takes over that without it.
    estimate = 1 + sum(row["value"] - 1 for row in rows) if rows else None
    return found, unsure, estimate


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--knee", default="target/release/knee")
    arguments.add_argument("--repeats", type=int, default=5, help="sweeps of each program")
    arguments.add_argument("--runs", type=int, default=5, help="timed runs at each count of a sweep")
    arguments.add_argument("--pairs", type=int, default=2, help="unobserved pairs before and after each sweep")
    arguments.add_argument("--threads", type=int, default=min(os.cpu_count() or 2, 4))
    arguments.add_argument("--seconds", type=float, default=1.0, help="length of a run of the shared program")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--only", default="", help="programs whose name contains this")
    arguments.add_argument("--json", help="where to write all results")
    options = arguments.parse_args()
    knee = os.path.abspath(options.knee)
    results = []
    with tempfile.TemporaryDirectory(prefix="sharing-") as folder:
        programs = [program for program in Maker(options.seed).all() if options.only in program.name]
        binaries = {program.name: build(program, folder) for program in programs}
        steps = {}
        for program in programs:
            if program.shared or not program.partner:
                steps[program.name] = enough(binaries[program.name], options.threads, options.seconds)
                if program.partner in binaries:
                    steps[program.partner] = steps[program.name]
        print(f"{'program':22} {'compiler':28} {'expected':14} real  found / estimate over real / reasons")
        for program in programs:
            pairs = []
            for _ in range(options.repeats):
                work = (options.threads, steps[program.name])
                paired = program.shared and program.partner in binaries
                pair = [binaries[name] for name in (program.name, program.partner) if paired]
                # A virtual machine's processors may come to lie closer or farther apart: only what was measured around
                # the sweep says what sharing cost during it.
                real = slowdowns(*pair, *work, options.pairs) if pair else []
                answer = sweep(knee, binaries[program.name], *work, folder, options.runs)
                real += slowdowns(*pair, *work, options.pairs) if pair else []
                found, unsure, estimate = verdict(answer)
                pairs.append(
                    {
                        "real": statistics.median(real) if real else None,
                        "found": sorted(found),
                        "estimate": estimate if program.expected in found else None,
                        "reason": None if program.expected in found else unsure.get(program.expected),
                    }
                )
            results.append(
                {
                    "program": program.name,
                    "compiler": " ".join(program.compiler),
                    "expected": program.expected,
                    "sweeps": pairs,
                }
            )
            show(results[-1])
    summary(results)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)


def is_asked(row, one):
    """Whether a sweep should find it: a loop that waits is there whatever it costs, the others where they cost enough."""
    return bool(row["expected"]) and (one["real"] is None or one["real"] >= SLOW)


def show(row):
    compiler = row["compiler"].replace(" -g -pthread", "").replace(" -std=c++17", "").replace(" -g --edition=2021", "")
    sweeps = row["sweeps"]
    real = [one["real"] for one in sweeps if one["real"]]
    off = [one["estimate"] / one["real"] for one in sweeps if one["estimate"] and one["real"]]
    told = f"{sum(row['expected'] in one['found'] for one in sweeps)}/{len(sweeps)}"
    if not row["expected"]:
        told = f"{sum(bool(one['found']) for one in sweeps)} false alarms"
    slow = f"{statistics.median(real):.2f}" if real else "    "
    estimate = f"{statistics.median(off):.2f} ({min(off):.2f} to {max(off):.2f})" if off else ""
    print(f"{row['program']:22} {compiler:28} {row['expected'] or 'none':14} {slow}  {told} {estimate}", flush=True)
    reasons = {one["reason"] for one in sweeps if one["reason"]} if row["expected"] else set()
    for reason in sorted(reasons)[:2]:
        print(f"    unsure: {reason[:200]}")


def summary(results):
    asked = [(row, one) for row in results for one in row["sweeps"] if is_asked(row, one)]
    clean = [one for row in results if not row["expected"] for one in row["sweeps"]]
    found = sum(row["expected"] in one["found"] for row, one in asked)
    print(f"\nfound: {found} of {len(asked)} where the slowdown is at least {SLOW}")
    print(f"false alarms: {sum(bool(one['found']) for one in clean)} of {len(clean)}")
    ratios = [one["estimate"] / one["real"] for _, one in asked if one["estimate"] and one["real"]]
    if ratios:
        off = sorted(max(ratio, 1 / ratio) for ratio in ratios)
        within = sum(one <= 1.5 for one in off)
        print(f"estimated / real: median off by {statistics.median(off):.2f}, worst {off[-1]:.2f}, "
              f"{within} of {len(off)} within a factor of 1.5")


if __name__ == "__main__":
    main()
