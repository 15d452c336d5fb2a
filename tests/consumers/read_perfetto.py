"""Reads a Perfetto trace by the published schema, and prints a summary as JSON: `read_perfetto.py FILE`.

Needs the packages perfetto and protobuf, which `./dev live` installs. Perfetto's trace processor is in no package registry;
this script checks the same: that slices nest, that times ascend, that names, tracks and flows resolve.
"""
import json
import sys

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

trace = Trace()
with open(sys.argv[1], "rb") as file:
    trace.ParseFromString(file.read())

names, tracks, threads, begun, ended, last = {}, set(), {}, {}, {}, 0
found = {"slices": 0, "instants": 0, "counters": 0, "names": {}}
for packet in trace.packet:
    assert packet.trusted_packet_sequence_id == 1, packet
    for name in packet.interned_data.event_names:
        names[name.iid] = name.name
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        tracks.add(track.uuid)
        assert not track.parent_uuid or track.parent_uuid in tracks, track
        if track.HasField("thread"):
            threads[track.uuid] = track.thread.thread_name
    if not packet.HasField("track_event"):
        continue
    event = packet.track_event
    assert packet.timestamp >= last, (packet.timestamp, last)
    last = packet.timestamp
    assert event.track_uuid in tracks, event
    open_slices = begun.setdefault(event.track_uuid, [])
    if event.type == TrackEvent.TYPE_SLICE_BEGIN:
        open_slices.append(names[event.name_iid])
        found["slices"] += 1
        found["names"][names[event.name_iid]] = found["names"].get(names[event.name_iid], 0) + 1
        for flow in event.terminating_flow_ids:
            ended[flow] = event.track_uuid
    elif event.type == TrackEvent.TYPE_SLICE_END:
        open_slices.pop()
    elif event.type == TrackEvent.TYPE_INSTANT:
        assert names[event.name_iid].startswith("wakes ")
        found["instants"] += 1
        for flow in event.flow_ids:
            ended.setdefault(flow, None)
    elif event.type == TrackEvent.TYPE_COUNTER:
        assert event.counter_value >= 0
        found["counters"] += 1
assert not any(begun.values()), begun
found["threads"] = sorted(threads.values())
found["arrows"] = sum(1 for track in ended.values() if track is not None)
print(json.dumps(found))
