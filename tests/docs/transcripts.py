"""Writes docs/transcripts.md: what knee prints in its first minutes as root, as a user without and with rights, and in a container.

usage: transcripts.py KNEE LAB [--sweep]   (as root, to become the others; LAB is the folder of the lab's programs)

With --sweep also a sweep in each place. That needs a quiet machine; otherwise the answers are about the other programs.

Everything below a prompt is what the command has just printed. The container is made of namespaces, as container engines do: a user
namespace of `nobody` in which it is root, with processes and mounts of its own, and without rights outside.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/transcripts.md"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
CONTAINER = NOBODY + ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--ipc", "--net"]

INTRODUCTION = """# Transcripts

What knee sees and prints in four places: as root, as a user, as a user whose copy of knee was given capabilities, and in a container.
`knee doctor` says it before the first run. {sweeps}Causes that need what could not be seen are *unsure*, with the reason; [Installing](install.md#rights)
says how to unlock more.

Everything here was printed by a program: `sudo ./dev transcripts` runs the commands and writes this page; with `--sweep`, on a quiet machine,
the lab's `birthday` is swept in each place as well.
"""

SWEEPS = """Then the lab's `birthday`, whose threads wait for a lock inside the C library, is swept in each place: all four have the curve and the
account. """

# The capabilities that let a user observe; docs/install.md says what granting them means.
LENT = "cap_bpf,cap_perfmon,cap_syslog+ep"

SWEEP = ["knee", "sweep", "-t", "1,2", "--runs", "5", "--quiet", "-o", "recording", "--", "./birthday", "--threads={threads}",
         "--attempts=200K", "--rng=random"]

PLACES = [
    ("As root", "#", [], [["knee", "doctor"], SWEEP], ""),
    ("As a user without rights", "$", NOBODY, [["knee", "doctor"], SWEEP, ["knee", "record", "-p", "1", "--for", "1s"]], ""),
    ("As a user, after setcap", "$", NOBODY, [["knee", "doctor"], SWEEP], LENT),
    ("In a container without privileges", "#", CONTAINER, [["knee", "doctor"], SWEEP], ""),
]


def main():
    knee, lab = sys.argv[1:3]
    sweeps = "--sweep" in sys.argv[3:]
    page = [INTRODUCTION.format(sweeps=SWEEPS if sweeps else "")]
    for title, prompt, become, commands, lent in PLACES:
        with tempfile.TemporaryDirectory(prefix="knee-transcript-") as place:
            place = pathlib.Path(place)
            place.chmod(0o777)
            (place / "bin").mkdir()
            (place / "bin").chmod(0o755)
            shutil.copy(knee, place / "bin/knee")
            shutil.copy(pathlib.Path(lab) / "birthday", place / "birthday")
            page.append(f"\n## {title}\n\n```console\n")
            if lent:
                subprocess.run(["setcap", lent, place / "bin/knee"], check=True)
                page.append(f"# setcap {lent} /home/user/bin/knee\n\n")
            for command in commands if sweeps else [c for c in commands if c is not SWEEP]:
                shown = " ".join(command)
                start = time.monotonic()
                done = subprocess.run(
                    become + command, cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                    text=True, timeout=300, check=False,
                    env={"PATH": f"{place}/bin:/usr/sbin:/usr/bin:/sbin:/bin", "COLUMNS": "80", "HOME": str(place), "LANG": "C.UTF-8"},
                )
                page.append(f"{prompt} {shown}\n{done.stdout.replace(str(place), '/home/user').rstrip()}\n")
                if command is SWEEP:
                    page.append(f"(after {time.monotonic() - start:.0f} s)\n")
                if done.returncode:
                    page.append(f"(exit status {done.returncode})\n")
                page.append("\n")
            page[-1] = "```\n"
    PAGE.write_text("".join(page))


main()
