/** Threads that share one lock: `java Contended THREADS ROUNDS`. */
public class Contended {
    static long total;

    static synchronized void addSlowly(long seed) {
        long value = seed;
        for (int i = 0; i < 20_000; i++) value = value * 6364136223846793005L + 1442695040888963407L;
        total += value;
    }

    static void worker(int rounds) {
        for (int round = 0; round < rounds; round++) addSlowly(round);
    }

    public static void main(String[] arguments) throws InterruptedException {
        Thread[] threads = new Thread[Integer.parseInt(arguments[0])];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> worker(Integer.parseInt(arguments[1])));
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        System.out.println(total);
    }
}
