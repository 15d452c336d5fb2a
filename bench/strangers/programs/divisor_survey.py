import multiprocessing
import sys


def divisor_sum(n):
    total = 1
    d = 2
    while d * d < n:
        if n % d == 0:
            total += d + n // d
        d += 1
    if d * d == n:
        total += d
    return total


def survey(span):
    first, stride, limit = span
    abundant = 0
    for n in range(first, limit, stride):
        if divisor_sum(n) > n:
            abundant += 1
    return abundant


def main():
    workers = max(1, int(sys.argv[1])) if len(sys.argv) > 1 else 1
    limit = int(sys.argv[2]) if len(sys.argv) > 2 else 75000
    stride = 48
    spans = [(2 + k, stride, limit) for k in range(stride)]
    context = multiprocessing.get_context("fork")
    with context.Pool(workers) as pool:
        abundant = sum(pool.imap_unordered(survey, spans))
    print("limit", limit, "abundant", abundant)


if __name__ == "__main__":
    main()
