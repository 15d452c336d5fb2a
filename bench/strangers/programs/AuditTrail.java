import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import java.util.logging.StreamHandler;

/**
 * Settles card transactions against merchant limits and leaves an audit line
 * for each of them.
 *
 * usage: java AuditTrail THREADS
 */
public final class AuditTrail {

    private static final int TRANSACTIONS = 55_000;
    private static final int MERCHANTS = 300;

    private static final Logger AUDIT = Logger.getLogger("settlement.audit");

    /** Stands in for the archive: keeps count, stores nothing. */
    private static final class ArchiveStream extends OutputStream {
        private long lines;

        @Override
        public void write(int b) {
            if (b == '\n') {
                lines++;
            }
        }

        @Override
        public void write(byte[] data, int offset, int length) {
            for (int i = offset; i < offset + length; i++) {
                if (data[i] == '\n') {
                    lines++;
                }
            }
        }

        long lines() {
            return lines;
        }
    }

    private static final class Transaction {
        final int id;
        final int merchant;
        final long cents;
        final String card;

        Transaction(int id) {
            long h = mix(id + 1L);
            this.id = id;
            this.merchant = (int) (Math.floorMod(h, (long) MERCHANTS));
            this.cents = 100 + ((h >>> 17) & 0xffff);
            this.card = "****" + (1000 + ((h >>> 40) & 0xfff));
        }
    }

    private static final class Totals {
        int accepted;
        int referred;
        long cents;
        long fees;

        void add(Totals t) {
            accepted += t.accepted;
            referred += t.referred;
            cents += t.cents;
            fees += t.fees;
        }
    }

    private final long[] limits = new long[MERCHANTS];

    private AuditTrail() {
        for (int m = 0; m < MERCHANTS; m++) {
            limits[m] = 20_000 + Math.floorMod(mix(m + 77L), 60_000L);
        }
    }

    static long mix(long x) {
        x ^= x >>> 30;
        x *= 0xbf58476d1ce4e5b9L;
        x ^= x >>> 27;
        x *= 0x94d049bb133111ebL;
        return x ^ (x >>> 31);
    }

    private long feeOf(Transaction tx) {
        long score = tx.cents;
        for (int i = 0; i < 60; i++) {
            score = mix(score + tx.merchant);
        }
        return 5 + (score & 63) + tx.cents / 200;
    }

    private void settle(Transaction tx, Totals totals) {
        long fee = feeOf(tx);
        if (tx.cents > limits[tx.merchant]) {
            totals.referred++;
            AUDIT.log(Level.WARNING, "transaction {0} of merchant {1} referred, amount {2}",
                    new Object[] {tx.id, tx.merchant, tx.cents});
            return;
        }
        totals.accepted++;
        totals.cents += tx.cents;
        totals.fees += fee;
        AUDIT.log(Level.INFO, "transaction {0} card {1} merchant {2} amount {3} fee {4}",
                new Object[] {tx.id, tx.card, tx.merchant, tx.cents, fee});
    }

    private Totals settleRange(int first, int end) {
        Totals totals = new Totals();
        for (int id = first; id < end; id++) {
            settle(new Transaction(id), totals);
        }
        return totals;
    }

    private Totals settleAll(int threads) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Callable<Totals>> ranges = new ArrayList<>();
            for (int t = 0; t < threads; t++) {
                final int first = (int) ((long) TRANSACTIONS * t / threads);
                final int end = (int) ((long) TRANSACTIONS * (t + 1) / threads);
                ranges.add(() -> settleRange(first, end));
            }
            Totals sum = new Totals();
            for (Future<Totals> f : pool.invokeAll(ranges)) {
                sum.add(f.get());
            }
            return sum;
        } finally {
            pool.shutdown();
        }
    }

    public static void main(String[] args) throws Exception {
        int threads = args.length > 0 ? Integer.parseInt(args[0]) : 1;
        ArchiveStream archive = new ArchiveStream();
        StreamHandler handler = new StreamHandler(archive, new SimpleFormatter());
        handler.setLevel(Level.ALL);
        AUDIT.setUseParentHandlers(false);
        AUDIT.setLevel(Level.INFO);
        AUDIT.addHandler(handler);

        Totals totals = new AuditTrail().settleAll(threads);
        handler.flush();
        System.out.printf("accepted %d referred %d cents %d fees %d audit-lines %d%n",
                totals.accepted, totals.referred, totals.cents, totals.fees, archive.lines());
    }
}
