import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Bookings of a hotel: each request asks which rooms are free on a day.
 *
 *     java Bookings guilty|clean PORT THREADS
 *
 * A query takes two milliseconds of a connection to the database. The guilty one has a single connection for all threads, the clean
 * one has 32.
 */
public class Bookings {
    /** A connection to a database elsewhere: a query takes time and no processor. */
    static final class Connection {
        private final int number;
        private int queries;

        Connection(int number) {
            this.number = number;
        }

        int[] query(int day) throws InterruptedException {
            Thread.sleep(2);
            queries++;
            int[] rooms = new int[12];
            for (int i = 0; i < rooms.length; i++) {
                rooms[i] = 100 + (day * 31 + i * 17) % 250;
            }
            return rooms;
        }
    }

    static final class Pool {
        private final BlockingQueue<Connection> free;

        Pool(int size) {
            free = new ArrayBlockingQueue<>(size);
            for (int i = 0; i < size; i++) {
                free.add(new Connection(i));
            }
        }

        Connection borrow() throws InterruptedException {
            return free.take(); // GUILTY
        }

        void giveBack(Connection connection) {
            free.add(connection);
        }
    }

    private final Pool pool;
    private final AtomicInteger asked = new AtomicInteger();

    Bookings(int connections) {
        pool = new Pool(connections);
    }

    String freeRooms(int day) throws InterruptedException {
        Connection connection = pool.borrow();
        int[] rooms;
        try {
            rooms = connection.query(day);
        } finally {
            pool.giveBack(connection);
        }
        StringBuilder page = new StringBuilder("day ").append(day).append(':');
        for (int room : rooms) {
            page.append(' ').append(room);
        }
        return page.append('\n').toString();
    }

    void answer(HttpExchange exchange) throws IOException {
        try {
            byte[] page = freeRooms(asked.incrementAndGet() % 365).getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", "text/plain");
            exchange.sendResponseHeaders(200, page.length);
            try (OutputStream body = exchange.getResponseBody()) {
                body.write(page);
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
            exchange.sendResponseHeaders(503, -1);
        }
    }

    public static void main(String[] args) throws IOException {
        if (args.length != 3) {
            System.err.println("usage: Bookings guilty|clean PORT THREADS");
            System.exit(2);
        }
        // Head and body are two writes: without it the second one waits for the acknowledgement of the first.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        Bookings bookings = new Bookings(args[0].equals("guilty") ? 1 : 32);
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[1])), 64);
        server.createContext("/free", bookings::answer);
        server.setExecutor(Executors.newFixedThreadPool(Integer.parseInt(args[2])));
        server.start();
    }
}
