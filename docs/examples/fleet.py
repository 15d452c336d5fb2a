#!/usr/bin/env python3
"""Compares sweeps of many machines: reads the Parquet tables of all recordings as one, with Spark.

    fleet.py RECORDING...        folders that hold a meta.json, such as /srv/sweeps/*/*

Prints three tables: how each recording scales, what its threads waited for at the largest count, and the functions that
take more processor time with more threads, over all recordings. On a cluster the same script runs under spark-submit,
with the folders on storage that all of its machines see.
"""
import json
import pathlib
import sys

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F


def start():
    """A session. On one machine, two processors and little memory are enough."""
    builder = SparkSession.builder.appName("knee fleet").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    # A handful of rows a table: the usual 200 partitions would be 200 empty tasks a join.
    return builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()


def described(spark, folders):
    """A row for each recording, from meta.json: its command, machine and state."""
    rows = []
    for folder in folders:
        meta = json.loads((folder / "meta.json").read_text())
        if meta["format"]["major"] != 1:
            sys.exit(f"fleet: {folder} has format {meta['format']['major']}; this script reads 1")
        machine = meta["machine"]
        rows.append((str(folder), " ".join(meta["command"]), machine["model"], machine["usable_processors"],
                     machine["kernel"], meta["completion"]))
    return spark.createDataFrame(rows, "recording string, command string, model string, processors int, kernel string, completion string")


def table(spark, folders, name):
    """A table of all recordings as one, with the column `recording`.

    Recordings of older formats lack columns, and a table without rows may lack its folder: missing values are null."""
    there = [folder for folder in folders if any((folder / name).glob("*.parquet"))]
    if not there:
        sys.exit(f"fleet: no recording has a table {name}")
    frame = spark.read.option("mergeSchema", "true").parquet(*[str(folder / name) for folder in there])
    # The path of a part is URI-encoded: file:/srv/sweeps/a%20b/runs/part-00000.parquet
    path = F.url_decode(F.regexp_replace("_metadata.file_path", r"\+", "%2B"))
    return frame.withColumn("recording", F.regexp_extract(path, rf"^(?:file:/*)?(/.*)/{name}/[^/]+$", 1))


def curves(runs, meta):
    """Time and speed-up of each recording by thread count, from the timed runs."""
    clean = runs.filter("kind = 'clean'").groupBy("recording", "threads").agg(
        F.count("*").alias("runs"),
        F.percentile_approx("wall_ns", 0.5).alias("wall_ns"),
        F.percentile_approx("throughput", 0.5).alias("throughput"))
    base = Window.partitionBy("recording").orderBy("threads")
    # Work a second, where the program prints it; else runs a second.
    rate = F.coalesce(F.col("throughput"), F.lit(1e9) / F.col("wall_ns").cast("double"))
    scaled = clean.withColumn("rate", rate).withColumn("speedup", F.round(F.col("rate") / F.first("rate").over(base), 2))
    return scaled.join(meta, "recording").select(
        "model", "processors", "command", "threads", "runs",
        F.round(F.col("wall_ns").cast("double") / 1e9, 3).alias("seconds"), "speedup",
    ).orderBy("command", "model", "processors", "threads")


def observed(runs):
    """The observed run of the largest thread count of each recording."""
    traced = runs.filter("kind = 'traced'")
    largest = Window.partitionBy("recording").orderBy(F.desc("threads"), F.desc("run"))
    return traced.withColumn("place", F.row_number().over(largest)).filter("place = 1").select("recording", "run", "threads")


def waiting(waits, runs, meta):
    """What the threads of each recording waited for, at its largest count."""
    return waits.join(observed(runs), ["recording", "run"]).groupBy("recording", "threads", "reason").agg(
        F.sum("count").alias("times"),
        F.round(F.sum(F.col("blocked_ns").cast("double")) / 1e6, 1).alias("blocked_ms"),
    ).join(meta, "recording").select("model", "command", "threads", "reason", "times", "blocked_ms").orderBy(
        "command", "model", F.desc("blocked_ms"))


def growing(samples, stacks, frames, traces, runs):
    """Functions by how much more processor time they take at the largest count than at the baseline, over the fleet."""
    ends = runs.filter("kind = 'traced'").groupBy("recording").agg(F.min("threads").alias("low"), F.max("threads").alias("high"))
    counts = runs.filter("kind = 'traced'").select("recording", "run", "threads").join(ends, "recording")
    # Handles are unique in their recording only.
    top = samples.join(stacks, (samples.recording == stacks.recording) & (samples.user_stack == stacks.stack)).select(
        samples.recording, samples.run, stacks.frame)
    named = top.join(frames.filter("depth = 0").select("recording", "frame", "function"), ["recording", "frame"])
    timed = named.join(traces.select("recording", "run", "sample_period_ns"), ["recording", "run"]).join(counts, ["recording", "run"])
    # A sample at the largest count adds to the growth, one at the baseline subtracts from it.
    sign = F.when(F.col("threads") == F.col("high"), 1).otherwise(-1)
    return timed.filter("low < high and (threads = low or threads = high)").groupBy("function").agg(
        F.countDistinct("recording").alias("recordings"),
        F.round(F.sum(sign * F.col("sample_period_ns").cast("double")) / 1e6).alias("growth_ms"),
    ).orderBy(F.desc("growth_ms"), "function")


def main():
    folders = [pathlib.Path(name).resolve() for name in sys.argv[1:]]
    wrong = [str(folder) for folder in folders if not (folder / "meta.json").is_file()]
    if not folders or wrong:
        sys.exit(f"fleet: {', '.join(wrong)}: no meta.json there" if wrong else __doc__)
    spark = start()
    spark.sparkContext.setLogLevel("ERROR")
    meta = described(spark, folders)
    runs = table(spark, folders, "runs").cache()
    print("How they scale")
    curves(runs, meta).show(100, truncate=False)
    print("What the threads waited for")
    waiting(table(spark, folders, "waits"), runs, meta).show(100, truncate=False)
    print("What takes more processor time with more threads, over all of them")
    parts = [table(spark, folders, name) for name in ("samples", "stacks", "frames", "traces")]
    growing(*parts, runs).show(10, truncate=False)
    spark.stop()


if __name__ == "__main__":
    main()
