import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Posts a day of transactions to a bank ledger and works out the accrued interest. */
public class LedgerPosting {

    static final int ACCOUNTS = 2000;
    static final int TRANSACTIONS = 400_000;
    static final int DAYS = 365;

    record Transaction(int from, int to, long cents, int day) {
    }

    static class Ledger {
        private final long[] balance = new long[ACCOUNTS];
        private final double[] interest = new double[ACCOUNTS];
        private long posted;
        private long rejected;

        Ledger() {
            java.util.Arrays.fill(balance, 1_000_000);
        }

        boolean post(Transaction t) {
            if (t.from() == t.to() || t.cents() <= 0) {
                return false;
            }
            synchronized (this) {
                if (balance[t.from()] < t.cents()) {
                    rejected++;
                    return false;
                }
                balance[t.from()] -= t.cents();
                balance[t.to()] += t.cents();
                interest[t.from()] += accrue(balance[t.from()], t.day());
                interest[t.to()] += accrue(balance[t.to()], t.day());
                posted++;
            }
            return true;
        }

        private double accrue(long cents, int day) {
            double amount = cents / 100.0;
            double start = amount;
            for (int d = day; d < DAYS; d++) {
                double rate = amount > 20_000 ? 0.021 : amount > 10_000 ? 0.014 : 0.009;
                amount += amount * rate / DAYS;
            }
            return amount - start;
        }

        synchronized long total() {
            long sum = 0;
            for (long b : balance) {
                sum += b;
            }
            return sum;
        }

        synchronized double totalInterest() {
            double sum = 0;
            for (double i : interest) {
                sum += i;
            }
            return sum;
        }
    }

    static Transaction generate(int index) {
        long h = (index + 1) * 0x9E3779B97F4A7C15L;
        h ^= h >>> 29;
        h *= 0xBF58476D1CE4E5B9L;
        h ^= h >>> 32;
        int from = (int) ((h & 0xffff) % ACCOUNTS);
        int to = (int) (((h >>> 16) & 0xffff) % ACCOUNTS);
        long cents = (h >>> 32 & 0xffff) + 1;
        int day = (int) ((h >>> 50) % 60);
        return new Transaction(from, to, cents, day);
    }

    public static void main(String[] args) throws Exception {
        int workers = Integer.parseInt(args[0]);
        Ledger ledger = new Ledger();
        ExecutorService pool = Executors.newFixedThreadPool(workers);
        List<Future<Integer>> batches = new ArrayList<>();
        int batch = TRANSACTIONS / 80;
        for (int first = 0; first < TRANSACTIONS; first += batch) {
            final int begin = first;
            Callable<Integer> job = () -> {
                int done = 0;
                for (int i = begin; i < begin + batch; i++) {
                    if (ledger.post(generate(i))) {
                        done++;
                    }
                }
                return done;
            };
            batches.add(pool.submit(job));
        }
        int done = 0;
        for (Future<Integer> f : batches) {
            done += f.get();
        }
        pool.shutdown();
        System.out.printf("posted %d, total %d, interest %.0f%n", done, ledger.total(), ledger.totalInterest());
    }
}
