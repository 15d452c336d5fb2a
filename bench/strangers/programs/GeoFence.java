import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Matches vehicle positions against delivery zones and keeps statistics per
 * zone.
 *
 * usage: java GeoFence THREADS
 */
public final class GeoFence {

    private static final int POSITIONS = 8_000_000;
    private static final int BATCH = 20_000;
    private static final int ZONES_PER_SIDE = 16;
    private static final int ZONE_SIZE = 4096;
    private static final int CORNERS = 20;

    /** A delivery zone: a polygon inside one square of the map. */
    private static final class Zone {
        private final String guard = "zone";
        private final int id;
        private final int[] cornerX = new int[CORNERS];
        private final int[] cornerY = new int[CORNERS];

        private long inside;
        private long outside;
        private long lateness;
        private int latest;

        Zone(int id) {
            this.id = id;
            for (int c = 0; c < CORNERS; c++) {
                double angle = 2 * Math.PI * c / CORNERS;
                int radius = 1100 + (mix(id * 64 + c) >>> 8) % 900;
                cornerX[c] = (int) (ZONE_SIZE / 2 + radius * Math.cos(angle));
                cornerY[c] = (int) (ZONE_SIZE / 2 + radius * Math.sin(angle));
            }
        }

        private boolean contains(int x, int y) {
            boolean in = false;
            for (int i = 0, j = CORNERS - 1; i < CORNERS; j = i++) {
                if ((cornerY[i] > y) != (cornerY[j] > y)) {
                    long cross = (long) (cornerX[j] - cornerX[i]) * (y - cornerY[i]);
                    long side = (long) (x - cornerX[i]) * (cornerY[j] - cornerY[i]);
                    if ((cornerY[j] > cornerY[i]) == (side < cross)) {
                        in = !in;
                    }
                }
            }
            return in;
        }

        /** Takes note of a vehicle at the given place of the zone. */
        void visit(int x, int y, int minutesLate) {
            synchronized (guard) {
                if (contains(x, y)) {
                    inside++;
                    lateness += minutesLate;
                    if (minutesLate > latest) {
                        latest = minutesLate;
                    }
                } else {
                    outside++;
                }
            }
        }
    }

    private static int mix(int x) {
        x ^= x >>> 16;
        x *= 0x7feb352d;
        x ^= x >>> 15;
        x *= 0x846ca68b;
        return x ^ (x >>> 16);
    }

    private final Zone[] zones = new Zone[ZONES_PER_SIDE * ZONES_PER_SIDE];
    private final AtomicInteger nextBatch = new AtomicInteger();

    private GeoFence() {
        for (int z = 0; z < zones.length; z++) {
            zones[z] = new Zone(z);
        }
    }

    private void track(int position) {
        int h = mix(position + 1);
        int g = mix(h ^ 0x5bd1e995);
        int mapX = (h >>> 8) % (ZONES_PER_SIDE * ZONE_SIZE);
        int mapY = (g >>> 8) % (ZONES_PER_SIDE * ZONE_SIZE);
        int zone = (mapY / ZONE_SIZE) * ZONES_PER_SIDE + mapX / ZONE_SIZE;
        zones[zone].visit(mapX % ZONE_SIZE, mapY % ZONE_SIZE, (h ^ g) & 63);
    }

    private int trackBatches() {
        int tracked = 0;
        for (;;) {
            int first = nextBatch.getAndIncrement() * BATCH;
            if (first >= POSITIONS) {
                return tracked;
            }
            int end = Math.min(POSITIONS, first + BATCH);
            for (int p = first; p < end; p++) {
                track(p);
            }
            tracked += end - first;
        }
    }

    private void report(int tracked) {
        long inside = 0;
        long outside = 0;
        long lateness = 0;
        int busiest = 0;
        int latest = 0;
        for (Zone z : zones) {
            inside += z.inside;
            outside += z.outside;
            lateness += z.lateness;
            latest = Math.max(latest, z.latest);
            if (z.inside > zones[busiest].inside) {
                busiest = z.id;
            }
        }
        System.out.printf("tracked %d inside %d outside %d lateness %d latest %d busiest %d%n",
                tracked, inside, outside, lateness, latest, busiest);
    }

    public static void main(String[] args) throws Exception {
        int threads = args.length > 0 ? Integer.parseInt(args[0]) : 1;
        GeoFence fence = new GeoFence();
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        List<Future<Integer>> trackers = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
            trackers.add(pool.submit(fence::trackBatches));
        }
        int tracked = 0;
        for (Future<Integer> f : trackers) {
            tracked += f.get();
        }
        pool.shutdown();
        fence.report(tracked);
    }
}
