import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

public final class CustomerSync {
    private static final int CUSTOMERS = 540;

    /** Stand-in for the CRM database: one request line in, one reply line out. */
    static final class CrmServer {
        final ServerSocket listener;

        CrmServer() throws IOException {
            listener = new ServerSocket(0, 128, InetAddress.getLoopbackAddress());
            startDaemon("crm-accept", this::acceptLoop);
        }

        private void acceptLoop() {
            try {
                while (true) {
                    Socket peer = listener.accept();
                    peer.setTcpNoDelay(true);
                    startDaemon("crm-session", () -> serve(peer));
                }
            } catch (IOException e) {
                System.err.println("crm: " + e.getMessage());
            }
        }

        private void serve(Socket peer) {
            try (peer) {
                BufferedReader in = new BufferedReader(new InputStreamReader(peer.getInputStream()));
                OutputStream out = peer.getOutputStream();
                for (String line; (line = in.readLine()) != null; ) {
                    Thread.sleep(2);
                    out.write(("ok " + line.hashCode() + "\n").getBytes(StandardCharsets.US_ASCII));
                }
            } catch (IOException | InterruptedException e) {
                System.err.println("crm session: " + e.getMessage());
            }
        }

        private static void startDaemon(String name, Runnable body) {
            Thread thread = new Thread(body, name);
            thread.setDaemon(true);
            thread.start();
        }
    }

    static final class CrmConnection {
        private final BufferedReader in;
        private final OutputStream out;

        CrmConnection(int port) throws IOException {
            Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
            socket.setTcpNoDelay(true);
            in = new BufferedReader(new InputStreamReader(socket.getInputStream()));
            out = socket.getOutputStream();
        }

        String query(String statement) throws IOException {
            out.write((statement + "\n").getBytes(StandardCharsets.US_ASCII));
            return in.readLine();
        }
    }

    static final class ConnectionPool {
        private final Semaphore available;
        private final ArrayDeque<CrmConnection> idle = new ArrayDeque<>();

        ConnectionPool(int port, int size) throws IOException {
            available = new Semaphore(size);
            for (int i = 0; i < size; i++) {
                idle.push(new CrmConnection(port));
            }
        }

        CrmConnection borrow() throws InterruptedException {
            available.acquire();
            synchronized (idle) {
                return idle.pop();
            }
        }

        void release(CrmConnection connection) {
            synchronized (idle) {
                idle.push(connection);
            }
            available.release();
        }
    }

    private final ConnectionPool pool;
    private final AtomicInteger nextCustomer = new AtomicInteger();
    private final AtomicLong checksum = new AtomicLong();

    CustomerSync(ConnectionPool pool) {
        this.pool = pool;
    }

    private void syncLoop() {
        try {
            for (int id; (id = nextCustomer.getAndIncrement()) < CUSTOMERS; ) {
                syncCustomer(id);
            }
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException("sync failed", e);
        }
    }

    private void syncCustomer(int id) throws IOException, InterruptedException {
        String profile;
        String stored;
        CrmConnection connection = pool.borrow();
        try {
            profile = connection.query("select profile " + id);
            stored = connection.query("update customer " + id + " " + profile);
        } finally {
            pool.release(connection);
        }
        checksum.addAndGet(fingerprint(profile + "|" + stored));
    }

    private static long fingerprint(String text) {
        long hash = 0xcbf29ce484222325L;
        for (int round = 0; round < 400; round++) {
            for (int i = 0; i < text.length(); i++) {
                hash = (hash ^ text.charAt(i)) * 0x100000001b3L;
            }
        }
        return hash;
    }

    public static void main(String[] args) throws Exception {
        int workers = args.length > 0 ? Integer.parseInt(args[0]) : 2;
        int connections = args.length > 1 ? Integer.parseInt(args[1]) : 3;
        CustomerSync sync = new CustomerSync(new ConnectionPool(new CrmServer().listener.getLocalPort(), connections));

        long start = System.nanoTime();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < workers; i++) {
            Thread thread = new Thread(sync::syncLoop, "sync-" + i);
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        System.out.printf("synced %d customers, checksum %x%n", CUSTOMERS, sync.checksum.get());
        System.out.printf(Locale.ROOT, "%.1f customers/s%n", CUSTOMERS / seconds);
    }
}
