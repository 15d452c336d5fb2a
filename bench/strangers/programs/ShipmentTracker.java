import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

public class ShipmentTracker {
    private static final int SHIPMENTS = 8000;
    private static final int LEGS = 128;
    private static final int SCAN_ROUNDS = 32;
    private static final int ROUTE_ROUNDS = 200;

    record Shipment(int id, long[] legs) {
    }

    private static final Shipment LAST = new Shipment(-1, new long[0]);

    private final BlockingQueue<Shipment> inbound = new ArrayBlockingQueue<>(64);
    private int registered;
    private long ledger;

    private static long stir(long x) {
        x ^= x >>> 30;
        x *= 0xbf58476d1ce4e5b9L;
        x ^= x >>> 27;
        return x;
    }

    private static Shipment scan(int id) {
        long[] legs = new long[LEGS];
        long code = id + 1L;
        for (int round = 0; round < SCAN_ROUNDS; round++) {
            for (int leg = 0; leg < LEGS; leg++) {
                code = stir(code + leg);
                legs[leg] ^= code;
            }
        }
        return new Shipment(id, legs);
    }

    private void scanParcels(int first, int step) {
        try {
            for (int id = first; id < SHIPMENTS; id += step) {
                inbound.put(scan(id));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void register(Shipment shipment) {
        long entry = ledger + shipment.id();
        long[] legs = shipment.legs();
        for (int round = 0; round < ROUTE_ROUNDS; round++) {
            for (int leg = 0; leg < legs.length; leg++) {
                entry = stir(entry + legs[leg]);
            }
        }
        ledger = entry;
        registered++;
    }

    private void registerShipments() {
        try {
            while (true) {
                Shipment shipment = inbound.take();
                if (shipment == LAST) {
                    return;
                }
                register(shipment);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        final int scanners = args.length > 0 ? Math.max(1, Integer.parseInt(args[0])) : 1;
        final ShipmentTracker tracker = new ShipmentTracker();
        Thread registrar = new Thread(tracker::registerShipments, "registrar");
        registrar.start();
        Thread[] threads = new Thread[scanners];
        for (int s = 0; s < scanners; s++) {
            final int id = s;
            threads[s] = new Thread(() -> tracker.scanParcels(id, scanners), "scanner-" + s);
            threads[s].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        tracker.inbound.put(LAST);
        registrar.join();
        System.out.println("shipments " + tracker.registered + " ledger " + Long.toHexString(tracker.ledger));
    }
}
