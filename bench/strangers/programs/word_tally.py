import sys
import threading


def make_document(number, length):
    x = number * 2654435761 % 4294967296 or 1
    letters = "etaoinshrdlu cmfwyp vbgkqjxz, . "
    out = []
    for _ in range(length):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
        out.append(letters[x >> 27])
    return "".join(out)


def tally(text, counts):
    start = -1
    pos = 0
    for ch in text:
        if ch.isalpha():
            if start < 0:
                start = pos
        elif start >= 0:
            word = text[start:pos]
            counts[word] = counts.get(word, 0) + 1
            start = -1
        pos += 1


def worker(documents, first, last, results, index):
    counts = {}
    for number in range(first, last):
        tally(documents[number % len(documents)], counts)
    results[index] = counts


def main():
    threads = max(1, int(sys.argv[1])) if len(sys.argv) > 1 else 1
    total = int(sys.argv[2]) if len(sys.argv) > 2 else 450
    documents = [make_document(n + 1, 20000) for n in range(8)]
    results = [None] * threads
    pool = []
    for t in range(threads):
        first = total * t // threads
        last = total * (t + 1) // threads
        pool.append(threading.Thread(target=worker, args=(documents, first, last, results, t)))
    for th in pool:
        th.start()
    for th in pool:
        th.join()
    words = sum(sum(counts.values()) for counts in results)
    print("documents", total, "words", words)


if __name__ == "__main__":
    main()
