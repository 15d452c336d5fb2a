public class StockRoom {
    private final int[] onHand = new int[1024];
    private final int[] recent = new int[16];
    private int position;
    private long shipped;

    StockRoom() {
        for (int i = 0; i < onHand.length; i++) {
            onHand[i] = 1000 + i % 37;
        }
    }

    synchronized int reserve(int sku, int quantity) {
        int demand = 0;
        for (int r : recent) {
            demand += r;
        }
        int granted = Math.min(quantity, onHand[sku]);
        if (demand > 60) {
            granted = Math.min(granted, 2);
        }
        onHand[sku] -= granted;
        if (onHand[sku] < 10) {
            onHand[sku] += 1000;
        }
        recent[position++ & 15] = granted;
        shipped += granted;
        return granted;
    }

    synchronized long shipped() {
        return shipped;
    }

    static long takeOrders(StockRoom room, int first, int last, long seed) {
        long x = seed;
        long got = 0;
        for (int i = first; i < last; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
            got += room.reserve((int) ((x >>> 20) & 1023), (int) ((x >>> 40) & 7) + 1);
        }
        return got;
    }

    public static void main(String[] args) throws InterruptedException {
        int threads = args.length > 0 ? Math.max(1, Integer.parseInt(args[0])) : 1;
        int orders = args.length > 1 ? Integer.parseInt(args[1]) : 14000000;
        StockRoom room = new StockRoom();
        long[] got = new long[threads];
        Thread[] pool = new Thread[threads];
        for (int t = 0; t < threads; t++) {
            final int slot = t;
            final int first = (int) ((long) orders * t / threads);
            final int last = (int) ((long) orders * (t + 1) / threads);
            pool[t] = new Thread(() -> {
                got[slot] = takeOrders(room, first, last, 88172645463325252L + slot);
            }, "clerk-" + t);
            pool[t].start();
        }
        long sum = 0;
        for (int t = 0; t < threads; t++) {
            pool[t].join();
            sum += got[t];
        }
        System.out.println("orders " + orders + " reserved " + sum + " shipped " + room.shipped());
    }
}
