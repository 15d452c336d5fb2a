import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class SettlementBatch {
    private static final int CYCLES = 15;
    private static final int ACCOUNTS = 96;
    private static final int CLEAR_STEPS = 75_000;
    private static final int NET_STEPS = 112_000;

    private final long[] positions = new long[ACCOUNTS];
    private long residue = 13;

    private static long settle(long x) {
        x ^= x >>> 33;
        x *= 0xff51afd7ed558ccdL;
        x ^= x >>> 32;
        return x;
    }

    private static long clearAccount(long position, int cycle) {
        long cleared = position + cycle;
        for (int s = 0; s < CLEAR_STEPS; s++) {
            cleared = settle(cleared + s);
        }
        return cleared;
    }

    private int clearRange(int from, int to, int cycle) {
        for (int account = from; account < to; account++) {
            positions[account] = clearAccount(positions[account], cycle);
        }
        return to - from;
    }

    private static long netAccount(long carried, long position) {
        long netted = carried ^ position;
        for (int s = 0; s < NET_STEPS; s++) {
            netted = settle(netted + s);
        }
        return netted;
    }

    private void netPositions() {
        for (int account = 0; account < ACCOUNTS; account++) {
            residue = netAccount(residue, positions[account]);
            positions[account] += residue >>> 24;
        }
    }

    public static void main(String[] args) throws Exception {
        final int houses = args.length > 0 ? Math.max(1, Integer.parseInt(args[0])) : 1;
        final SettlementBatch batch = new SettlementBatch();
        ExecutorService pool = Executors.newFixedThreadPool(houses);
        long cleared = 0;
        for (int c = 0; c < CYCLES; c++) {
            final int cycle = c;
            List<Callable<Integer>> work = new ArrayList<>();
            for (int h = 0; h < houses; h++) {
                final int from = ACCOUNTS * h / houses;
                final int to = ACCOUNTS * (h + 1) / houses;
                work.add(() -> batch.clearRange(from, to, cycle));
            }
            for (Future<Integer> done : pool.invokeAll(work)) {
                cleared += done.get();
            }
            batch.netPositions();
        }
        pool.shutdown();
        System.out.println("cleared " + cleared + " residue " + Long.toHexString(batch.residue));
    }
}
