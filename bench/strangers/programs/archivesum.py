"""Computes the check sums of the parts of a large archive and a sum over all."""

import hashlib
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

PART_SIZE = 4 * 1024 * 1024
PARTS = 220


@dataclass(frozen=True)
class PartSum:
    number: int
    size: int
    digest: bytes

    def line(self):
        return f"{self.digest.hex()} {self.size} part-{self.number:04d}\n"


class Archive:
    """An archive in memory; the parts overlap one block of data."""

    def __init__(self, parts, part_size):
        self.parts = parts
        self.part_size = part_size
        pattern = hashlib.sha512(b"archive").digest()
        self._data = memoryview(pattern * (2 * part_size // len(pattern)))

    def __len__(self):
        return self.parts

    def part(self, number):
        start = number * 4099 % self.part_size
        return self._data[start:start + self.part_size]


class Summer:
    def __init__(self, archive, algorithm="sha256", piece=1 << 20):
        self.archive = archive
        self.algorithm = algorithm
        self.piece = piece

    def sum_part(self, number):
        data = self.archive.part(number)
        h = hashlib.new(self.algorithm)
        h.update(number.to_bytes(8, "big"))
        for offset in range(0, len(data), self.piece):
            h.update(data[offset:offset + self.piece])
        return PartSum(number, len(data), h.digest())

    def sum_all(self, workers):
        with ThreadPoolExecutor(max_workers=workers) as pool:
            return list(pool.map(self.sum_part, range(len(self.archive))))


def manifest(sums):
    """The text of the manifest, ordered by part number."""
    return "".join(s.line() for s in sorted(sums, key=lambda s: s.number))


def overall(sums):
    h = hashlib.sha256()
    for s in sums:
        h.update(s.digest)
    return h.hexdigest()


def duplicates(sums):
    seen = {}
    for s in sums:
        seen.setdefault(s.digest, []).append(s.number)
    return [numbers for numbers in seen.values() if len(numbers) > 1]


def main():
    if len(sys.argv) != 2:
        print("usage: archivesum.py WORKERS", file=sys.stderr)
        return 2
    workers = int(sys.argv[1])
    archive = Archive(PARTS, PART_SIZE)
    sums = Summer(archive, algorithm="sha512").sum_all(workers)
    text = manifest(sums)
    print(f"{len(sums)} parts, {len(text)} characters of manifest, "
          f"{len(duplicates(sums))} duplicates, sum {overall(sums)[:12]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
