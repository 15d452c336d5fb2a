import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/**
 * Scores incoming orders for fraud and keeps live statistics per region that
 * a monitoring page can read at any time.
 *
 * usage: java OrderStats THREADS
 */
public final class OrderStats {

    private static final int ORDERS = 3_000_000;
    private static final int CHUNK = 5_000;
    private static final int SCORE_ROUNDS = 100;
    private static final String[] REGIONS = {
        "north", "south", "east", "west", "islands", "highlands", "capital", "border"
    };

    /** Live figures of one region. */
    private static final class RegionStats {
        final LongAdder orders = new LongAdder();
        final LongAdder cents = new LongAdder();
        final LongAdder flagged = new LongAdder();
    }

    /** The part of the statistics that one chunk of orders contributes. */
    private static final class ChunkTally {
        final long[] orders = new long[REGIONS.length];
        final long[] cents = new long[REGIONS.length];

        void clear() {
            java.util.Arrays.fill(orders, 0);
            java.util.Arrays.fill(cents, 0);
        }
    }

    private final ConcurrentHashMap<String, RegionStats> regions = new ConcurrentHashMap<>();
    private final AtomicInteger nextChunk = new AtomicInteger();
    private final Object reviewLock = new Object();
    private final List<Integer> reviewSample = new ArrayList<>();
    private long reviewed;

    private static long mix(long x) {
        x ^= x >>> 30;
        x *= 0xbf58476d1ce4e5b9L;
        x ^= x >>> 27;
        x *= 0x94d049bb133111ebL;
        return x ^ (x >>> 31);
    }

    private static long score(long fingerprint) {
        long s = fingerprint;
        for (int i = 0; i < SCORE_ROUNDS; i++) {
            s = (s ^ i) * 0x9e3779b97f4a7c15L;
            s ^= s >>> 29;
        }
        return s & 0xffff;
    }

    private RegionStats region(String name) {
        return regions.computeIfAbsent(name, n -> new RegionStats());
    }

    /** Suspicious orders are looked at by a person; a few are kept as sample. */
    private void review(int order) {
        synchronized (reviewLock) {
            reviewed++;
            if (order % 5_000 == 0) {
                reviewSample.add(order);
            }
        }
    }

    private void process(int order, ChunkTally tally) {
        long fingerprint = mix(order + 1L);
        int where = (int) ((fingerprint >>> 50) & (REGIONS.length - 1));
        long cents = 500 + ((fingerprint >>> 20) & 0x1ffff);
        tally.orders[where]++;
        tally.cents[where] += cents;
        if (score(fingerprint) < 650) {
            region(REGIONS[where]).flagged.increment();
            review(order);
        }
    }

    private void processChunks(CountDownLatch done) {
        ChunkTally tally = new ChunkTally();
        for (;;) {
            int first = nextChunk.getAndIncrement() * CHUNK;
            if (first >= ORDERS) {
                break;
            }
            int end = Math.min(ORDERS, first + CHUNK);
            tally.clear();
            for (int order = first; order < end; order++) {
                process(order, tally);
            }
            for (int r = 0; r < REGIONS.length; r++) {
                RegionStats stats = region(REGIONS[r]);
                stats.orders.add(tally.orders[r]);
                stats.cents.add(tally.cents[r]);
            }
        }
        done.countDown();
    }

    private void report() {
        Map<String, RegionStats> sorted = new TreeMap<>(regions);
        long orders = 0;
        long cents = 0;
        long flagged = 0;
        StringBuilder names = new StringBuilder();
        for (Map.Entry<String, RegionStats> e : sorted.entrySet()) {
            orders += e.getValue().orders.sum();
            cents += e.getValue().cents.sum();
            flagged += e.getValue().flagged.sum();
            names.append(e.getKey().charAt(0));
        }
        System.out.printf("regions %s orders %d cents %d flagged %d reviewed %d sample %d%n",
                names, orders, cents, flagged, reviewed, reviewSample.size());
    }

    public static void main(String[] args) throws Exception {
        int threads = args.length > 0 ? Integer.parseInt(args[0]) : 1;
        OrderStats stats = new OrderStats();
        CountDownLatch done = new CountDownLatch(threads);
        for (int t = 0; t < threads; t++) {
            Thread worker = new Thread(() -> stats.processChunks(done), "orders-" + t);
            worker.start();
        }
        done.await();
        stats.report();
    }
}
