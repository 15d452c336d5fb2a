"""Writes docs/transcripts.md: what knee says in its first minutes as root, as a user without rights, and in a container.

usage: transcripts.py KNEE LAB [--sweep]   (as root, to become the others; LAB is the folder of the lab's programs)

With --sweep also a sweep in each place: on a quiet machine only, or it tells of nothing but the other programs.

Everything below a prompt is what the command printed just now. The container is made of namespaces as container engines make
theirs: a user namespace of `nobody` in which it is root, with processes and mounts of its own, and no right outside of it.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/transcripts.md"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
CONTAINER = NOBODY + ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--ipc", "--net"]

INTRODUCTION = """# Transcripts

What knee can see in three places, as it was printed: `sudo ./dev transcripts` writes this page, by running the commands
(`--sweep` adds a sweep of the lab's `birthday` in each, on a quiet machine). The curve and the account are there everywhere; what
could not be seen is *unsure* with the reason.
"""

SWEEP = ["knee", "sweep", "-t", "1,2", "--runs", "5", "--quiet", "-o", "recording", "--", "./birthday", "--threads={threads}",
         "--attempts=200K", "--rng=random"]

PLACES = [
    ("As root", "#", [], [["knee", "doctor"], SWEEP]),
    ("As a user without rights", "$", NOBODY, [["knee", "doctor"], SWEEP, ["knee", "record", "-p", "1", "--for", "1s"]]),
    ("In a container without privileges", "#", CONTAINER, [["knee", "doctor"], SWEEP]),
]


def main():
    knee, lab = sys.argv[1:3]
    sweeps = "--sweep" in sys.argv[3:]
    page = [INTRODUCTION]
    for title, prompt, become, commands in PLACES:
        with tempfile.TemporaryDirectory(prefix="knee-transcript-") as place:
            place = pathlib.Path(place)
            place.chmod(0o777)
            (place / "bin").mkdir()
            (place / "bin").chmod(0o755)
            shutil.copy(knee, place / "bin/knee")
            shutil.copy(pathlib.Path(lab) / "birthday", place / "birthday")
            page.append(f"\n## {title}\n\n```console\n")
            for command in commands if sweeps else [c for c in commands if c is not SWEEP]:
                shown = " ".join(command)
                done = subprocess.run(
                    become + command, cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                    text=True, timeout=300, check=False,
                    env={"PATH": f"{place}/bin:/usr/sbin:/usr/bin:/sbin:/bin", "COLUMNS": "80", "HOME": str(place), "LANG": "C.UTF-8"},
                )
                page.append(f"{prompt} {shown}\n{done.stdout.replace(str(place), '/home/user').rstrip()}\n")
                if done.returncode:
                    page.append(f"(exit status {done.returncode})\n")
                page.append("\n")
            page[-1] = "```\n"
    PAGE.write_text("".join(page))


main()
