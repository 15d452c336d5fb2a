"""What is disturbed, and how: knee's commands that trials run, and the disturbances at an instant while they run.

Imports only Python's standard library. Signals go only to a process by its own pid, or to a process group that a trial made.
"""
import contextlib
import os
import pathlib
import random
import resource
import shlex
import signal
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Rounds of the target: some 0.05 s in a sweep, 0.2 s alone, and longer than knee waits for a program that it has asked to end (3 s).
FEW, SOME, MANY = 60, 300, 20_000
# The exit status of an observed target. In sweeps it must be 0.
STATUS = 7
SWEEP = ["-q", "--no-wait", "--warm-up", "0"]
# The weight with which each kind is drawn. An observed sweep takes several times as long as the others.
KINDS = {"sweep": 1, "curve": 2, "record": 2, "attach": 2, "load": 2, "try": 2}
NAMES = {
    "sweep": "`knee sweep`",
    "curve": "`knee sweep --no-trace`",
    "record": "`knee record -- PROGRAM`",
    "attach": "`knee record -p PID`",
    "load": "`knee record --load`",
    "try": "`knee try`",
}
SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT}
HOW = [*SIGNALS, "disk", "descriptors", "interrupts"]
HOW_NAMES = {**{name: name for name in SIGNALS}, "disk": "full disk", "descriptors": "no descriptors", "interrupts": "interrupted calls"}
# Signals that a process ignores by default. A stop and a continuation interrupt blocking calls; the others must not.
BURST = [signal.SIGWINCH, signal.SIGCHLD, signal.SIGUSR1, signal.SIGURG, signal.SIGSTOP, signal.SIGCONT]


def build(place):
    """The target, and the server with its load, which knee's own tests use as well."""
    served = ROOT / "crates/knee/tests/targets/served.c"
    for name, source in (("target", HERE / "target.c"), ("served", served)):
        subprocess.run(["cc", "-std=gnu17", "-O1", "-g", "-w", "-pthread", "-o", place / name, source], check=True)


def journal_of(text):
    """The lines of a target's journal: what, pid, number, sum, failed calls."""
    return [tuple(line.split()) for line in text.splitlines()]


def expected(place):
    """What the target computes unobserved: its sums by number of rounds, and the sum of each round in `until` mode."""
    found = {}
    for rounds in (FEW, SOME, MANY):
        done = subprocess.run([place / "target", "2", str(rounds), "0"], capture_output=True, text=True, check=True)
        found[rounds] = done.stdout.split()[1].removeprefix("sum=")
    notes, stop = place / "first", place / "first-stop"
    env = {**os.environ, "KNEE_TRIAL_JOURNAL": str(notes)}
    with subprocess.Popen([place / "target", "1", "until", stop, "0"], env=env, stdout=subprocess.DEVNULL) as target:
        # There are sixteen kinds of rounds, which repeat.
        while len({line[2] for line in journal_of(notes.read_text()) if line[0] == "round"} if notes.exists() else ()) < 16:
            time.sleep(0.01)
        stop.touch()
        target.wait()
    found["round"] = {line[2]: line[3] for line in journal_of(notes.read_text()) if line[0] == "round"}
    return found


class Trial:
    """One trial: its folder, and its random choices, which seed and number determine."""

    def __init__(self, number, seed, spans, knee, place, only=(None, None)):
        draw = random.Random(f"{seed}-{number}")
        kind = draw.choices(list(KINDS), KINDS.values())[0]
        how = draw.choice(HOW)
        self.kind, self.how = only[0] or kind, only[1] or how
        self.number, self.knee, self.place, self.built = number, knee, place / str(number), place
        # Up to a tenth more than the undisturbed time, so that some disturbances come just after the end.
        self.at = draw.uniform(0, 1.1) * spans.get(self.kind, 0)
        # Ctrl-C in a terminal reaches the program as well.
        self.group = self.how == "SIGINT" and draw.random() < 0.5
        # One in six runs longer than knee waits; that matters only after a signal.
        self.rounds = MANY if self.kind == "record" and self.how in SIGNALS and draw.random() < 1 / 6 else SOME
        self.from_start = self.how in ("disk", "descriptors") and draw.random() < 0.5
        self.kilobytes = int(2 ** draw.uniform(4, 9)) // 4 * 4
        self.descriptors = draw.choice([16, 20, 24, 28, 32, 40, 48, 64, 96, 128] if self.from_start else [1, 4, 8, 12, 16, 24, 32, 48])
        self.mark = f"{os.getpid()}-{number}"
        self.journal, self.temporary = self.place / "journal", self.place / "tmp"
        self.folder = self.place / "disk" if self.how == "disk" else self.place
        self.out = self.folder / "out"
        self.target = None

    def command(self):
        """knee's arguments."""
        program, served = str(self.built / "target"), str(self.built / "served")
        out, socket = ["-o", str(self.out)], str(self.place / "socket")
        swept = [program, "{threads}", str(FEW), "0"]
        return [str(self.knee), *{
            "sweep": ["sweep", *SWEEP, "--runs", "1", "-t", "1,2", *out, "--", *swept],
            "curve": ["sweep", *SWEEP, "--runs", "2", "-t", "1,2", "--no-trace", *out, "--", *swept],
            "record": ["record", *out, "--", program, "2", str(self.rounds), str(STATUS)],
            "attach": ["record", "-p", str(self.target.pid if self.target else 0), "--for", "200ms", *out],
            "load": ["record", "--load", shlex.join([served, "ask", socket, "4", "200"]), *out, "--", served, "serve", socket, "2", "2000"],
            "try": ["try", *SWEEP, "--quick", "--runs", "2", "-t", "2", "--trial", "cache-lines", "--trial", "nothing", *out, "--", *swept],
        }[self.kind]]

    def environment(self):
        # Without sudo's variables, which would make knee run the target as a user who cannot enter the trial's folder.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SUDO_")}
        return {**kept, "KNEE_TRIAL": self.mark, "KNEE_TRIAL_JOURNAL": str(self.journal), "TMPDIR": str(self.temporary)}

    def detail(self):
        """The random choices, in words."""
        more = {
            "disk": f"{self.kilobytes} KiB from the start" if self.from_start else "filled",
            "descriptors": f"{self.descriptors} " + ("from the start" if self.from_start else "from then on"),
            "SIGINT": "to its group" if self.group else "to knee",
        }.get(self.how, "")
        return " ".join([more, *(["long program"] if self.rounds == MANY and self.kind == "record" else [])]).strip()

    @contextlib.contextmanager
    def prepared(self):
        """Makes the folder, the small disk, and the target to attach to, for a `with` block."""
        self.place.mkdir()
        self.temporary.mkdir()
        if self.how == "disk":
            self.folder.mkdir()
            size = f"size={self.kilobytes}k" if self.from_start else "size=8m"
            subprocess.run(["mount", "-t", "tmpfs", "-o", size, "knee-trial", self.folder], check=True)
        try:
            if self.kind == "attach":
                words = [self.built / "target", "2", "until", self.place / "stop", str(STATUS)]
                with open(self.place / "target.out", "wb") as printed:
                    self.target = subprocess.Popen(words, env=self.environment(), stdout=printed, stdin=subprocess.DEVNULL, start_new_session=True)
                while not self.journal.exists():
                    time.sleep(0.002)
            yield
        finally:
            if self.target and self.target.poll() is None:
                self.target.kill()
                self.target.wait()
            if self.how == "disk":
                # Lazily, if a process that a trial left behind still has a file open there.
                if subprocess.run(["umount", self.folder], stderr=subprocess.DEVNULL).returncode:
                    subprocess.run(["umount", "-l", self.folder], check=True)

    def start(self):
        """Starts knee in a process group of its own."""
        before = []
        if self.how == "interrupts":
            before.append("trap '' USR1")
        if self.how == "descriptors" and self.from_start:
            before.append(f"ulimit -n {self.descriptors}")
        words = ["sh", "-c", "; ".join([*before, 'exec "$@"']), "sh"] if before else []
        with open(self.place / "stdout", "wb") as out, open(self.place / "stderr", "wb") as err:
            return subprocess.Popen([*words, *self.command()], cwd=self.place, env=self.environment(), stdin=subprocess.DEVNULL,
                                    stdout=out, stderr=err, start_new_session=True)

    def disturb(self, knee):
        """Disturbs knee at the chosen instant. It may have ended before."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            if not self.from_start:
                knee.wait(self.at)
        with contextlib.suppress(ProcessLookupError):
            if self.how in SIGNALS and knee.poll() is None:
                (os.killpg if self.group else os.kill)(knee.pid, SIGNALS[self.how])
            elif self.how == "descriptors" and not self.from_start and knee.poll() is None:
                resource.prlimit(knee.pid, resource.RLIMIT_NOFILE, (self.descriptors, self.descriptors))
            elif self.how == "disk" and not self.from_start:
                self.fill()
            elif self.how == "interrupts":
                self.burst(knee)

    def fill(self):
        """Fills the rest of the disk."""
        with open(self.folder / "filler", "wb", buffering=0) as filler, contextlib.suppress(OSError):
            while True:
                filler.write(bytes(4096))

    def burst(self, knee):
        """Sends about a thousand signals as fast as possible; the last one continues a stopped process."""
        for turn in range(200):
            for number in BURST:
                if knee.poll() is not None:
                    return
                os.kill(knee.pid, number)
            if turn % 10 == 0:
                time.sleep(0.001)
