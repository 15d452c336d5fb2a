"""Threads that compute in Python. squares.py THREADS"""
import sys
import threading


def crunch(count):
    total = 0
    for i in range(count):
        total += i * i % 7
    return total


threads = int(sys.argv[1])
workers = [threading.Thread(target=crunch, args=(12_000_000 // threads,)) for _ in range(threads)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
