"""A Redis server with io-threads under load on loopback. redis_load.py IO-THREADS

Starts a server of its own on a socket in a temporary folder, loads it with redis-benchmark, and ends it.
"""
import pathlib
import subprocess
import sys
import tempfile
import time

threads = sys.argv[1]
with tempfile.TemporaryDirectory() as folder:
    socket = str(pathlib.Path(folder) / "redis.sock")
    server = subprocess.Popen(
        ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--io-threads", threads, "--io-threads-do-reads", "yes"],
        stdout=subprocess.DEVNULL)
    try:
        while not pathlib.Path(socket).exists():
            time.sleep(0.01)
        load = ["redis-benchmark", "-s", socket, "-t", "get", "-n", "30000", "-c", "50", "-d", "64", "-q"]
        printed = subprocess.run(load, check=True, capture_output=True, text=True).stdout
        print([line for line in printed.replace("\r", "\n").splitlines() if "requests per second" in line][-1])
    finally:
        server.terminate()
        server.wait()
