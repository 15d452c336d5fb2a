import sys
import threading
import time
import zlib

CHUNK = 16384


def make_source(length):
    words = ["alpha", "beta", "gamma", "delta", "invoice", "customer", "total", "status",
             "pending", "shipped", "street", "number", "amount", "paid", "region", "north"]
    x = 12345
    out = []
    size = 0
    while size < length:
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
        piece = "%s=%d;" % (words[x >> 28], (x >> 8) & 0xFFF)
        out.append(piece)
        size += len(piece)
    return "".join(out)[:length].encode()


class Store:
    def __init__(self):
        self.expected = 0
        self.offset = 0
        self.digest = 0

    def append(self, number, blob):
        while self.expected != number:
            time.sleep(0.001)
        self.offset += len(blob)
        self.digest = zlib.crc32(blob, self.digest)
        self.expected = number + 1


def packer(source, store, index, stride, total):
    chunks = len(source) // CHUNK
    for number in range(index, total, stride):
        at = number % chunks * CHUNK
        blob = zlib.compress(source[at:at + CHUNK], 6)
        store.append(number, blob)


def main():
    threads = max(1, int(sys.argv[1])) if len(sys.argv) > 1 else 1
    total = int(sys.argv[2]) if len(sys.argv) > 2 else 1300
    source = make_source(CHUNK * 16)
    store = Store()
    pool = [threading.Thread(target=packer, args=(source, store, t, threads, total))
            for t in range(threads)]
    for th in pool:
        th.start()
    for th in pool:
        th.join()
    print("chunks", total, "packed", store.offset, "digest %08x" % store.digest)


if __name__ == "__main__":
    main()
