"""Quotes for spare parts: each request is a basket that is priced, and the quote gets a seal against changes.

    quotes.py guilty|clean PORT THREADS

The seal of the guilty one is computed by Python code, which holds the interpreter's lock; threads do not help. The clean one seals a far
larger document by hashlib, which releases that lock.
"""
import hashlib
import itertools
import select
import socket
import sys
import threading

PARTS = {f"part-{number:03}": 100 + number * 7 % 900 for number in range(400)}
TERMS = " ".join(f"{number}. Prices are valid for {number % 60 + 1} days." for number in range(1, 40_000)).encode()
# What Python can seal in about the time in which hashlib seals all of TERMS.
SHORT_TERMS = TERMS[:20_000]


class Closed(Exception):
    """The client has closed its connection."""


def seal_by_hand(document):
    """FNV-1a, as an older system wants it."""
    value = 0xCBF29CE484222325
    for byte in document:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def seal_by_library(document):
    return hashlib.sha256(document).hexdigest()


def basket(number):
    """The parts that the customer of this number asks for."""
    return {f"part-{(number * 13 + place) % 400:03}": place + 1 for place in range(6)}


def quote(number, seal, terms):
    wanted = basket(number)
    total = sum(PARTS[part] * pieces for part, pieces in wanted.items())
    return f"quote {number}: {len(wanted)} parts, {total / 100:.2f}, seal {seal(terms)}\n".encode()


class Server:
    """Threads that each take a connection with a request, answer it, and put the connection back."""

    def __init__(self, port, answer):
        self.listener = socket.create_server(("127.0.0.1", port), backlog=64)
        self.listener.setblocking(False)
        self.answer = answer
        self.numbers = itertools.count(1)
        self.connections = {}
        self.ready = select.epoll()
        # A connection is told to one thread only, until that asks for it again.
        self.ready.register(self.listener, select.EPOLLIN | select.EPOLLONESHOT)

    def accept(self):
        try:
            connection, _ = self.listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections[connection.fileno()] = connection
            self.ready.register(connection, select.EPOLLIN | select.EPOLLONESHOT)
        except BlockingIOError:
            pass
        self.ready.modify(self.listener, select.EPOLLIN | select.EPOLLONESHOT)

    def serve(self, connection):
        request = b""
        while b"\r\n\r\n" not in request:
            got = connection.recv(4096)
            if not got:
                raise Closed
            request += got
        body = self.answer(next(self.numbers))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    def work(self):
        while True:
            for number, _ in self.ready.poll(maxevents=1):
                if number == self.listener.fileno():
                    self.accept()
                    continue
                connection = self.connections[number]
                try:
                    self.serve(connection)
                    self.ready.modify(number, select.EPOLLIN | select.EPOLLONESHOT)
                except (Closed, OSError):
                    self.ready.unregister(number)
                    del self.connections[number]
                    connection.close()


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: quotes.py guilty|clean PORT THREADS")
    seal, terms = (seal_by_hand, SHORT_TERMS) if sys.argv[1] == "guilty" else (seal_by_library, TERMS)
    server = Server(int(sys.argv[2]), lambda number: quote(number, seal, terms))
    for _ in range(int(sys.argv[3])):
        threading.Thread(target=server.work).start()


if __name__ == "__main__":
    main()
