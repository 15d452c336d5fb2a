"""Generates the sources of programs whose threads share memory, and of the same programs repaired.

Every program takes a thread count and a number of steps, divides the steps among the threads, and does the same work
whatever it shares. `SHARED` chooses between the bad and the repaired layout when it is compiled.
"""

import random
from dataclasses import dataclass

C_LEVELS = ["-O0", "-O1", "-O2", "-O3"]
RUST_LEVELS = ["0", "1", "2", "3"]
WIDTHS = [1, 2, 4, 8]


@dataclass
class Program:
    """A program: its source, how it is compiled, and which cause should be found."""

    name: str
    language: str
    source: str
    compiler: list
    shared: bool
    expected: str  # cause id, or "" for none of the three
    partner: str = ""  # the same program with the other layout


def fill(steps, value):
    """Work between two accesses that no compiler can optimise away."""
    return f"for (int f = 0; f < {steps}; f++) {value} = {value} * 6364136223846793005u + 1442695040888963407u;"


C_HEAD = """
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
typedef uint{bits}_t value;
static uint64_t threads, steps;
static volatile uint64_t sink;
{globals}
static void work(uint64_t own)
{{
    uint64_t mix = own;
    {prepare}
    for (uint64_t i = 0; i < steps / threads; i++) {{
        {access}
        {fill}
    }}
    sink = mix;
}}
static void *start(void *own)
{{
    work((uintptr_t)own);
    return NULL;
}}
int main(int argc, char **argv)
{{
    threads = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
    pthread_t all[64];
    {setup}
    for (uintptr_t t = 0; t < threads; t++)
        pthread_create(&all[t], NULL, start, (void *)t);
    for (uintptr_t t = 0; t < threads; t++)
        pthread_join(all[t], NULL);
    return 0;
}}
"""

CPP_HEAD = """
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>
typedef uint{bits}_t value;
static uint64_t threads, steps;
static volatile uint64_t sink;
{globals}
static void work(uint64_t own)
{{
    uint64_t mix = own;
    {prepare}
    for (uint64_t i = 0; i < steps / threads; i++) {{
        {access}
        {fill}
    }}
    sink = mix;
}}
int main(int argc, char **argv)
{{
    threads = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1;
    steps = argc > 2 ? strtoull(argv[2], nullptr, 10) : 1000000;
    {setup}
    std::vector<std::thread> all;
    for (uint64_t t = 0; t < threads; t++)
        all.emplace_back(work, t);
    for (auto &one : all)
        one.join();
}}
"""

RUST_HEAD = """
#![allow(unused_imports)]
use std::sync::atomic::{{Ordering::Relaxed, *}};
static SINK: AtomicU64 = AtomicU64::new(0);
{globals}
fn work(own: usize, steps: u64) {{
    let mut mix = own as u64;
    {prepare}
    for _ in 0..steps {{
        {access}
        for _ in 0..{fill} {{
            mix = mix.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        }}
    }}
    SINK.store(mix, Relaxed);
}}
fn main() {{
    let number = |at: usize, or: u64| std::env::args().nth(at).and_then(|text| text.parse().ok()).unwrap_or(or);
    let (threads, steps) = (number(1, 1), number(2, 1_000_000));
    let all: Vec<_> = (0..threads as usize).map(|t| std::thread::spawn(move || work(t, steps / threads))).collect();
    all.into_iter().for_each(|one| one.join().unwrap());
}}
"""


class Maker:
    """Makes the programs; the same seed makes the same ones."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.programs = []

    def c(self, cpp=False):
        compiler = self.random.choice(["g++", "clang++"] if cpp else ["gcc", "clang"])
        level = self.random.choice(C_LEVELS)
        return [compiler, level, "-g", "-pthread"] + (["-std=c++17"] if cpp else [])

    def add(self, name, head, expected, cpp=False, rust=False, pair=True, **parts):
        width = parts.pop("width", None) or self.random.choice(WIDTHS)
        steps = parts.pop("steps", None)
        steps = self.random.choice([0, 2, 6, 15]) if steps is None else steps
        if rust:
            compiler = ["rustc", "-C", "opt-level=" + self.random.choice(RUST_LEVELS), "-g", "--edition=2021"]
        else:
            compiler = self.c(cpp)
        for shared in [True, False] if pair else [bool(expected)]:
            both = {"prepare": "", "setup": "", "globals": "", "access": "", "bits": 8 * width}
            both["fill"] = steps if rust else fill(steps, "mix")
            for key, text in parts.items():
                both[key] = text(shared, width) if callable(text) else text
            program = Program(
                name=name + ("" if shared or not pair else "-repaired"),
                language="rs" if rust else "cc" if cpp else "c",
                source=head.format(**both),
                compiler=compiler,
                shared=shared,
                expected=expected if shared else "",
            )
            if pair:
                program.partner = name + ("-repaired" if shared else "")
            self.programs.append(program)

    def all(self):
        pick = self.random.choice
        gap, lead = pick([0, 8, 16]), pick([0, 8])

        def slots(shared, width):
            body = f"char lead[{lead}]; volatile value v; char gap[{gap}];" if shared else "_Alignas(128) volatile value v;"
            return f"struct slot {{ {body} }}; static _Alignas(128) struct slot slots[64];"

        self.add("c-array", C_HEAD, "false-sharing", globals=slots, access="slots[own].v++;")
        distance = pick([8, 24, 48])
        self.add(
            "c-members",
            C_HEAD,
            "false-sharing",
            globals=lambda shared, width: "static _Alignas(128) struct { volatile value first; "
            + (f"char gap[{distance - width}];" if shared else "_Alignas(128)")
            + " volatile value second; } both;",
            prepare="volatile value *mine = own % 2 ? &both.second : &both.first;",
            access="*mine += 3;",
        )
        size = pick([16, 24])
        self.add(
            "c-heap",
            C_HEAD,
            "false-sharing",
            globals="struct object { volatile value count; }; static struct object *objects[64];",
            # The first one near the beginning of a cache line, so that the next lies in the same line.
            setup=lambda shared, width: f"do objects[0] = malloc({size}); while ((uintptr_t)objects[0] % 64 > 16); "
            f"for (uint64_t t = 1; t < threads; t++) objects[t] = malloc({size});"
            if shared
            else "for (uint64_t t = 0; t < threads; t++) objects[t] = aligned_alloc(128, 128);",
            prepare="struct object *mine = objects[own];",
            access="mine->count ^= (value)i;",
        )
        self.add(
            "c-flag",
            C_HEAD,
            "false-sharing",
            width=8,
            globals=lambda shared, width: "static _Alignas(128) struct { volatile int stop; "
            + ("" if shared else "_Alignas(128)")
            + " volatile uint64_t hot; _Alignas(128) volatile uint64_t cold[64][16]; } all;",
            prepare="volatile uint64_t *mine = own ? all.cold[own] : &all.hot;",
            access="if (all.stop) break; *mine += 1;",
        )
        self.add(
            "cc-array",
            CPP_HEAD,
            "false-sharing",
            cpp=True,
            globals=lambda shared, width: "struct alignas("
            + ("sizeof(value)" if shared else "128")
            + ") slot { std::atomic<value> v{0}; }; alignas(128) static slot slots[64];",
            access="slots[own].v.store(slots[own].v.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);",
        )
        self.add(
            "rs-array",
            RUST_HEAD,
            "false-sharing",
            rust=True,
            globals=lambda shared, width: ("#[repr(align(64))] " if shared else "")
            + f"struct All([Slot; 64]); #[repr(align({width if shared else 128}))] struct Slot(AtomicU{8 * width});"
            + f" static ALL: All = All([const {{ Slot(AtomicU{8 * width}::new(0)) }}; 64]);",
            access="let mine = &ALL.0[own].0; mine.store(mine.load(Relaxed).wrapping_add(1), Relaxed);",
        )
        self.add(
            "c-atomic",
            C_HEAD,
            "true-sharing",
            globals="static _Alignas(128) struct { _Alignas(128) _Atomic value v; } total[64];",
            access=lambda shared, width: "atomic_fetch_add_explicit(&total["
            + ("0" if shared else "own")
            + "].v, 1, memory_order_relaxed);",
        )
        self.add(
            "cc-references",
            CPP_HEAD,
            "true-sharing",
            cpp=True,
            # Stored, because compilers remove an allocation that nothing uses.
            globals="static std::shared_ptr<uint64_t> common[64]; char *between[64];",
            setup=lambda shared, width: "for (uint64_t t = 0; t < threads; t++) "
            + ("common[t] = t ? common[0] : std::make_shared<uint64_t>(7);" if shared else "{ common[t] = "
               "std::make_shared<uint64_t>(7); between[t] = new char[256]; }"),
            prepare="std::shared_ptr<uint64_t> mine = common[own];",
            access="{ std::shared_ptr<uint64_t> other = mine; mix += *other; }",
        )
        self.add(
            "c-turns",
            C_HEAD,
            "spin-wait",
            pair=False,
            steps=200,
            globals="static _Alignas(128) volatile uint64_t turn;",
            access="while (turn % threads != own)\n            ;\n        turn = turn + 1;",
        )
        self.add(
            "cc-ticket",
            CPP_HEAD,
            "spin-wait",
            cpp=True,
            pair=False,
            steps=3,
            globals="alignas(128) static std::atomic<unsigned> next; alignas(128) static std::atomic<unsigned> serving;"
            " alignas(128) static volatile uint64_t guarded;",
            access="{ unsigned ticket = next.fetch_add(1); while (serving.load(std::memory_order_acquire) != ticket) "
            + '__builtin_ia32_pause(); for (int f = 0; f < 300; f++) guarded = guarded + f; serving.store(ticket + 1); }',
        )
        self.add(
            "c-spinlock",
            C_HEAD,
            "spin-wait",
            pair=False,
            steps=3,
            globals="static _Alignas(128) pthread_spinlock_t lock; static _Alignas(128) volatile uint64_t guarded;",
            setup="pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);",
            access="pthread_spin_lock(&lock); for (int f = 0; f < 300; f++) guarded = guarded + f; "
            "pthread_spin_unlock(&lock);",
        )
        self.add(
            "c-table",
            C_HEAD,
            "",
            pair=False,
            globals="static _Alignas(128) value table[64];",
            setup="for (int i = 0; i < 64; i++) table[i] = (value)(i * 7);",
            access="mix += ((volatile value *)table)[(mix + i) % 64];",
        )
        self.add(
            "rs-own",
            RUST_HEAD,
            "",
            rust=True,
            pair=False,
            globals="thread_local! { static OWN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) }; }",
            prepare="let mut near = [0u64; 8];",
            access="OWN.with(|own| own.set(own.get() + 1)); near[(mix % 8) as usize] += 1; std::hint::black_box(&near);",
        )
        return self.programs
