"""Reads cargo's messages (--message-format=json) from standard input and fails when anything was compiled: fresh.py WHAT."""

import json
import sys

what = sys.argv[1]
messages = [json.loads(line) for line in sys.stdin if line.startswith("{")]
artifacts = [message for message in messages if message["reason"] == "compiler-artifact"]
finished = [message for message in messages if message["reason"] == "build-finished"]
if not artifacts or not finished or not finished[-1]["success"]:
    sys.exit(f"{what}: cargo did not build it")
stale = sorted({message["target"]["name"] for message in artifacts if not message["fresh"]})
if stale:
    sys.exit(f"{what} compiled {', '.join(stale)} again")
print(f"{what}: all {len(artifacts)} parts were up to date")
