import java.util.HashMap;
import java.util.Map;

/** Threads count in one map inside a synchronized block. Tally THREADS */
public class Tally {
    private static final Map<Integer, Integer> counts = new HashMap<>();

    private static void record(int key) {
        synchronized (counts) {
            counts.merge(key % 1000, 1, Integer::sum);
        }
    }

    private static void work(long seed, int rounds) {
        long x = seed;
        for (int i = 0; i < rounds; i++) {
            x = x * 6364136223846793005L + 1;
            record((int) (x >>> 40));
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        int threads = Integer.parseInt(arguments[0]);
        Thread[] workers = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            long seed = i + 1;
            workers[i] = new Thread(() -> work(seed, 40_000_000 / threads), "tally-" + i);
            workers[i].start();
        }
        for (Thread worker : workers) worker.join();
    }
}
