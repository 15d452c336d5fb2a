import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.LongAdder;

/**
 * Totals of sales by region, with what the accountants want to see of each sale.
 *
 *     java Totals guilty|clean
 *
 * The guilty one rates and books each sale in a synchronized method. The clean one rates it outside, and books it into LongAdders.
 */
public class Totals {
    private static final int SALES = 15_000_000;
    private static final int REGIONS = 16;
    private static final int STEPS = 60;

    private final long[] cents = new long[REGIONS];
    private final LongAdder[] added = new LongAdder[REGIONS];

    Totals() {
        for (int region = 0; region < REGIONS; region++) {
            added[region] = new LongAdder();
        }
    }

    /** What a sale brings after the discounts and taxes of its contract, which apply one after the other. */
    static long rate(int sale) {
        long amount = 1_000 + sale % 90_000;
        int state = sale * 0x9E3779B9 | 1;
        for (int step = 0; step < STEPS; step++) {
            state ^= state << 13;
            state ^= state >>> 17;
            state ^= state << 5;
            amount += (state & 63) - 31;
        }
        return amount;
    }

    synchronized void book(int sale) { // GUILTY
        cents[sale % REGIONS] += rate(sale);
    }

    void add(int sale) {
        added[sale % REGIONS].add(rate(sale));
    }

    void share(int first, int last, boolean guilty) {
        for (int sale = first; sale < last; sale++) {
            if (guilty) {
                book(sale);
            } else {
                add(sale);
            }
        }
    }

    long total(int region) {
        return cents[region] + added[region].sum();
    }

    public static void main(String[] args) throws InterruptedException, ExecutionException {
        if (args.length != 1) {
            System.err.println("usage: Totals guilty|clean");
            System.exit(2);
        }
        boolean guilty = args[0].equals("guilty");
        Totals totals = new Totals();
        int workers = Runtime.getRuntime().availableProcessors();
        ExecutorService pool = Executors.newFixedThreadPool(workers);
        List<Future<?>> shares = new ArrayList<>();
        for (int worker = 0; worker < workers; worker++) {
            int first = (int) ((long) SALES * worker / workers);
            int last = (int) ((long) SALES * (worker + 1) / workers);
            shares.add(pool.submit(() -> totals.share(first, last, guilty)));
        }
        for (Future<?> share : shares) {
            share.get();
        }
        pool.shutdown();
        for (int region = 0; region < 3; region++) {
            System.out.println(String.format(Locale.ROOT, "region %d: %.2f", region, totals.total(region) / 100.0));
        }
    }
}
