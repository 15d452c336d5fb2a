"""Programs that pretend to be knee. Each does one thing wrong, to show that each check of a trial can fail; an honest one passes.

Imports only Python's standard library.
"""
import copy
import shutil

import harm
import targets

# As much of knee as the checks see: it runs the program after `--`, and writes a recording. $FAULT is what it does wrong.
FAKE = r"""#!/bin/sh
fault=FAULT
out= pid= last=
if [ "$1" = report ]; then
    case $fault in
        report-panics) echo "thread 'main' panicked at report.rs" >&2; exit 101 ;;
        report-dies) kill -SEGV $$ ;;
        report-silent) echo "All is well."; exit 0 ;;
        refused) echo "knee: $2 is damaged" >&2; exit 5 ;;
    esac
    grep -q unfinished "$2/meta.json" && echo "Warning: the recording is unfinished"
    exit 0
fi
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    [ "$last" != -o ] || out=$1
    [ "$last" != -p ] || pid=$1
    last=$1
    shift
done
[ "$1" != -- ] || shift
mkdir -p "$out/output"
completion=finished
case $fault in report-silent | unfinished) completion=unfinished ;; esac
echo "{\"completion\": \"$completion\"}" >"$out/meta.json"
case $fault in
    stray) sleep 20 >/dev/null 2>&1 & ;;
    leaves-file) echo x >"$TMPDIR/left" ;;
    panics) echo "thread 'main' panicked at main.rs" >&2 ;;
    status) exit 42 ;;
    hangs) exec sleep 20 ;;
    no-recording) rm -r "$out"; exit 0 ;;
    silent-error) exit 1 ;;
    kills) kill -KILL $pid ;;
    stops) kill -STOP $pid ;;
    limits) prlimit --pid $pid --nofile=99:99 ;;
esac
if [ -z "$pid" ]; then
    case $fault in
        other-rounds) "$1" "$2" 9 "$4" ;;
        cut-short) timeout -s KILL 0.02 "$@" ;;
        output) "$@" | sed 's/sum/some/' ;;
        *) "$@" ;;
    esac
    case $fault in other-status) ;; *) echo "the program ended with status 7" ;; esac
fi
exit 0
"""
# What a fake does wrong, in which trial, and the check that must find it; None where nothing is wrong.
CASES = [
    ("honest", "record", "interrupts", None), ("honest", "attach", "interrupts", None),
    ("stray", "record", "interrupts", "strays"), ("leaves-file", "record", "interrupts", "left behind"),
    ("panics", "record", "interrupts", "ended wrong"), ("status", "record", "interrupts", "ended wrong"),
    ("hangs", "record", "interrupts", "ended wrong"), ("silent-error", "record", "disk", "ended wrong"),
    ("no-recording", "record", "interrupts", "recording wrong"), ("unfinished", "record", "interrupts", "recording wrong"),
    ("report-silent", "record", "interrupts", "recording wrong"), ("report-panics", "record", "interrupts", "recording wrong"),
    ("report-dies", "record", "interrupts", "recording wrong"), ("refused", "record", "interrupts", "recording wrong"),
    ("other-rounds", "record", "interrupts", "harmed"), ("cut-short", "record", "interrupts", "harmed"),
    ("output", "record", "interrupts", "harmed"), ("other-status", "record", "interrupts", "harmed"),
    ("kills", "attach", "interrupts", "harmed"), ("stops", "attach", "interrupts", "harmed"), ("limits", "attach", "interrupts", "harmed"),
]


def surroundings_are_compared():
    """Tests the comparison of settings with made-up ones, because a test should not change those of the machine."""
    before = harm.surroundings()
    after = copy.deepcopy(before)
    if harm.left(before, after):
        return ["the same surroundings differ"]
    after["pinned"].add("/sys/fs/bpf/made-up")
    after["groups"].add("/sys/fs/cgroup/made-up")
    after["settings"]["kptr_restrict"] += "9"
    after["preloaded"] += "/made-up.so"
    return [] if len(harm.left(before, after)) == 4 else [f"of four changes only these are seen: {harm.left(before, after)}"]


def journals_are_compared():
    """A wrong sum, a failed call and a missing end are found; a program that need not end is no harm."""
    sums = {"round": {"3": "aa"}, "end": "bb"}
    seen = lambda text, **more: bool(harm.of_journal(text, {**sums, **more}))
    wanted = [(seen("begin 1 2 0 0\nround 1 3 aa 0\nend 1 2 bb 0\n"), False), (seen("round 1 3 ab 0\n"), True), (seen("end 1 2 bc 0\n"), True),
              (seen("end 1 2 bb 1\n"), True), (seen("begin 1 2 0 0\n"), False), (seen("begin 1 2 0 0\n", **{"must end": True}), True)]
    return [f"journal {number}: {got}" for number, (got, want) in enumerate(wanted) if got != want]


def tested(place):
    """Makes a trial of each fake; returns the exit status."""
    targets.build(place)
    sums, failures = targets.expected(place), [*surroundings_are_compared(), *journals_are_compared()]
    harm.AFTER, harm.PATIENCE = 0.5, 3
    for number, (fault, kind, how, wanted) in enumerate(CASES):
        fake = place / f"fake-{fault}"
        fake.write_text(FAKE.replace("FAULT", fault, 1))
        fake.chmod(0o755)
        trial = targets.Trial(f"{fault}-{number}", 0, {}, fake, place, (kind, how))
        # The fake handles no signals, and none are needed here.
        trial.burst, trial.from_start = lambda knee: None, False
        found = harm.judged(trial, sums)
        shutil.rmtree(trial.place)
        seen = found.get("wrong", {})
        good = wanted in seen if wanted else not seen
        print(f"{'ok' if good else 'FAILED':7} {fault:14} {kind:7} {seen or 'nothing found'}", flush=True)
        if not good:
            failures.append(f"{fault}: expected to find {wanted or 'nothing'}")
    print("\n".join(failures) or f"all {len(CASES)} trials and the comparisons are judged right")
    return 1 if failures else 0
