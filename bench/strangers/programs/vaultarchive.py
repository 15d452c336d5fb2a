"""vaultarchive - packs the blocks of a disk image for cold storage.

Blocks pass from the reader to the packers through a bounded queue; a packed
block is entered into the manifest under its digest.

usage: vaultarchive.py THREADS
"""

import hashlib
import queue
import random
import sys
import threading
import zlib

BLOCKS = 70
BLOCK_BYTES = 256 * 1024
IMAGE_BYTES = 512 * 1024
QUEUE_DEPTH = 8

WORDS = [
    b"inode", b"extent", b"journal", b"super", b"group", b"bitmap", b"mount",
    b"owner", b"mode", b"link", b"size", b"mtime", b"ctime", b"block", b"xattr",
    b"dirent", b"root", b"boot", b"swap", b"volume",
]


class DiskImage:
    """A synthetic image: directory text and binary tables in turn."""

    def __init__(self, seed):
        rng = random.Random(seed)
        text = b" ".join(rng.choices(WORDS, k=12_000))
        parts = []
        size = 0
        while size < IMAGE_BYTES:
            table = rng.randbytes(2048)
            start = rng.randrange(len(text) // 2)
            piece = table + text[start:start + 14_000]
            parts.append(piece)
            size += len(piece)
        self.data = b"".join(parts)[:IMAGE_BYTES]

    def block(self, number):
        start = (number * 4099) % (IMAGE_BYTES - BLOCK_BYTES)
        return self.data[start:start + BLOCK_BYTES]


class Manifest:
    """Where each block went; shared by all packers."""

    def __init__(self):
        self.lock = threading.Lock()
        self.digests = {}
        self.raw_bytes = 0
        self.packed_bytes = 0

    def enter(self, number, digest, raw, packed):
        with self.lock:
            self.digests[number] = digest
            self.raw_bytes += raw
            self.packed_bytes += packed

    def seal(self):
        total = hashlib.sha256()
        for number in sorted(self.digests):
            total.update(self.digests[number])
        return total.hexdigest()[:16]


class Packer(threading.Thread):
    def __init__(self, blocks, manifest):
        super().__init__(name="packer")
        self.blocks = blocks
        self.manifest = manifest
        self.packed = 0
        self.saved = 0

    def run(self):
        while True:
            item = self.blocks.get()
            if item is None:
                return
            number, data = item
            digest = hashlib.sha256(data).digest()
            packed = zlib.compress(data, 6)
            check = zlib.crc32(packed)
            self.packed += 1
            self.saved += len(data) - len(packed)
            self.manifest.enter(number, digest + check.to_bytes(4, "big"),
                                len(data), len(packed))


def pack_image(image, threads):
    manifest = Manifest()
    blocks = queue.Queue(maxsize=QUEUE_DEPTH)
    packers = [Packer(blocks, manifest) for _ in range(threads)]
    for p in packers:
        p.start()
    for number in range(BLOCKS):
        blocks.put((number, image.block(number)))
    for _ in packers:
        blocks.put(None)
    for p in packers:
        p.join()
    saved = sum(p.saved for p in packers)
    if saved != manifest.raw_bytes - manifest.packed_bytes:
        raise RuntimeError("the manifest does not add up")
    return manifest, sum(p.packed for p in packers)


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    image = DiskImage(11)
    manifest, packed = pack_image(image, threads)
    print(f"blocks {packed} raw {manifest.raw_bytes} "
          f"packed {manifest.packed_bytes} seal {manifest.seal()}")


if __name__ == "__main__":
    main()
