"""Jobs that each need one of a few sessions: THREADS SIZE JOBS HELD BUILT.

HELD is what a job does while it has one: sleep, or io (write and fsync). BUILT is how the pool is made: queue or semaphore.
"""
import os
import queue
import sys
import tempfile
import threading
import time


class InQueue:
    def __init__(self, sessions):
        self.free = queue.Queue()
        for session in sessions:
            self.free.put(session)

    def acquire(self):
        return self.free.get()

    def release(self, session):
        self.free.put(session)


class BehindSemaphore:
    def __init__(self, sessions):
        self.left = threading.BoundedSemaphore(len(sessions))
        self.free = sessions

    def acquire(self):
        self.left.acquire()
        return self.free.pop()

    def release(self, session):
        self.free.append(session)
        self.left.release()


def fetch(session, held):
    if held == "io":
        session.write(b"a row\n")
        session.flush()
        os.fsync(session.fileno())
        time.sleep(0.003)
    else:
        time.sleep(0.005)


def work(pool, jobs, held):
    while True:
        try:
            jobs.pop()
        except IndexError:
            return
        session = pool.acquire()
        fetch(session, held)
        pool.release(session)


def main():
    threads, size, count = (int(word) for word in sys.argv[1:4])
    held, built = sys.argv[4:6]
    sessions = [tempfile.TemporaryFile() for _ in range(size)]
    pool = (InQueue if built == "queue" else BehindSemaphore)(sessions)
    jobs = list(range(count))
    begin = time.monotonic()
    workers = [threading.Thread(target=work, args=(pool, jobs, held)) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f"{count / (time.monotonic() - begin):.1f} jobs/s")


main()
