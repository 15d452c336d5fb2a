import java.util.ArrayList;
import java.util.List;

/** Parses a generated access log and keeps per-status and latency statistics. */
public class AccessLogStats {

    static final int LINES = 56_000_000;

    /** Aggregated numbers for the whole log. */
    static class Statistics {
        private final long[] byStatus = new long[6];
        private final long[] buckets = new long[32];
        private long requests;
        private long bytes;
        private int slowest;

        synchronized void record(int status, int size, int micros) {
            requests++;
            bytes += size;
            byStatus[status / 100]++;
            buckets[32 - Integer.numberOfLeadingZeros(micros | 1) - 1]++;
            if (micros > slowest) {
                slowest = micros;
            }
        }

        synchronized int percentile(double p) {
            long wanted = (long) (requests * p);
            long seen = 0;
            for (int i = 0; i < buckets.length; i++) {
                seen += buckets[i];
                if (seen >= wanted) {
                    return 1 << i;
                }
            }
            return slowest;
        }

        synchronized String summary() {
            return "requests=" + requests + " bytes=" + bytes + " ok=" + byStatus[2]
                + " errors=" + byStatus[5];
        }
    }

    /** Stands in for the log file: each call of next moves on to the following line. */
    static class LogSource {
        private long state;

        LogSource(long start) {
            state = start * 0x9E3779B97F4A7C15L + 1;
        }

        void next() {
            state ^= state << 13;
            state ^= state >>> 7;
            state ^= state << 17;
        }

        int status() {
            int r = (int) (state >>> 40) & 127;
            if (r < 116) {
                return 200;
            }
            return r < 121 ? 304 : r < 126 ? 404 : 503;
        }

        int size() {
            return 200 + (int) (state >>> 20 & 4095);
        }

        int micros() {
            return 1 << (state & 15);
        }
    }

    static class Parser implements Runnable {
        private final int from;
        private final int to;
        private final Statistics stats;

        Parser(int from, int to, Statistics stats) {
            this.from = from;
            this.to = to;
            this.stats = stats;
        }

        @Override
        public void run() {
            LogSource source = new LogSource(from + 17);
            for (int i = from; i < to; i++) {
                source.next();
                int status = source.status();
                int size = source.size();
                int micros = source.micros();
                stats.record(status, size, micros);
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int workers = Integer.parseInt(args[0]);
        Statistics stats = new Statistics();
        List<Thread> threads = new ArrayList<>();
        for (int w = 0; w < workers; w++) {
            int from = (int) ((long) LINES * w / workers);
            int to = (int) ((long) LINES * (w + 1) / workers);
            Thread t = new Thread(new Parser(from, to, stats), "parser-" + w);
            threads.add(t);
            t.start();
        }
        for (Thread t : threads) {
            t.join();
        }
        System.out.println(stats.summary() + " p99=" + stats.percentile(0.99));
    }
}
