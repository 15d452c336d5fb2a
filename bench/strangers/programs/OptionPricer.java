import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Prices a barrier option by simulating random walks of the share price. */
public class OptionPricer {

    static final int PATHS = 1_200_000;
    static final int STEPS = 100;

    interface PayOff {
        double at(double price, double highest);
    }

    static class BarrierCall implements PayOff {
        private final double strike;
        private final double barrier;

        BarrierCall(double strike, double barrier) {
            this.strike = strike;
            this.barrier = barrier;
        }

        @Override
        public double at(double price, double highest) {
            return highest >= barrier ? 0 : Math.max(0, price - strike);
        }
    }

    static class Market {
        private final Random random;
        private final double up;
        private final double down;

        Market(long seed, double volatility) {
            random = new Random(seed);
            double step = volatility / Math.sqrt(STEPS);
            up = 1 + step;
            down = 1 / up;
        }

        double move(double price) {
            return random.nextInt() >= 0 ? price * up : price * down;
        }
    }

    static class Simulation implements Callable<Double> {
        private final Market market;
        private final PayOff payOff;
        private final int paths;

        Simulation(Market market, PayOff payOff, int paths) {
            this.market = market;
            this.payOff = payOff;
            this.paths = paths;
        }

        @Override
        public Double call() {
            double sum = 0;
            for (int p = 0; p < paths; p++) {
                double price = 100;
                double highest = price;
                for (int s = 0; s < STEPS; s++) {
                    price = market.move(price);
                    if (price > highest) {
                        highest = price;
                    }
                }
                sum += payOff.at(price, highest);
            }
            return sum;
        }
    }

    public static void main(String[] args) throws Exception {
        int workers = Integer.parseInt(args[0]);
        Market market = new Market(20240229, 0.2);
        PayOff option = new BarrierCall(102, 135);
        ExecutorService pool = Executors.newFixedThreadPool(workers);
        List<Future<Double>> parts = new ArrayList<>();
        for (int w = 0; w < workers; w++) {
            parts.add(pool.submit(new Simulation(market, option, PATHS / workers)));
        }
        double sum = 0;
        for (Future<Double> part : parts) {
            sum += part.get();
        }
        pool.shutdown();
        System.out.printf("price %.2f%n", sum / PATHS);
    }
}
