public class LoyaltyAccounts {
    private static final int PURCHASES = 360_000;
    private static final int MEMBERS = 5000;
    private static final int RULES = 600;

    private final long[] points = new long[MEMBERS];
    private long purchases;

    private static long score(long x) {
        x ^= x >>> 29;
        x *= 0x94d049bb133111ebL;
        x ^= x >>> 32;
        return x;
    }

    synchronized void accrue(int member, long amount) {
        long bonus = points[member] + amount;
        for (int rule = 0; rule < RULES; rule++) {
            bonus = score(bonus + rule);
        }
        points[member] = bonus;
        purchases++;
    }

    synchronized long balance() {
        long sum = purchases;
        for (long p : points) {
            sum += p;
        }
        return sum;
    }

    static final class Register implements Runnable {
        private final LoyaltyAccounts accounts;
        private final int first;
        private final int step;

        Register(LoyaltyAccounts accounts, int first, int step) {
            this.accounts = accounts;
            this.first = first;
            this.step = step;
        }

        @Override
        public void run() {
            for (int purchase = first; purchase < PURCHASES; purchase += step) {
                long amount = purchase;
                for (int item = 0; item < 50; item++) {
                    amount = score(amount + item);
                }
                accounts.accrue((int) ((amount >>> 1) % MEMBERS), amount >>> 50);
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int registers = args.length > 0 ? Math.max(1, Integer.parseInt(args[0])) : 1;
        LoyaltyAccounts accounts = new LoyaltyAccounts();
        Thread[] threads = new Thread[registers];
        for (int r = 0; r < registers; r++) {
            threads[r] = new Thread(new Register(accounts, r, registers), "register-" + r);
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("members " + MEMBERS + " balance " + Long.toHexString(accounts.balance()));
    }
}
