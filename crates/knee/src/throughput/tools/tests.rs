//! Outputs as the programs print them.

use super::{LoadReport, read};

fn known(output: &str) -> LoadReport {
    read(output).unwrap_or_else(|| panic!("not recognised: {output}"))
}

#[track_caller]
fn check(output: &str, (rate, unit): (f64, &str), errors: Option<u64>, times: (Option<u64>, Option<u64>)) {
    let report = known(output);
    assert!((report.rate - rate).abs() < 1e-6 * rate.max(1.0), "{report:?}");
    assert_eq!((report.unit, report.errors), (unit, errors), "{report:?}");
    assert_eq!((report.median_ns, report.at_99_ns), times, "{report:?}");
}

#[test]
fn wrk_and_wrk2() {
    let plain = "Running 10s test @ http://127.0.0.1:8080/\n  2 threads and 10 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   635.91us    0.89ms  12.92ms   93.69%\n    Req/Sec    56.20k     8.07k   62.00k    86.54%\n  1000000 requests in 10.00s, 17.76GB read\nRequests/sec: 100000.53\nTransfer/sec:    606.33MB\n";
    check(plain, (100_000.53, "requests/s"), Some(0), (None, None));
    let failing = "Running 2s test @ http://127.0.0.1:8080/\n  1 threads and 4 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   635.91us    0.89ms  12.92ms   93.69%\n    Req/Sec    56.20k     8.07k   62.00k    86.54%\n  Latency Distribution\n     50%  250.00us\n     75%  491.00us\n     90%  700.00us\n     99%    5.80ms\n  2000 requests in 2.00s, 1.00MB read\n  Socket errors: connect 0, read 3, write 0, timeout 5\n  Non-2xx or 3xx responses: 500\nRequests/sec:   1000.00\nTransfer/sec:    0.50MB\n";
    check(failing, (750.0, "requests/s"), Some(508), (Some(250_000), Some(5_800_000)));
    let two = "Running 30s test @ http://127.0.0.1:80/\n  2 threads and 100 connections\n  Thread calibration: mean lat.: 9747 usec, rate sampling interval: 21 msec\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     9.97ms    6.46ms  41.28ms   69.69%\n  Latency Distribution (HdrHistogram - Recorded Latency)\n 50.000%    9.62ms\n 75.000%   14.38ms\n 99.000%   28.85ms\n 99.900%   33.98ms\n  60018 requests in 30.00s, 19.81MB read\nRequests/sec:   2000.28\nTransfer/sec:    676.18KB\n";
    check(two, (2000.28, "requests/s"), Some(0), (Some(9_620_000), Some(28_850_000)));
}

#[test]
fn hey_and_oha() {
    let hey = "\nSummary:\n  Total:\t1.0020 secs\n  Slowest:\t0.0108 secs\n  Fastest:\t0.0001 secs\n  Average:\t0.0012 secs\n  Requests/sec:\t4000.00\n  \n  Total data:\t68000 bytes\n  Size/request:\t17 bytes\n\nResponse time histogram:\n  0.000 [1]\t|\n  0.001 [2315]\t|■■■■\n\n\nLatency distribution:\n  10% in 0.0002 secs\n  50% in 0.0010 secs\n  99% in 0.0052 secs\n\nDetails (average, fastest, slowest):\n  DNS+dialup:\t0.0000 secs, 0.0001 secs, 0.0108 secs\n\nStatus code distribution:\n  [200]\t3000 responses\n  [503]\t500 responses\n\nError distribution:\n  [500]\tGet \"http://127.0.0.1:1\": dial tcp 127.0.0.1:1: connect: connection refused\n\n";
    check(hey, (3000.0, "requests/s"), Some(1000), (Some(1_000_000), Some(5_200_000)));
    let oha = "Summary:\n  Success rate:\t100.00%\n  Total:\t2.0012 sec\n  Slowest:\t0.0107 sec\n  Fastest:\t0.0001 sec\n  Average:\t0.0004 sec\n  Requests/sec:\t1000.0000\n\n  Total data:\t1.18 MiB\n  Size/request:\t12 B\n  Size/sec:\t605.24 KiB\n\nResponse time distribution:\n  10.00% in 0.0002 sec\n  50.00% in 0.0004 sec\n  99.00% in 0.0013 sec\n\nStatus code distribution:\n  [200] 1500 responses\n  [404] 500 responses\n\nError distribution:\n  [50] aborted due to deadline\n";
    check(oha, (750.0, "requests/s"), Some(500), (Some(400_000), Some(1_300_000)));
}

#[test]
fn ab() {
    let output = "This is ApacheBench, Version 2.3 <$Revision: 1903618 $>\nBenchmarking 127.0.0.1 (be patient).....done\n\nConcurrency Level:      10\nTime taken for tests:   2.501 seconds\nComplete requests:      10000\nFailed requests:        1100\n   (Connect: 0, Receive: 60, Length: 1000, Exceptions: 40)\nNon-2xx responses:      900\nTotal transferred:      1210000 bytes\nRequests per second:    4000.00 [#/sec] (mean)\nTime per request:       2.501 [ms] (mean)\nTransfer rate:          472.48 [Kbytes/sec] received\n\nPercentage of the requests served within a certain time (ms)\n  50%      2\n  66%      3\n  99%     10\n 100%     15 (longest request)\n";
    check(output, (3600.0, "requests/s"), Some(1000), (Some(2_000_000), Some(10_000_000)));
}

#[test]
fn h2load() {
    let output = "starting benchmark...\nprogress: 100% done\n\nfinished in 5.00s, 1998.00 req/s, 1.20MB/s\nrequests: 10000 total, 10000 started, 10000 done, 9990 succeeded, 10 failed, 0 errored, 0 timeout\nstatus codes: 9990 2xx, 0 3xx, 0 4xx, 10 5xx\ntraffic: 1.2MB (1234567) total\n                     min         max         mean         sd        +/- sd\ntime for request:      200us     15.00ms      1.20ms       300us    85.00%\nreq/s           :     199.80      201.00      200.00        0.50    80.00%\n";
    check(output, (1998.0, "requests/s"), Some(10), (None, None));
}

#[test]
fn vegeta() {
    let output = "Requests      [total, rate, throughput]         500, 100.20, 98.10\nDuration      [total, attack, wait]             4.995s, 4.99s, 5.1ms\nLatencies     [min, mean, 50, 90, 95, 99, max]  1.01ms, 2.2ms, 1.5ms, 3ms, 4ms, 8.25ms, 1.2s\nBytes In      [total, mean]                     6000, 12.00\nBytes Out     [total, mean]                     0, 0.00\nSuccess       [ratio]                           97.80%\nStatus Codes  [code:count]                      0:1  200:489  503:10  \nError Set:\n503 Service Unavailable\n";
    check(output, (98.1, "requests/s"), Some(11), (Some(1_500_000), Some(8_250_000)));
}

#[test]
fn k6() {
    let output = "     data_received..................: 1.2 MB 120 kB/s\n     http_req_duration..............: avg=1.2ms    min=350.12µs med=1.1ms   max=20ms    p(90)=2ms     p(99)=5.5ms\n       { expected_response:true }...: avg=1.2ms    min=350.12µs med=1ms   max=20ms    p(90)=2ms     p(99)=5ms\n     http_req_failed................: 0.50%  ✓ 5        ✗ 995 \n     http_reqs......................: 1000   100/s\n     iteration_duration.............: avg=1.3ms\n     iterations.....................: 1000   100/s\n";
    check(output, (99.5, "requests/s"), Some(5), (Some(1_100_000), Some(5_500_000)));
}

#[test]
fn redis_benchmark() {
    let quiet = "SET: rps=0.0 (overall: -nan) avg_msec=-nan (overall: -nan)\rSET: rps=181234.5 (overall: 180000.0) avg_msec=0.1 (overall: 0.1)\r                                          \rSET: 100000.00 requests per second, p50=0.207 msec                   \n\n";
    check(quiet, (100_000.0, "requests/s"), Some(0), (Some(207_000), None));
    let two = format!("{quiet}GET: 300000.00 requests per second, p50=0.100 msec\n");
    check(&two, (150_000.0, "requests/s"), Some(0), (None, None));
    let whole = "====== SET ======\n  100000 requests completed in 0.81 seconds\n  50 parallel clients\n  3 bytes payload\n\nLatency by percentile distribution:\n0.000% <= 0.087 milliseconds (cumulative count 1)\n50.000% <= 0.215 milliseconds (cumulative count 50321)\n\nSummary:\n  throughput summary: 123456.79 requests per second\n  latency summary (msec):\n          avg       min       p50       p95       p99       max\n        0.222     0.080     0.215     0.335     0.431     1.200\n";
    check(whole, (123_456.79, "requests/s"), Some(0), (Some(215_000), Some(431_000)));
    let table = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\"\n\"SET\",\"123456.79\",\"0.222\",\"0.080\",\"0.215\",\"0.335\",\"0.431\",\"1.200\"\n";
    check(table, (123_456.79, "requests/s"), Some(0), (Some(215_000), Some(431_000)));
}

#[test]
fn memtier() {
    let output = "[RUN #1 100%,   5 secs]  0 threads:      100000 ops,   20000 (avg:   20000) ops/sec, 1.00MB/sec\n\nALL STATS\n==========\nType         Ops/sec     Hits/sec   Misses/sec    Avg. Latency     p50 Latency     p99 Latency   p99.9 Latency       KB/sec \n----------\nSets         1818.18          ---          ---         1.01          1.00          2.00          4.00       140.00 \nGets        18181.82         0.00     18181.82         1.00          0.99          2.00          4.00       708.00 \nWaits           0.00          ---          ---             ---             ---             ---             ---          --- \nTotals      20000.00         0.00     18181.82         1.00          0.99          2.05          4.00       848.00 \n\n\nRequest Latency Distribution\nType     <= msec         Percent\n";
    check(output, (20_000.0, "ops/s"), None, (Some(990_000), Some(2_050_000)));
}

#[test]
fn pgbench() {
    let new = "pgbench (15.5 (Debian 15.5-0+deb12u1))\ntransaction type: <builtin: TPC-B (sort of)>\nscaling factor: 1\nnumber of clients: 4\nnumber of transactions actually processed: 8000\nnumber of failed transactions: 3 (0.037%)\nlatency average = 1.234 ms\ninitial connection time = 12.345 ms\ntps = 810.123456 (without initial connection time)\n";
    check(new, (810.123_456, "transactions/s"), Some(3), (None, None));
    let old = "latency average = 1.234 ms\ntps = 800.000000 (including connections establishing)\ntps = 812.500000 (excluding connections establishing)\n";
    check(old, (812.5, "transactions/s"), None, (None, None));
}

#[test]
fn sysbench() {
    let sql = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nSQL statistics:\n    queries performed:\n        read:                            140\n    transactions:                        20     (2.05 per sec.)\n    queries:                             400    (41.00 per sec.)\n    ignored errors:                      7      (0.70 per sec.)\n    reconnects:                          0      (0.00 per sec.)\n\nLatency (ms):\n         min:                                    1.01\n         99th percentile:                       12.50\n         sum:                                 9876.54\n";
    check(sql, (2.05, "transactions/s"), Some(7), (None, Some(12_500_000)));
    let cpu = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\nCPU speed:\n    events per second:   872.50\n\nLatency (ms):\n         95th percentile:                        1.23\n";
    check(cpu, (872.5, "events/s"), None, (None, None));
}

#[test]
fn outputs_of_other_programs_are_not_recognised() {
    for output in [
        "",
        "1200 ops/s",
        "Requests/sec: 12\n",
        "Requests per second: 12 [#/sec] (mean)\n",
        "throughput: 5\n",
        "Totals 5\n",
        "tps = 5\n",
        "finished in 5 s\n",
        "Requests      [total, rate]  5, 5\n",
        "http_reqs....: x\n",
        "events per second: 5\n",
    ] {
        assert_eq!(read(output), None, "{output}");
    }
}

#[test]
fn when_all_requests_fail_the_rate_is_0() {
    let output = "Running 2s test @ http://127.0.0.1:8080/\n  2000 requests in 2.00s, 1.00MB read\n  Non-2xx or 3xx responses: 2000\nRequests/sec:   1000.00\n";
    check(output, (0.0, "requests/s"), Some(2000), (None, None));
}
