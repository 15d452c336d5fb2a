import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Sums sales receipts into one summary per region. */
public class RegionSales {

    static final int RECEIPTS = 1_800_000;
    static final int ITEMS = 40;

    enum Region { NORTH, SOUTH, ISLANDS }

    static final class Receipt {
        final Region region;
        final int[] cents = new int[ITEMS];

        Receipt(int number) {
            int h = number * 0x9E3779B1;
            h ^= h >>> 15;
            int r = (h >>> 4) % 20;
            region = r == 0 ? Region.ISLANDS : r <= 2 ? Region.SOUTH : Region.NORTH;
            for (int i = 0; i < ITEMS; i++) {
                h = h * 1664525 + 1013904223;
                cents[i] = 50 + (h >>> 20);
            }
        }
    }

    static final class Summary {
        long receipts;
        double revenue;
        double logSum;
        double tax;

        Summary add(Receipt r) {
            receipts++;
            for (int c : r.cents) {
                double price = c / 100.0;
                revenue += price;
                logSum += Math.log(price);
                tax += Math.rint(price * taxRate(c) * 100) / 100;
            }
            return this;
        }

        private static double taxRate(int cents) {
            return cents % 3 == 0 ? 0.07 : 0.19;
        }

        double geometricMean() {
            return Math.exp(logSum / (receipts * ITEMS));
        }
    }

    private final ConcurrentHashMap<Region, Summary> summaries = new ConcurrentHashMap<>();

    void book(Receipt receipt) {
        summaries.compute(receipt.region, (region, summary) -> {
            Summary s = summary == null ? new Summary() : summary;
            return s.add(receipt);
        });
    }

    void bookRange(int first, int last) {
        for (int n = first; n < last; n++) {
            book(new Receipt(n));
        }
    }

    String report() {
        StringBuilder out = new StringBuilder();
        for (Map.Entry<Region, Summary> e : new TreeMap<>(summaries).entrySet()) {
            Summary s = e.getValue();
            out.append(String.format("%s:%d/%.0f/%.2f ", e.getKey(), s.receipts, s.revenue, s.geometricMean()));
        }
        return out.toString().trim();
    }

    public static void main(String[] args) {
        int workers = Integer.parseInt(args[0]);
        RegionSales sales = new RegionSales();
        ExecutorService pool = Executors.newFixedThreadPool(workers);
        int pages = 60;
        CompletableFuture<?>[] all = new CompletableFuture<?>[pages];
        for (int p = 0; p < pages; p++) {
            int first = RECEIPTS / pages * p;
            int last = RECEIPTS / pages * (p + 1);
            all[p] = CompletableFuture.runAsync(() -> sales.bookRange(first, last), pool);
        }
        CompletableFuture.allOf(all).join();
        pool.shutdown();
        System.out.println(sales.report());
    }
}
