import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.StampedLock;

public class FareTable {
    private static final int REQUESTS = 280_000;
    private static final int ROUTES = 40;
    private static final int CLASSES = 1024;

    private final StampedLock lock = new StampedLock();
    private final long[][] fares = new long[ROUTES][CLASSES];
    private long revisions;

    private static long spread(long x) {
        x ^= x >>> 31;
        x *= 0x9e3779b97f4a7c15L;
        x ^= x >>> 27;
        return x;
    }

    void revise(int route, long basis) {
        long stamp = lock.writeLock();
        try {
            long[] row = fares[route];
            long fare = basis;
            for (int c = 0; c < CLASSES; c++) {
                fare = spread(fare + row[c]);
                row[c] = fare;
            }
            revisions++;
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    long quote(int route, int travelClass) {
        long stamp = lock.readLock();
        try {
            return fares[route][travelClass] + revisions;
        } finally {
            lock.unlockRead(stamp);
        }
    }

    private long serve(long seed, int requests) {
        long quoted = 0;
        long state = seed;
        for (int r = 0; r < requests; r++) {
            state = spread(state + 0x2545f4914f6cdd1dL);
            int route = (int) ((state >>> 8) % ROUTES);
            int draw = (int) ((state >>> 33) % 10);
            if (draw < 8) {
                revise(route, state);
            } else {
                quoted += quote(route, (int) ((state >>> 20) % CLASSES));
            }
        }
        return quoted;
    }

    public static void main(String[] args) throws InterruptedException {
        final int agents = args.length > 0 ? Math.max(1, Integer.parseInt(args[0])) : 1;
        final FareTable table = new FareTable();
        final LongAdder quoted = new LongAdder();
        final CountDownLatch closed = new CountDownLatch(agents);
        ExecutorService desk = Executors.newFixedThreadPool(agents);
        for (int a = 0; a < agents; a++) {
            final int id = a;
            final int share = (int) ((long) REQUESTS * (a + 1) / agents - (long) REQUESTS * a / agents);
            desk.execute(() -> {
                quoted.add(table.serve(id + 77L, share));
                closed.countDown();
            });
        }
        closed.await();
        desk.shutdown();
        System.out.println("revisions " + table.revisions + " quoted " + Long.toHexString(quoted.sum()));
    }
}
