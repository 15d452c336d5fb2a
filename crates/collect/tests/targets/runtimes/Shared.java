import java.util.concurrent.atomic.AtomicLong;

/** What two threads do to each other's memory, in code that is made at run time. Arguments: what, milliseconds, threads. */
public class Shared {
    static final AtomicLong total = new AtomicLong();
    static final AtomicLong ready = new AtomicLong();

    static class Packed { volatile long first; volatile long second; }
    static class Padded {
        volatile long first;
        volatile long p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16;
        volatile long second;
    }
    static final Packed packed = new Packed();
    static final Padded padded = new Padded();
    static class Flag { volatile int turn; }
    static final Flag flag = new Flag();

    static void count(long steps) { for (long k = 0; k < steps; k++) total.incrementAndGet(); }
    static void packedFirst(long steps) { Packed p = packed; for (long k = 0; k < steps; k++) p.first++; }
    static void packedSecond(long steps) { Packed p = packed; for (long k = 0; k < steps; k++) p.second++; }
    static void paddedFirst(long steps) { Padded p = padded; for (long k = 0; k < steps; k++) p.first++; }
    static void paddedSecond(long steps) { Padded p = padded; for (long k = 0; k < steps; k++) p.second++; }
    static long sink;
    static void turns(int own, int threads, long steps) {
        long mix = own;
        for (long k = 0; k < steps; k++) {
            while (flag.turn != own) { }
            for (int f = 0; f < 2000; f++) mix = mix * 6364136223846793005L + 1442695040888963407L;
            flag.turn = (own + 1) % threads;
        }
        sink = mix;
    }

    public static void main(String[] arguments) throws Exception {
        String what = arguments[0];
        long steps = Long.parseLong(arguments[1]);
        int threads = Integer.parseInt(arguments[2]);
        Thread[] all = new Thread[threads];
        for (int t = 0; t < threads; t++) {
            final int own = t;
            final long mine = steps / threads;
            all[t] = new Thread(() -> {
                switch (what) {
                    case "atomic" -> count(mine);
                    case "packed" -> { if (own % 2 == 0) packedFirst(mine); else packedSecond(mine); }
                    case "padded" -> { if (own % 2 == 0) paddedFirst(mine); else paddedSecond(mine); }
                    case "turns" -> turns(own, threads, mine);
                    default -> throw new IllegalArgumentException(what);
                }
            });
            all[t].start();
        }
        for (Thread one : all) one.join();
    }
}
