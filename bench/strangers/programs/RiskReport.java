import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class RiskReport {
    private static final int SCENARIOS = 45_000;
    private static final int[] DESK_POSITIONS = {
        90, 110, 105, 95, 100, 100, 120, 80, 100, 90, 110, 100,
        115, 85, 100, 95, 105, 100, 110, 90, 100, 100, 100, 3600,
    };

    static final class Desk {
        final int id;
        final int positions;

        Desk(int id, int positions) {
            this.id = id;
            this.positions = positions;
        }
    }

    private static long shock(long x) {
        x ^= x >>> 32;
        x *= 0xd6e8feb86659fd93L;
        x ^= x >>> 29;
        return x;
    }

    private static long pricePosition(long position) {
        long value = position;
        for (int s = 0; s < SCENARIOS; s++) {
            value = shock(value + s);
        }
        return value;
    }

    private static long evaluateDesk(Desk desk) {
        long exposure = 0;
        for (int p = 0; p < desk.positions; p++) {
            exposure += pricePosition(desk.id * 10_000L + p) >>> 20;
        }
        return exposure;
    }

    public static void main(String[] args) throws InterruptedException, ExecutionException {
        int analysts = args.length > 0 ? Math.max(1, Integer.parseInt(args[0])) : 1;
        ExecutorService pool = Executors.newFixedThreadPool(analysts);
        List<Future<Long>> reports = new ArrayList<>();
        for (int d = 0; d < DESK_POSITIONS.length; d++) {
            final Desk desk = new Desk(d, DESK_POSITIONS[d]);
            reports.add(pool.submit(() -> evaluateDesk(desk)));
        }
        long exposure = 0;
        for (Future<Long> report : reports) {
            exposure += report.get();
        }
        pool.shutdown();
        System.out.println("desks " + reports.size() + " exposure " + Long.toHexString(exposure));
    }
}
