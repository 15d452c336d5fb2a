/** Threads that sell in one shop: `java Shop THREADS SALES`. The compiler puts `sell` into who calls it. */
public class Shop {
    static long sold;

    static long price(long item) {
        long value = item;
        for (int i = 0; i < 2_000; i++) value = value * 6364136223846793005L + 1442695040888963407L;
        return value;
    }

    static synchronized void sell(long item) {
        sold += price(item);
    }

    static void serve(long item) {
        sell(item);
    }

    public static void main(String[] arguments) throws InterruptedException {
        Thread[] threads = new Thread[Integer.parseInt(arguments[0])];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                int sales = Integer.parseInt(arguments[1]);
                for (int sale = 0; sale < sales; sale++) serve(sale);
            });
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        System.out.println(sold);
    }
}
