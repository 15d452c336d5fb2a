import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** Board of current quotes, fed from a tick stream and asked for spreads now and then. */
public class QuoteBoard {

    static final String[] SYMBOLS = makeSymbols(400);
    static final int TICKS = 44_000_000;

    static final class Quote {
        double bid;
        double ask;
        double average;
        long updates;
    }

    private final Map<String, Quote> quotes = new HashMap<>();
    private final ReadWriteLock guard = new ReentrantReadWriteLock();

    void update(String symbol, double bid, double ask) {
        guard.writeLock().lock();
        try {
            Quote q = quotes.get(symbol);
            if (q == null) {
                q = new Quote();
                q.average = (bid + ask) / 2;
                quotes.put(symbol, q);
            }
            q.bid = bid;
            q.ask = ask;
            q.average = q.average * 0.98 + (bid + ask) * 0.01;
            q.updates++;
        } finally {
            guard.writeLock().unlock();
        }
    }

    double spread(String symbol) {
        guard.readLock().lock();
        try {
            Quote q = quotes.get(symbol);
            return q == null ? 0 : q.ask - q.bid;
        } finally {
            guard.readLock().unlock();
        }
    }

    long updates() {
        guard.readLock().lock();
        try {
            return quotes.values().stream().mapToLong(q -> q.updates).sum();
        } finally {
            guard.readLock().unlock();
        }
    }

    static String[] makeSymbols(int n) {
        String[] names = new String[n];
        for (int i = 0; i < n; i++) {
            names[i] = "" + (char) ('A' + i % 26) + (char) ('A' + i / 26 % 26) + (char) ('A' + i * 7 % 26);
        }
        return names;
    }

    private static class Feed extends Thread {
        private final QuoteBoard board;
        private final int ticks;
        private final CountDownLatch finished;
        private final AtomicLong checked;
        private long seed;

        Feed(QuoteBoard board, int number, int ticks, CountDownLatch finished, AtomicLong checked) {
            super("feed-" + number);
            this.board = board;
            this.ticks = ticks;
            this.finished = finished;
            this.checked = checked;
            this.seed = 88172645463325252L + number * 1000003L;
        }

        @Override
        public void run() {
            long asked = 0;
            for (int i = 0; i < ticks; i++) {
                seed ^= seed << 13;
                seed ^= seed >>> 7;
                seed ^= seed << 17;
                String symbol = SYMBOLS[(int) ((seed >>> 20) % SYMBOLS.length + SYMBOLS.length) % SYMBOLS.length];
                double mid = 50 + (seed & 1023) / 16.0;
                if (i % 5 == 4) {
                    if (board.spread(symbol) >= 0) {
                        asked++;
                    }
                } else {
                    board.update(symbol, mid - 0.05, mid + 0.05);
                }
            }
            checked.addAndGet(asked);
            finished.countDown();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int feeds = Integer.parseInt(args[0]);
        QuoteBoard board = new QuoteBoard();
        CountDownLatch finished = new CountDownLatch(feeds);
        AtomicLong checked = new AtomicLong();
        for (int f = 0; f < feeds; f++) {
            new Feed(board, f, TICKS / feeds, finished, checked).start();
        }
        finished.await();
        System.out.println("updates " + board.updates() + " spreads " + checked.get());
    }
}
