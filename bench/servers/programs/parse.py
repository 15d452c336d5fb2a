"""Parses the lines of an access log, and adds up what each page cost.

    parse.py guilty|clean

The guilty one parses in threads, which take turns at the interpreter's lock; the clean one in processes. Both start as many as there
are processors to run on, with equal shares.
"""
import collections
import concurrent.futures
import os
import sys

LINES = 550_000
PAGES = ["/", "/about", "/basket", "/contact", "/help", "/login", "/offers", "/orders", "/search", "/terms"]
# A share is parsed in parts, so that no list of lines grows large.
PART = 1_000


def log(first, last):
    """The lines of these numbers, as the server would have written them."""
    for number in range(first, last):
        page, size, millis = PAGES[number * 7 % len(PAGES)], number * 37 % 9000, number * 13 % 400
        yield f'10.0.{number % 200}.{number % 250} - - [25/Nov/2026] "GET {page}?id={number} HTTP/1.1" 200 {size} {millis}ms'


def parse_line(line):
    """The page, its size and its time, of a line of the log."""
    host, _, rest = line.partition(" - - [")
    _, _, rest = rest.partition('] "')
    request, _, figures = rest.partition('" ')
    method, target, _ = request.split(" ")
    page, _, query = target.partition("?")
    status, size, time = figures.split(" ")
    fields = dict(field.split("=") for field in query.split("&"))
    if method != "GET" or status != "200" or not host or "id" not in fields:
        return None
    return page, int(size), int(time.removesuffix("ms"))


def parse_share(first, last):
    """What each page cost in the lines of these numbers."""
    sizes, times = collections.Counter(), collections.Counter()
    for begin in range(first, last, PART):
        for line in log(begin, min(begin + PART, last)):
            parsed = parse_line(line)
            if parsed:
                page, size, time = parsed
                sizes[page] += size
                times[page] += time
    return sizes, times


def shares(workers):
    return [(LINES * number // workers, LINES * (number + 1) // workers) for number in range(workers)]


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: parse.py guilty|clean")
    pools = {"guilty": concurrent.futures.ThreadPoolExecutor, "clean": concurrent.futures.ProcessPoolExecutor}
    workers = len(os.sched_getaffinity(0))
    sizes, times = collections.Counter(), collections.Counter()
    with pools[sys.argv[1]](workers) as pool:
        for size, time in pool.map(parse_share, *zip(*shares(workers))):
            sizes.update(size)
            times.update(time)
    for page, time in times.most_common(3):
        print(f"{page} {time / 1000:.1f} s, {sizes[page] / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
