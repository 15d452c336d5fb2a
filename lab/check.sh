#!/bin/sh
# Runs every program of the lab at 1, 2, 4 and 8 threads, in every variant, at
# small sizes. A check passes when the program exits 0 (each program checks its
# own result) and prints a result line. One line a check; exits 1 if one failed.
#
# usage: check.sh DIRECTORY-WITH-THE-PROGRAMS
# The same checks run under the sanitizers, without exception: the one intended
# race, that of birthday --rng=drand48, is between instructions inside the C
# library, where ThreadSanitizer does not look. False sharing is no race: those
# threads write neighbouring bytes, never the same ones.

build=${1:-build}
passed=0
failed=0
output=$(mktemp)
scratch=$(mktemp -d)
trap 'rm -rf "$output" "$scratch"' EXIT

report() { # report ok|FAILED what
    if [ "$1" = ok ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    printf '%-6s  %s\n' "$1" "$2"
    if [ "$1" != ok ]; then tail -n 15 "$output"; fi
}

run() { # run PROGRAM OPTIONS...: must succeed and print a result line
    program=$1
    shift
    if timeout 120 "$build/$program" "$@" >"$output" 2>&1 &&
        grep -Eq '^test=[^ ]+ .*tput\(Mops\)=[0-9.]+' "$output"; then
        report ok "$program $*"
    else
        report FAILED "$program $*"
    fi
}

at_all_counts() { # the same at 1, 2, 4 and 8 threads
    for threads in 1 2 4 8; do
        run "$@" --threads="$threads"
    done
}

refuses() { # refuses PROGRAM OPTION: must print the usage and exit 2
    "$build/$1" "$2" >"$output" 2>&1
    if [ $? -eq 2 ] && grep -q '^usage:' "$output"; then
        report ok "$1 $2 is refused"
    else
        report FAILED "$1 $2 is refused"
    fi
}

for program in "$build"/*; do
    refuses "$(basename "$program")" --no-such-option
    refuses "$(basename "$program")" --threads=0
done

for rng in random random_r xoshiro rand drand48 lcg-shared-atomic; do
    at_all_counts birthday --attempts=20K --rng=$rng
done

for program in list list-p; do
    at_all_counts $program --iterations=20K
    at_all_counts $program --iterations=20K --skew=2
done
for program in list-pm list-pml list-pmla; do
    at_all_counts $program --iterations=20K --rounds=3
    at_all_counts $program --iterations=20K --rounds=3 --skew=2
    run $program --threads=3 --iterations=20K --rounds=2 --cost=10
done
run list-pml --threads=4 --iterations=20K --rounds=3 --parts=64 --trace --trace-size=20

film="--width=200 --height=60 --frames=3 --stream=$scratch/film"
for wait in spin spin-pause futex cond; do
    at_all_counts wavefront $film --wait=$wait
    at_all_counts wavefront $film --wait=$wait --parse-cost=50
done
# Bit-exact: a PGM picture comes out as it went in.
{ printf 'P5\n# noise\n61 40\n255\n'; head -c 2440 "$0"; } >"$scratch/picture.pgm"
run wavefront --input="$scratch/picture.pgm" --stream="$scratch/coded" \
    --output="$scratch/decoded" --threads=3
tail -c 2440 "$scratch/picture.pgm" | cmp - "$scratch/decoded" >"$output" 2>&1
if [ $? -eq 0 ]; then report ok "wavefront gives back the picture"
else report FAILED "wavefront gives back the picture"; fi

pages="--size=4M --file=$scratch/pages"
for mode in per-thread pipeline single-map read populate; do
    at_all_counts pagesum $pages --mode=$mode --rounds=3
    at_all_counts pagesum $pages --mode=$mode --rounds=3 --chunk=12K
    at_all_counts pagesum $pages --mode=$mode --cold
done

for mode in global striped partitioned scan lockfree; do
    at_all_counts hashtable --mode=$mode --iterations=20K --buckets=4K
done
at_all_counts hashtable --mode=striped --stripes=0 --iterations=20K --buckets=4K
at_all_counts hashtable --mode=lockfree --iterations=2K --buckets=16

for layout in packed padded flag flag-padded; do
    at_all_counts falseshare --layout=$layout --iterations=100K
done
for counter in shared local; do
    at_all_counts trueshare --counter=$counter --iterations=100K
done
for serial in 0 0.3 1; do
    at_all_counts amdahl --serial=$serial --iterations=100K
done
at_all_counts bandwidth --array=1M --iterations=300K
at_all_counts bandwidth --array=8K --iterations=300K
at_all_counts clean --iterations=100K

for pattern in local handoff; do
    at_all_counts allocstorm --pattern=$pattern --iterations=50K --live=100
done
for slow in none reader transform writer; do
    at_all_counts pipeline --slow=$slow --items=300 --cost=200
done
for map in default 32bit-first high; do
    at_all_counts spawn --map=$map --count=100 --alive=40
done
at_all_counts spawn --map=32bit-first --count=40 --alive=40 --stack=64M
for via in futex pipe yield; do
    for stacks in default low high; do
        at_all_counts ctxswitch --via=$via --stacks=$stacks --switches=2K --stack=2M
    done
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
