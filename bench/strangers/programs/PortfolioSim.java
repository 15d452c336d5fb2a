import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Simulates the value of a small fund over a year of trading days and reports
 * how the paths ended.
 *
 * usage: java PortfolioSim THREADS
 */
public final class PortfolioSim {

    private static final int PATHS = 32_000;
    private static final int DAYS = 280;
    private static final int PATHS_PER_TASK = 400;
    private static final double FLOOR = 60.0;

    /** Market parameters of one asset class. */
    private static final class AssetClass {
        final String name;
        final double drift;
        final double volatility;
        final double weight;

        AssetClass(String name, double drift, double volatility, double weight) {
            this.name = name;
            this.drift = drift;
            this.volatility = volatility;
            this.weight = weight;
        }
    }

    /** The source of market shocks. */
    private static final class Market {
        private final Random random = new Random(20240229L);
        private final List<AssetClass> classes = new ArrayList<>();
        private final double drift;
        private final double volatility;

        Market() {
            classes.add(new AssetClass("equity", 0.00028, 0.0110, 0.55));
            classes.add(new AssetClass("bonds", 0.00009, 0.0030, 0.35));
            classes.add(new AssetClass("cash", 0.00004, 0.0000, 0.10));
            double d = 0;
            double v = 0;
            for (AssetClass c : classes) {
                d += c.weight * c.drift;
                v += c.weight * c.volatility;
            }
            this.drift = d;
            this.volatility = v;
        }

        double nextShock() {
            return random.nextGaussian();
        }

        double dailyReturn(double shock) {
            return 1.0 + drift + volatility * shock;
        }

        int classCount() {
            return classes.size();
        }
    }

    /** What a group of paths came to. */
    private static final class Outcome {
        int paths;
        int ruined;
        int gained;
        long shockMicros;
        double endValue;

        void add(Outcome other) {
            paths += other.paths;
            ruined += other.ruined;
            gained += other.gained;
            shockMicros += other.shockMicros;
            endValue += other.endValue;
        }
    }

    private final Market market = new Market();

    private void simulatePath(Outcome out) {
        double value = 100.0;
        double lowest = value;
        long micros = 0;
        for (int day = 0; day < DAYS; day++) {
            double shock = market.nextShock();
            micros += (long) Math.rint(shock * 1e6);
            value *= market.dailyReturn(shock);
            if (value < lowest) {
                lowest = value;
            }
        }
        out.paths++;
        out.shockMicros += micros;
        out.endValue += value;
        if (lowest < FLOOR) {
            out.ruined++;
        }
        if (value > 100.0) {
            out.gained++;
        }
    }

    private Outcome simulateGroup(int paths) {
        Outcome out = new Outcome();
        for (int i = 0; i < paths; i++) {
            simulatePath(out);
        }
        return out;
    }

    private Outcome run(int threads) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Future<Outcome>> groups = new ArrayList<>();
            for (int first = 0; first < PATHS; first += PATHS_PER_TASK) {
                final int count = Math.min(PATHS_PER_TASK, PATHS - first);
                groups.add(pool.submit(() -> simulateGroup(count)));
            }
            Outcome total = new Outcome();
            for (Future<Outcome> g : groups) {
                total.add(g.get());
            }
            return total;
        } finally {
            pool.shutdown();
        }
    }

    public static void main(String[] args) throws Exception {
        int threads = args.length > 0 ? Integer.parseInt(args[0]) : 1;
        PortfolioSim sim = new PortfolioSim();
        Outcome o = sim.run(threads);
        double mean = o.endValue / o.paths;
        // Individual paths depend on who draws which shock; the sum of the
        // shocks does not.
        boolean plausible = mean > 90.0 && mean < 120.0 && o.gained > o.ruined;
        System.out.printf("classes %d paths %d shocks %d plausible %s%n",
                sim.market.classCount(), o.paths, o.shockMicros, plausible);
    }
}
