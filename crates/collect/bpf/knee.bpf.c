/* What the kernel tells knee: who ran, who waited, for what, and who woke them; system calls; CPU samples. Compiled as
 * one file, so that all programs share the maps.
 *
 * Threads are found by task storage, never by numbers, so that pid namespaces do not matter.
 *
 * The programs are in the .bpf.c files. What several of them use is in headers: kernel.h has the kernel's types,
 * shared.h what the loader knows too, maps.h the maps and the way from a task to its record, place.h call paths and
 * places; counters.h, timeline.h and switch.h have what happens at switches; http2.h the streams of a connection.
 */
#include "kernel.h"
#include "locks.bpf.c"
#include "calls.bpf.c"
#include "marks.bpf.c"
#include "sockets.bpf.c"
#include "scheduler.bpf.c"
#include "threads.bpf.c"
#include "samples.bpf.c"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
