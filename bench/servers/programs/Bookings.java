import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Bookings of a hotel: each request asks which rooms are free on a day.
 *
 *     java Bookings store PORT
 *     java Bookings guilty|clean PORT THREADS STORE
 *
 * The store is a database in a process of its own, at the port STORE. A query takes two milliseconds of a connection to it. The guilty
 * one has a single connection for all threads, the clean one has 32.
 */
public class Bookings {
    /** A connection to the store: a query takes time and hardly any processor. */
    static final class Connection {
        private final DataInputStream answers;
        private final DataOutputStream questions;

        Connection(int store) throws IOException {
            Socket socket = new Socket("127.0.0.1", store);
            socket.setTcpNoDelay(true);
            answers = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
            questions = new DataOutputStream(socket.getOutputStream());
        }

        int[] query(int day) throws IOException {
            questions.writeInt(day);
            int first = answers.readInt();
            int[] rooms = new int[12];
            for (int i = 0; i < rooms.length; i++) {
                rooms[i] = 100 + (first + i * 17) % 250;
            }
            return rooms;
        }
    }

    static final class Pool {
        private final BlockingQueue<Connection> free;

        Pool(int size, int store) throws IOException {
            free = new ArrayBlockingQueue<>(size);
            for (int i = 0; i < size; i++) {
                free.add(new Connection(store));
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

    Bookings(int connections, int store) throws IOException {
        pool = new Pool(connections, store);
    }

    String freeRooms(int day) throws InterruptedException, IOException {
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

    /** Answers each question after two milliseconds. */
    static void serveQuestions(Socket client) {
        try (client) {
            client.setTcpNoDelay(true);
            DataInputStream questions = new DataInputStream(client.getInputStream());
            DataOutputStream answers = new DataOutputStream(client.getOutputStream());
            while (true) {
                int day = questions.readInt();
                Thread.sleep(2);
                answers.writeInt(day * 31);
            }
        } catch (IOException | InterruptedException over) {
            // The client has gone.
        }
    }

    static void store(int port) throws IOException {
        try (ServerSocket socket = new ServerSocket(port, 64, InetAddress.getLoopbackAddress())) {
            while (true) {
                Socket client = socket.accept();
                new Thread(() -> serveQuestions(client)).start();
            }
        }
    }

    public static void main(String[] args) throws IOException {
        if (args.length == 2 && args[0].equals("store")) {
            store(Integer.parseInt(args[1]));
        }
        if (args.length != 4) {
            System.err.println("usage: Bookings store PORT, or Bookings guilty|clean PORT THREADS STORE");
            System.exit(2);
        }
        // Head and body are two writes: without it the second one waits for the acknowledgement of the first.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        Bookings bookings = new Bookings(args[0].equals("guilty") ? 1 : 32, Integer.parseInt(args[3]));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[1])), 64);
        server.createContext("/free", bookings::answer);
        server.setExecutor(Executors.newFixedThreadPool(Integer.parseInt(args[2])));
        server.start();
    }
}
