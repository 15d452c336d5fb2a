"""Threads that compute under the interpreter's lock: `python3 contended.py THREADS ROUNDS`."""
import sys
import threading


def compute_slowly(rounds):
    total = 0
    for i in range(rounds):
        total += i * i % 7
    return total


def worker(rounds):
    compute_slowly(rounds)


threads = [threading.Thread(target=worker, args=(int(sys.argv[2]),)) for _ in range(int(sys.argv[1]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
