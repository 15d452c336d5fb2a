"""The checks after a trial. Each returns its findings in words; an empty list is good.

Imports only Python's standard library.
"""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import time

from targets import FEW, STATUS

# How long processes that knee started may outlive it, and how long a command may take, in seconds.
AFTER, PATIENCE = 2, 60
# The exit statuses that docs/commands.md and docs/reliability.md allow after each disturbance, and what stderr must say with all but 0.
# A signal that comes before knee handles signals ends it; one that comes after its end changes nothing. 127 comes from the dynamic
# loader without descriptors.
ENDS = {
    "SIGKILL": ({0, -9}, ""),
    "SIGTERM": ({0, 130, -15}, ""),
    "SIGINT": ({0, 130, -2}, ""),
    "disk": ({0, 1}, "No space left on device"),
    "descriptors": ({0, 1, 3, 127}, "Too many open files|shared librar|descriptor"),
    "interrupts": ({0}, ""),
}
# Words by which an answer says that the recording is not complete.
SAID = re.compile(r"unfinished|interrupted|stopped early|some runs are missing")
# Kernel settings that an observer might change. The highest sampling rate is left out: the kernel lowers it by itself.
SETTINGS = ["perf_event_paranoid", "kptr_restrict", "bpf_stats_enabled", "unprivileged_bpf_disabled", "perf_event_mlock_kb", "yama/ptrace_scope",
            "randomize_va_space", "core_pattern", "sched_schedstats", "task_delayacct", "nmi_watchdog"]
# The properties of a running program that an observer must not change.
OWN = re.compile(r"^(?:Cpus_allowed|SigIgn|SigCgt|NoNewPrivs|Seccomp|TracerPid|Uid|CapEff):.*$", re.MULTILINE)


def read(path):
    try:
        return pathlib.Path(path).read_text(errors="replace")
    except (OSError, ValueError):
        return ""


def marked(mark):
    """The living processes that a trial started, directly or not: they have its mark in their environment."""
    wanted, found = f"KNEE_TRIAL={mark}".encode(), {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            # A process that has ended meanwhile, or a zombie, has no environment.
            with contextlib.suppress(OSError):
                if wanted in pathlib.Path(entry.path, "environ").read_bytes().split(b"\0"):
                    found[int(entry.name)] = read(f"{entry.path}/cmdline").replace("\0", " ").strip()
    return found


def remaining(mark, without, patience=AFTER):
    """Those that still live after `patience` seconds."""
    until = time.monotonic() + patience
    while True:
        alive = {pid: words for pid, words in marked(mark).items() if pid not in without}
        if not alive or time.monotonic() > until:
            return alive
        time.sleep(0.02)


def surroundings():
    """The state that outlives processes: pinned BPF objects, control groups, settings."""
    folders = lambda root: {os.path.join(at, name) for at, inside, files in os.walk(root) for name in [*inside, *files]}
    groups = {at for at, _, _ in os.walk("/sys/fs/cgroup")}
    return {"pinned": folders("/sys/fs/bpf"), "groups": groups, "settings": {name: read(f"/proc/sys/kernel/{name}") for name in SETTINGS},
            "preloaded": read("/etc/ld.so.preload")}


def left(before, after):
    """What is different. A new control group with processes is another program's: those of the trial have ended."""
    found = [f"new: {path}" for path in sorted(after["pinned"] - before["pinned"])]
    found += [f"new: {path}" for path in sorted(after["groups"] - before["groups"]) if not read(f"{path}/cgroup.procs").strip()]
    found += [f"kernel.{name}: {was.strip()} is now {after['settings'][name].strip()}" for name, was in before["settings"].items() if was != after["settings"][name]]
    return found + ["/etc/ld.so.preload has changed"] * (before["preloaded"] != after["preloaded"])


def own_settings(pid):
    """A running program's own settings: what its status, limits and priority say."""
    about = OWN.findall(read(f"/proc/{pid}/status"))
    return about + [read(f"/proc/{pid}/limits"), read(f"/proc/{pid}/oom_score_adj"), str(os.getpriority(os.PRIO_PROCESS, pid))]


def of_attached(trial, settings, sums):
    """Checks that a program which ran before continues unchanged, and ends as it does without knee."""
    found, target = [], trial.target
    if target.poll() is not None:
        found.append(f"the program has ended with status {target.returncode}")
    else:
        if own_settings(target.pid) != settings:
            found.append("its limits, signals, rights or priority are changed")
        # It makes three more rounds before it ends, so its end shows that it still makes progress.
        (trial.place / "stop").touch()
        try:
            if target.wait(10) != STATUS:
                found.append(f"the program ended with status {target.returncode}, not {STATUS}")
        except subprocess.TimeoutExpired:
            found.append("the program makes no progress")
    said = read(trial.place / "target.out")
    if said != "threads=2 failed=0\n":
        found.append(f"the program printed {said!r}")
    return found + of_journal(read(trial.journal), {**sums, "must end": True})


def of_journal(text, sums):
    """Checks that programs computed the right sums, and that those that must end did."""
    lines = [line.split() for line in text.splitlines()]
    broken = [f"journal: {' '.join(line)}" for line in lines if len(line) != 5]
    lines = [line for line in lines if len(line) == 5]
    begun, ended = ([line[1] for line in lines if line[0] == what] for what in ("begin", "end"))
    for what, pid, number, result, failed in lines:
        wanted = sums["round"].get(number) if what == "round" else sums.get("end") if what == "end" else None
        if wanted and result != wanted:
            broken.append(f"process {pid} computed {result} instead of {wanted}")
        if failed != "0":
            broken.append(f"calls failed in process {pid}: {failed}")
    missing = set(begun) - set(ended)
    if missing and sums.get("must end"):
        broken.append(f"{len(missing)} of {len(begun)} programs did not come to their end")
    return broken


def of_started(trial, status, sums):
    """Checks that programs which knee started computed, printed and ended as they do without knee."""
    few = trial.kind in ("sweep", "curve", "try")
    if trial.kind == "load":
        errors = [path.name for path in trial.out.glob("output/*.load.out") if "Socket errors" in read(path)]
        return [f"the load had errors: {name}" for name in errors] if status == 0 else []
    # Signals may end the program, but knee's lack of a disk or of descriptors must not affect the program of `record`.
    alone = trial.kind == "record" and trial.how in ("disk", "descriptors")
    found = of_journal(read(trial.journal), {**sums, "end": sums[FEW if few else trial.rounds], "must end": status == 0 or alone})
    wanted = sums[FEW if few else trial.rounds]
    if few and status == 0:
        outputs = [path for path in trial.out.rglob("output/run-*.out") if not re.fullmatch(r"threads=[12] sum=%s failed=0\n" % wanted, read(path))]
        found += [f"{path.name} holds {read(path)[:80]!r}" for path in outputs]
    if trial.kind == "record":
        ends, said = len(re.findall("^end ", read(trial.journal), re.MULTILINE)), read(trial.place / "stdout")
        if ends and f"threads=2 sum={wanted} failed=0\n" not in said:
            found.append(f"the program printed something else: {said[:80]!r}")
        if status == 0 and ends and f"ended with status {STATUS}" not in said:
            found.append(f"the answer does not say that the program ended with status {STATUS}")
    return found


def of_recording(trial, knee_status):
    """The state of the recording (finished, unfinished, refused or none), and what is wrong with how `knee report` handles it."""
    if not trial.out.exists():
        return "none", ["knee answered, and there is no recording"] if knee_status == 0 else []
    words = [str(trial.knee), "report", str(trial.out)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=PATIENCE, env=trial.environment(), stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return "refused", ["knee report does not end"]
    if "panicked at" in done.stderr:
        return "refused", [f"knee report panicked: {done.stderr[-500:]}"]
    if done.returncode != 0:
        good = done.returncode == 5 and done.stderr.startswith("knee: ")
        wrong = [] if good else [f"knee report ended with status {done.returncode}: {done.stderr[-500:]}"]
        return "refused", wrong + (["knee answered, and its recording is refused"] if knee_status == 0 else [])
    metas = [json.loads(read(path) or "{}") for path in trial.out.rglob("meta.json")]
    whole = bool(metas) and all(meta.get("completion") == "finished" for meta in metas)
    if not whole and not SAID.search(done.stdout + done.stderr):
        return "unfinished", ["knee report answers from an unfinished recording and does not say so"]
    if not whole and knee_status == 0:
        return "unfinished", ["knee ended with status 0, and its recording is unfinished"]
    return ("finished" if whole else "unfinished"), []


def of_end(trial, status, stderr):
    """Checks that knee ended as documented."""
    allowed, reason = ENDS[trial.how]
    found = ["knee panicked"] if "panicked at" in stderr else []
    if status is None:
        return found + [f"knee did not end within {PATIENCE} s"]
    if status not in allowed:
        found.append(f"knee ended with status {status}")
    elif status > 0 and reason and not re.search(reason, stderr):
        found.append(f"knee ended with status {status} and does not say why")
    return found


def judged(trial, sums):
    """Makes one trial and returns its entry in the state file."""
    found = {"harmed": [], "recording wrong": [], "strays": [], "left behind": [], "ended wrong": []}
    before, begin = surroundings(), time.monotonic()
    with trial.prepared():
        settings = own_settings(trial.target.pid) if trial.target else []
        knee = trial.start()
        try:
            trial.disturb(knee)
            try:
                status = knee.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                status = None
        finally:
            if knee.poll() is None:
                knee.kill()
                knee.wait()
        without = {trial.target.pid} if trial.target else set()
        alive = remaining(trial.mark, without, AFTER)
        # A killed knee does not end the program in its user's terminal: that is no stray, and is counted separately.
        goes_on = trial.kind == "record" and trial.how == "SIGKILL" and status == -9 and bool(alive)
        if alive and not goes_on:
            found["strays"] += [f"alive {AFTER} s later: {words}" for words in alive.values()]
        for pid in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        stderr = read(trial.place / "stderr")
        found["ended wrong"] = of_end(trial, status, stderr)
        found["harmed"] = of_attached(trial, settings, sums) if trial.target else of_started(trial, status, sums)
        recording, found["recording wrong"] = of_recording(trial, status)
        found["left behind"] = [f"in TMPDIR: {path.name}" for path in trial.temporary.iterdir()]
        command = trial.command()
    found["left behind"] += left(before, surroundings())
    wrong = {what: words for what, words in found.items() if words}
    kept = {"number": trial.number, "kind": trial.kind, "how": trial.how, "detail": trial.detail(), "at": round(trial.at, 4), "status": status,
            "recording": recording, "goes on": goes_on, "seconds": round(time.monotonic() - begin, 2)}
    return {**kept, "wrong": wrong, "command": command, "stderr": stderr[-4000:]} if wrong else kept
