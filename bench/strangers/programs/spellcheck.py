"""Suggests corrections for misspelt words out of a small dictionary."""

import sys
import threading
from collections import Counter
from queue import Empty, Queue

SYLLABLES = ["ka", "lo", "mi", "ter", "ran", "sol", "ve", "du", "pin", "gar", "no", "sti"]
WORDS = 700


class Random:
    """Small repeatable generator, the same on every machine."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 1103515245 + 12345) & 0x7FFFFFFF
        return (self.state >> 8) % n


def make_dictionary(size):
    rng = Random(42)
    words = set()
    while len(words) < size:
        words.add("".join(SYLLABLES[rng.below(len(SYLLABLES))] for _ in range(2 + rng.below(3))))
    return sorted(words)


def misspell(word, rng):
    i = rng.below(len(word))
    kind = rng.below(3)
    if kind == 0:
        return word[:i] + word[i + 1:]
    if kind == 1:
        return word[:i] + "x" + word[i:]
    return word[:i] + "e" + word[i + 1:]


def distance(a, b, limit):
    row = list(range(len(b) + 1))
    for i, ca in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, cb in enumerate(b, 1):
            above = row[j]
            if ca == cb:
                row[j] = diagonal
            else:
                row[j] = 1 + min(diagonal, above, row[j - 1])
            diagonal = above
        if min(row) > limit:
            return limit + 1
    return row[-1]


class Checker:
    def __init__(self, dictionary):
        self.by_length = {}
        for word in dictionary:
            self.by_length.setdefault(len(word), []).append(word)

    def suggest(self, word):
        best, found = 3, None
        for length in (len(word), len(word) - 1, len(word) + 1):
            for candidate in self.by_length.get(length, ()):
                d = distance(word, candidate, best)
                if d < best:
                    best, found = d, candidate
        return found


class Worker(threading.Thread):
    def __init__(self, checker, jobs):
        super().__init__()
        self.checker = checker
        self.jobs = jobs
        self.suggestions = Counter()

    def run(self):
        while True:
            try:
                batch = self.jobs.get_nowait()
            except Empty:
                return
            for word in batch:
                self.suggestions[self.checker.suggest(word)] += 1


def main():
    workers = int(sys.argv[1])
    dictionary = make_dictionary(WORDS)
    rng = Random(7)
    text = [misspell(dictionary[rng.below(WORDS)], rng) for _ in range(760)]
    jobs = Queue()
    for start in range(0, len(text), 10):
        jobs.put(text[start:start + 10])
    checker = Checker(dictionary)
    threads = [Worker(checker, jobs) for _ in range(workers)]
    for t in threads:
        t.start()
    total = Counter()
    for t in threads:
        t.join()
        total += t.suggestions
    print(len(text), "words,", total[None], "without a suggestion,", len(total), "different")


if __name__ == "__main__":
    main()
