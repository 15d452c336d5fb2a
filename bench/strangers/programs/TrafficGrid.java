import java.util.concurrent.Phaser;
import java.util.concurrent.atomic.AtomicLong;

public class TrafficGrid {
    private static final int INTERVALS = 60;
    private static final int DISTRICTS = 64;
    private static final int DOWNTOWN = 16;
    private static final int DOWNTOWN_CARS = 225_000;
    private static final int SUBURB_CARS = 19_000;

    private final long[] flow = new long[DISTRICTS];
    private final AtomicLong departures = new AtomicLong();
    private final Phaser clock;

    TrafficGrid(int crews) {
        clock = new Phaser(crews);
    }

    private static long drive(long x) {
        x ^= x >>> 31;
        x *= 0x9fb21c651e98df25L;
        x ^= x >>> 28;
        return x;
    }

    private static long simulateDistrict(long state, int cars) {
        for (int car = 0; car < cars; car++) {
            state = drive(state + car);
        }
        return state;
    }

    private void runCrew(int from, int to) {
        for (int interval = 0; interval < INTERVALS; interval++) {
            long left = 0;
            for (int district = from; district < to; district++) {
                int cars = district < DOWNTOWN ? DOWNTOWN_CARS : SUBURB_CARS;
                flow[district] = simulateDistrict(flow[district] + district + interval, cars);
                left += flow[district] >>> 40;
            }
            departures.addAndGet(left);
            clock.arriveAndAwaitAdvance();
        }
        clock.arriveAndDeregister();
    }

    public static void main(String[] args) throws InterruptedException {
        int crews = args.length > 0 ? Math.max(1, Integer.parseInt(args[0])) : 1;
        final TrafficGrid grid = new TrafficGrid(crews);
        Thread[] threads = new Thread[crews];
        for (int c = 0; c < crews; c++) {
            final int from = DISTRICTS * c / crews;
            final int to = DISTRICTS * (c + 1) / crews;
            threads[c] = new Thread(() -> grid.runCrew(from, to), "crew-" + c);
            threads[c].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("intervals " + INTERVALS + " departures " + grid.departures.get());
    }
}
