#!/usr/bin/env python3
"""How often knee finds false sharing, true sharing and spin-waits, how often it raises false alarms, and how good its estimates are.

Generates twenty-one programs with varied layouts, widths, compilers and optimisation levels. A program and its repaired
version are the two variants of one sweep, so that their timed runs, which nothing observes, alternate. The ratio of their
times is the real slowdown; it is compared with what knee estimates from the unrepaired program alone. Needs root, gcc,
clang and rustc, and a quiet machine. Python's standard library only.

    bench/sharing/run.py --knee target/release/knee --repeats 5

With --write the results are kept (bench/kept/sharing.json), and the table of docs/sharing.md is made of them.
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

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import page
from programs import Maker

CAUSES = ("false-sharing", "true-sharing", "spin-wait")
ESTIMATE = "CPU time over that without the sharing"
# Smaller slowdowns need not be found.
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
    """The number of steps for which a run takes about `goal` seconds."""
    steps = 1_000
    while (took := seconds(binary, threads, steps)) < 0.1:
        steps *= 4
    return max(int(steps * goal / took), 1000)


def sweep(knee, group, binaries, threads, steps, recording, runs):
    """Makes a sweep with one variant for each program of the group, in the same order."""
    shutil.rmtree(recording, ignore_errors=True)
    command = [knee, "sweep", "--quiet", "--runs", str(runs), "--warm-up", "0", "-o", recording]
    if len(group) == 1:
        command += ["-t", f"1,{threads}", "--", binaries[group[0].name], "{threads}", str(steps)]
    else:
        lines = ['title = "Programs and their repaired layouts"', f"threads = [1, {threads}]"]
        for program in group:
            lines += ["[[variants]]", f'name = "{program.name}"']
            lines += [f'command = "{binaries[program.name]} {{threads}} {steps}"']
        command.insert(2, f"{recording}.toml")
        with open(command[2], "w") as file:
            file.write("\n".join(lines) + "\n")
    run(command)


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def answers(knee, group, recording):
    """knee's answer about each program of the group."""
    answer = json.loads(run([knee, "report", recording, "--format", "json"]))
    return answer["cases"] if len(group) > 1 else [answer]


def slower(case, threads):
    """The time of a case divided by that of the first, from ratios within blocks; `against_first` has ratios of speeds."""
    return next(1 / one["ratio"] for one in case["against_first"] if one["threads"] == threads)


def verdict(answer):
    """Which of the three causes were found, why others stay unsure, and the estimated slowdown."""
    found = {cause["id"]: cause for cause in answer["verdict"]["causes"] if cause["id"] in CAUSES}
    unsure = {one["id"]: one["missing"] for one in answer["verdict"]["unsure"] if one["id"] in CAUSES}
    rows = [row for cause in found.values() for row in cause["evidence"] if row["what"].startswith(ESTIMATE)]
    # Slowdowns of several causes add up: each is the whole time divided by the time without that cause.
    estimate = 1 + sum(row["value"] - 1 for row in rows) if rows else None
    return found, unsure, estimate


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--knee", default="target/release/knee")
    arguments.add_argument("--repeats", type=int, default=5, help="sweeps of each program")
    arguments.add_argument("--runs", type=int, default=5, help="timed runs at each count of a sweep")
    arguments.add_argument("--threads", type=int, default=min(os.cpu_count() or 2, 4))
    arguments.add_argument("--seconds", type=float, default=1.0, help="length of a run of the shared program")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--only", default="", help="programs whose name contains this")
    arguments.add_argument("--json", help="where to write all results")
    arguments.add_argument("--keep", metavar="FOLDER", help="keep the recordings there")
    arguments.add_argument("--kept", metavar="FOLDER", help="analyse the recordings kept there; run nothing")
    arguments.add_argument("--write", action="store_true", help="keep all results, and write docs/sharing.md")
    options = arguments.parse_args()
    if options.write and options.only:
        sys.exit("the page has a table of all programs: --write takes no --only")
    made = page.circumstances()
    knee = os.path.abspath(options.knee)
    results = []
    with tempfile.TemporaryDirectory(prefix="sharing-") as folder:
        programs = [program for program in Maker(options.seed).all() if options.only in program.name]
        if options.keep:
            os.makedirs(options.keep, exist_ok=True)
        binaries, steps = {}, {}
        if not options.kept:
            binaries = {program.name: build(program, folder) for program in programs}
        for program in programs if binaries else []:
            if program.shared or not program.partner:
                steps[program.name] = enough(binaries[program.name], options.threads, options.seconds)
                if program.partner in binaries:
                    steps[program.partner] = steps[program.name]
        print(f"{'program':22} {'compiler':28} {'expected':14} real  found / estimate over real / reasons")
        for group in groups(programs):
            sweeps = {program.name: [] for program in group}
            for number in range(options.repeats):
                name = group[-1].name
                recording = os.path.join(options.kept or options.keep or folder, f"{name}-{number}")
                if not options.kept:
                    sweep(knee, group, binaries, options.threads, steps[name], recording, options.runs)
                for program, case in zip(group, answers(knee, group, recording)):
                    found, unsure, estimate = verdict(case)
                    is_found = program.expected in found
                    sweeps[program.name].append(
                        {
                            "real": slower(case, options.threads) if program.shared and len(group) > 1 else None,
                            "found": sorted(found),
                            "estimate": estimate if is_found else None,
                            "reason": None if is_found else unsure.get(program.expected),
                        }
                    )
            for program in group:
                compiler = " ".join(program.compiler)
                row = {"program": program.name, "compiler": compiler, "expected": program.expected}
                results.append({**row, "sweeps": sweeps[program.name]})
                show(results[-1])
    summary(results)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)
    if options.write:
        page.keep("sharing", {"made": made, "seed": options.seed, "threads": options.threads, "results": results}, PARTS)


def groups(programs):
    """Groups: a repaired program followed by the unrepaired one; all other programs alone."""
    by_name = {program.name: program for program in programs}
    for program in programs:
        partner = by_name.get(program.partner)
        if partner is None:
            yield [program]
        elif program.shared:
            yield [partner, program]


def is_asked(row, one):
    """Whether a sweep should find the cause: always a waiting loop, another cause if it costs enough."""
    return bool(row["expected"]) and (one["real"] is None or one["real"] >= SLOW)


def compiler(row):
    return row["compiler"].replace(" -g -pthread", "").replace(" -std=c++17", "").replace(" -g --edition=2021", "")


def show(row):
    sweeps = row["sweeps"]
    real = [one["real"] for one in sweeps if one["real"]]
    off = [one["estimate"] / one["real"] for one in sweeps if one["estimate"] and one["real"]]
    shown = f"{sum(row['expected'] in one['found'] for one in sweeps)}/{len(sweeps)}"
    if not row["expected"]:
        shown = f"{sum(bool(one['found']) for one in sweeps)} false alarms"
    slow = f"{statistics.median(real):.2f}" if real else "    "
    estimate = f"{statistics.median(off):.2f} ({min(off):.2f} to {max(off):.2f})" if off else ""
    print(f"{row['program']:22} {compiler(row):28} {row['expected'] or 'none':14} {slow}  {shown} {estimate}", flush=True)
    reasons = {one["reason"] for one in sweeps if one["reason"]} if row["expected"] else set()
    for reason in sorted(reasons)[:2]:
        print(f"    unsure: {reason[:200]}")


def totals(results):
    """How many sweeps found the cause, and how many should have; false alarms, and how many sweeps could raise one; ratios of
    estimated to real slowdowns."""
    asked = [(row, one) for row in results for one in row["sweeps"] if is_asked(row, one)]
    clean = [one for row in results if not row["expected"] for one in row["sweeps"]]
    found = sum(row["expected"] in one["found"] for row, one in asked)
    false = sum(bool(one["found"]) for one in clean)
    ratios = [one["estimate"] / one["real"] for _, one in asked if one["estimate"] and one["real"]]
    return found, len(asked), false, len(clean), sorted(max(ratio, 1 / ratio) for ratio in ratios)


def summary(results):
    found, asked, false, clean, off = totals(results)
    print(f"\nfound: {found} of {asked} where the slowdown is at least {SLOW}")
    print(f"false alarms: {false} of {clean}")
    if off:
        within = sum(one <= 1.5 for one in off)
        print(f"estimated / real: median off by {statistics.median(off):.2f}, worst {off[-1]:.2f}, "
              f"{within} of {len(off)} within a factor of 1.5")


def table(figures):
    """The table of docs/sharing.md: one row per program, one for all that share nothing, and a summary."""
    results, rows = figures["results"], []
    for row in (row for row in results if row["expected"]):
        sweeps = row["sweeps"]
        real = [one["real"] for one in sweeps if one["real"]]
        off = [one["estimate"] / one["real"] for one in sweeps if one["estimate"] and one["real"]]
        unsure = sum(bool(one["reason"]) for one in sweeps)
        shown = f"{sum(row['expected'] in one['found'] for one in sweeps)} of {len(sweeps)}" + (f" ({unsure} unsure)" if unsure else "")
        rows.append([row["program"], compiler(row), row["expected"], f"{statistics.median(real):.2f}" if real else "", shown,
                     f"{statistics.median(off):.2f} ({min(off):.2f} to {max(off):.2f})" if off else ""])
    found, asked, false, clean, off = totals(results)
    apart = [row["program"] for row in results if not row["expected"]]
    repaired = sum(name.endswith("-repaired") for name in apart)
    others = [name for name in apart if not name.endswith("-repaired")]
    rows.append([", ".join([f"{repaired} repaired ones", *others]), "the same", "none", "", f"{false} false alarms in {clean}", ""])
    repeats = max(len(row["sweeps"]) for row in results)
    begin = f"Seed {figures['seed']}, {repeats} sweeps of each program with {figures['threads']} threads, on {page.on(figures['made'])}."
    end = f"In all: found in {found} of {asked} sweeps where the slowdown was at least {SLOW}; false alarms in {false} of {clean}"
    if off:
        within = sum(one <= 1.5 for one in off)
        end += (f"; the estimate off by {statistics.median(off):.2f} (median), within a factor of 1.5 in {within} of {len(off)}, "
                f"at worst by {off[-1]:.2f}")
    head = ["program", "compiler", "expected", "real", "found", "estimate / real"]
    return "\n".join([page.paragraph(begin), "", page.table(head, rows), "", page.paragraph(end + ".")])


PARTS = {"sharing": ("docs/sharing.md", table)}


if __name__ == "__main__":
    main()
