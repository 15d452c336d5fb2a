"""spoolmerge - merges the spool files of the print servers into one archive.

The archive directory is also used by the nightly clean-up, so whoever adds
to it owns the marker file "archive.busy" meanwhile.

usage: spoolmerge.py THREADS
"""

import os
import random
import shutil
import sys
import tempfile
import threading
import time
import zlib

SPOOL_FILES = 80
SPOOL_BYTES = 256 * 1024
BASE_BYTES = 160 * 1024
RETRY_DELAY = 0.002

WORDS = [
    "page", "duplex", "tray", "media", "landscape", "toner", "copies", "draft",
    "quality", "margin", "header", "footer", "render", "raster", "cyan", "black",
    "magenta", "yellow", "staple", "punch", "collate", "finish", "queue", "printer",
]


class ArchiveMarker:
    """Owns the archive directory between enter and exit."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "archive.busy")

    def __enter__(self):
        while True:
            try:
                fd = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            except FileExistsError:
                time.sleep(RETRY_DELAY)
                continue
            os.close(fd)
            return self

    def __exit__(self, *exc):
        os.unlink(self.path)
        return False


class Archive:
    def __init__(self, directory):
        self.directory = directory
        self.data_path = os.path.join(directory, "spool.arc")
        self.entries = {}
        self.stored = 0

    def add(self, number, data):
        with ArchiveMarker(self.directory):
            packed = zlib.compress(data, 6)
            with open(self.data_path, "ab") as out:
                offset = out.tell()
                out.write(packed)
            self.entries[number] = (offset, len(packed), zlib.crc32(data))
            self.stored += len(packed)

    def check(self, number):
        offset, length, crc = self.entries[number]
        with open(self.data_path, "rb") as src:
            src.seek(offset)
            return zlib.crc32(zlib.decompress(src.read(length))) == crc


class SpoolSource:
    """Produces the content of the spool files."""

    def __init__(self, seed):
        rng = random.Random(seed)
        count = BASE_BYTES // 8
        numbers = [str(n) for n in range(100, 400)]
        tokens = rng.choices(WORDS + numbers, k=count)
        self.base = " ".join(tokens).encode("ascii")

    def read(self, number):
        start = (number * 1537) % (len(self.base) // 2)
        chunk = self.base[start:] + self.base[:start]
        head = f"%SPOOL {number}\n".encode("ascii")
        data = head + chunk + chunk[::-1]
        while len(data) < SPOOL_BYTES:
            data += chunk
        return data[:SPOOL_BYTES]


class Merger:
    def __init__(self, source, archive):
        self.source = source
        self.archive = archive
        self.next_number = 0
        self.lock = threading.Lock()

    def take_number(self):
        with self.lock:
            number = self.next_number
            if number >= SPOOL_FILES:
                return None
            self.next_number += 1
            return number

    def run(self):
        while True:
            number = self.take_number()
            if number is None:
                return
            self.archive.add(number, self.source.read(number))


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    directory = tempfile.mkdtemp(prefix="spoolmerge.", dir="/tmp")
    try:
        archive = Archive(directory)
        merger = Merger(SpoolSource(5), archive)
        workers = [threading.Thread(target=merger.run) for _ in range(threads)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
        sound = sum(archive.check(n) for n in range(0, SPOOL_FILES, 20))
        crcs = sum(entry[2] for entry in archive.entries.values())
        print(f"files {len(archive.entries)} stored {archive.stored} "
              f"sound {sound} crc-sum {crcs}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
