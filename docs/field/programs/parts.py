"""A catalogue of parts in SQLite, for gunicorn with threads: each request asks which parts cost the most.

    PARTS=shared gunicorn --threads 2 --bind 127.0.0.1:8093 parts:answer

With PARTS=shared all threads use one connection, with PARTS=own each has its own. A query takes some milliseconds, in which
SQLite's C code runs without the interpreter's lock; but a connection answers one thread at a time.
"""
import os
import sqlite3
import threading

QUERY = "SELECT name, price * pieces AS worth FROM parts WHERE name LIKE ? ORDER BY worth DESC LIMIT 10"


def connect():
    """A connection to a database of its own in memory, with 20,000 parts."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute("CREATE TABLE parts (name TEXT, price INTEGER, pieces INTEGER)")
    rows = ((f"part-{number:05}", number * 7919 % 997, number * 104729 % 89) for number in range(20_000))
    connection.executemany("INSERT INTO parts VALUES (?, ?, ?)", rows)
    return connection


SHARED = connect() if os.environ["PARTS"] == "shared" else None
OWN = threading.local()


def connection():
    if SHARED:
        return SHARED
    if not hasattr(OWN, "connection"):
        OWN.connection = connect()
    return OWN.connection


def most_worth(digit):
    return connection().execute(QUERY, (f"%{digit}%",)).fetchall()


def answer(environ, start_response):
    body = "".join(f"{name} {worth}\n" for name, worth in most_worth(7)).encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
