import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

public class PolicyPricer {
    private static final int PORTFOLIOS = 160;
    private static final int POLICIES = 400;
    private static final int YEARS = 4000;

    private static long age(long x) {
        x ^= x >>> 28;
        x *= 0xc4ceb9fe1a85ec53L;
        x ^= x >>> 33;
        return x;
    }

    private static long pricePolicy(long policy) {
        long reserve = policy;
        for (int year = 0; year < YEARS; year++) {
            reserve = age(reserve + year);
        }
        return reserve >>> 16;
    }

    private static long pricePortfolio(int portfolio) {
        long premium = 0;
        long base = portfolio * (long) POLICIES;
        for (int p = 0; p < POLICIES; p++) {
            premium += pricePolicy(base + p);
        }
        return premium;
    }

    public static void main(String[] args) {
        int actuaries = args.length > 0 ? Math.max(1, Integer.parseInt(args[0])) : 1;
        final ExecutorService office = Executors.newFixedThreadPool(actuaries);
        List<CompletableFuture<Long>> premiums = IntStream.range(0, PORTFOLIOS)
            .mapToObj(portfolio -> CompletableFuture.supplyAsync(() -> pricePortfolio(portfolio), office))
            .collect(Collectors.toList());
        long total = 0;
        for (CompletableFuture<Long> premium : premiums) {
            total += premium.join();
        }
        office.shutdown();
        System.out.println("portfolios " + premiums.size() + " premium " + Long.toHexString(total));
    }
}
