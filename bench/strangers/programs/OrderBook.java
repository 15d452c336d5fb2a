import java.util.concurrent.locks.ReentrantLock;

public class OrderBook {
    private static final int ORDERS = 150_000;
    private static final int DEPTH = 256;
    private static final int SWEEPS = 6;

    private final ReentrantLock lock = new ReentrantLock();
    private final long[] levels = new long[DEPTH];
    private long trades;
    private long turnover;

    private static long shuffle(long x) {
        x ^= x >>> 33;
        x *= 0xff51afd7ed558ccdL;
        x ^= x >>> 29;
        return x;
    }

    private static long parseOrder(int number) {
        long order = number + 31L;
        for (int field = 0; field < 120; field++) {
            order = shuffle(order + field);
        }
        return order;
    }

    long submit(long order) {
        lock.lock();
        try {
            long fill = order;
            for (int sweep = 0; sweep < SWEEPS; sweep++) {
                for (int level = 0; level < DEPTH; level++) {
                    fill = shuffle(fill + levels[level]);
                    levels[level] = fill >>> 3;
                }
            }
            trades++;
            turnover += fill;
            return fill;
        } finally {
            lock.unlock();
        }
    }

    private void trade(int first, int step) {
        for (int number = first; number < ORDERS; number += step) {
            submit(parseOrder(number));
        }
    }

    public static void main(String[] args) throws InterruptedException {
        final int traders = args.length > 0 ? Math.max(1, Integer.parseInt(args[0])) : 1;
        final OrderBook book = new OrderBook();
        Thread[] threads = new Thread[traders];
        for (int t = 0; t < traders; t++) {
            final int id = t;
            threads[t] = new Thread(() -> book.trade(id, traders), "trader-" + t);
            threads[t].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("trades " + book.trades + " turnover " + Long.toHexString(book.turnover));
    }
}
