"""textstats - triage of support tickets.

Every ticket is scored by the weights of its words; the score decides the
queue, and a fingerprint is kept so that repeated tickets can be joined.

usage: textstats.py THREADS
"""

import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

TICKETS = 70_000
BASE_TICKETS = 500
WORDS_PER_TICKET = 50
CHUNK = 500

STEMS = [
    "invoice", "login", "refund", "router", "outage", "password", "delivery",
    "contract", "meter", "upgrade", "signal", "billing", "account", "device",
]
ENDINGS = ["", "s", "ed", "ing", "less", "-id", "-nr", "x"]

QUEUES = ("general", "billing", "technical", "urgent")


class TriageModel:
    """Word weights and the thresholds of the queues."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.vocabulary = [s + e for s in STEMS for e in ENDINGS]
        self.weights = {}
        for word in self.vocabulary:
            if rng.random() < 0.7:
                self.weights[word] = rng.randrange(-4, 9)

    def score(self, words):
        total = 0
        previous = 0
        get = self.weights.get
        for word in words:
            weight = get(word, 0)
            if weight > 0 and previous > 0:
                total += weight + 1
            else:
                total += weight
            previous = weight
        return total

    @staticmethod
    def queue_of(score):
        if score < 60:
            return 0
        if score < 100:
            return 1
        if score < 150:
            return 2
        return 3


def fingerprint(words):
    value = 5381
    for word in words:
        value = (value * 33 + len(word) * 7 + ord(word[0])) & 0xFFFFFFFF
    return value


class TriageResult:
    def __init__(self):
        self.per_queue = [0] * len(QUEUES)
        self.score_sum = 0
        self.fingerprint_sum = 0

    def add(self, other):
        for i, n in enumerate(other.per_queue):
            self.per_queue[i] += n
        self.score_sum += other.score_sum
        self.fingerprint_sum += other.fingerprint_sum


class Triage:
    def __init__(self, model, tickets):
        self.model = model
        self.tickets = tickets
        self.total = TriageResult()
        self.lock = threading.Lock()

    def process_chunk(self, first, end):
        result = TriageResult()
        for number in range(first, end):
            words = self.tickets[number % len(self.tickets)]
            score = self.model.score(words)
            result.per_queue[self.model.queue_of(score)] += 1
            result.score_sum += score
            result.fingerprint_sum += fingerprint(words) ^ number
        with self.lock:
            self.total.add(result)


def make_tickets(vocabulary, seed):
    rng = random.Random(seed)
    return [
        rng.choices(vocabulary, k=WORDS_PER_TICKET) for _ in range(BASE_TICKETS)
    ]


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    model = TriageModel(17)
    triage = Triage(model, make_tickets(model.vocabulary, 23))
    with ThreadPoolExecutor(max_workers=threads) as pool:
        chunks = [
            pool.submit(triage.process_chunk, first, min(first + CHUNK, TICKETS))
            for first in range(0, TICKETS, CHUNK)
        ]
        for chunk in chunks:
            chunk.result()
    total = triage.total
    queues = " ".join(f"{q}={n}" for q, n in zip(QUEUES, total.per_queue))
    print(f"tickets {TICKETS} {queues} score {total.score_sum} "
          f"fingerprints {total.fingerprint_sum}")


if __name__ == "__main__":
    main()
