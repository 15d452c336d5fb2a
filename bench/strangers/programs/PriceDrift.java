import java.util.Random;

public class PriceDrift {
    static final Random NOISE = new Random(20240517L);
    static final int DAYS = 250;

    static double oneYear(double start) {
        double price = start;
        for (int d = 0; d < DAYS; d++) {
            price *= 1.0 + 0.02 * (NOISE.nextDouble() - 0.499);
        }
        return price;
    }

    static double runScenarios(int first, int last) {
        double sum = 0;
        for (int i = first; i < last; i++) {
            sum += oneYear(90.0 + i % 20);
        }
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        int threads = args.length > 0 ? Math.max(1, Integer.parseInt(args[0])) : 1;
        int scenarios = args.length > 1 ? Integer.parseInt(args[1]) : 110000;
        double[] sums = new double[threads];
        Thread[] pool = new Thread[threads];
        for (int t = 0; t < threads; t++) {
            final int slot = t;
            final int first = (int) ((long) scenarios * t / threads);
            final int last = (int) ((long) scenarios * (t + 1) / threads);
            pool[t] = new Thread(() -> {
                sums[slot] = runScenarios(first, last);
            }, "scenario-" + t);
            pool[t].start();
        }
        double sum = 0;
        for (int t = 0; t < threads; t++) {
            pool[t].join();
            sum += sums[t];
        }
        System.out.printf("scenarios %d mean %.2f%n", scenarios, sum / scenarios);
    }
}
