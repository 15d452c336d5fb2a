import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.FileHandler;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * A report for each request, by the JDK's own HTTP server. Each of its lines is logged by java.util.logging.
 *
 *     java -cp FOLDER ReportServer all|none PORT THREADS LOGFILE
 *
 * All threads log to one FileHandler. Its method publish is synchronized, and makes the XML of a line while it has the lock. With
 * "none" the logger's level is off, so that nothing comes to the handler.
 */
public class ReportServer {
    private static final Logger LOG = Logger.getLogger("report");
    private static final AtomicInteger ASKED = new AtomicInteger();

    /** A report of 12 lines; each is worth some ten thousand steps. */
    static String report(int number) {
        StringBuilder page = new StringBuilder();
        for (int line = 0; line < 12; line++) {
            long sum = number + line;
            for (int step = 0; step < 15_000; step++) {
                sum = sum * 6364136223846793005L + 1442695040888963407L;
            }
            LOG.info("report " + number + " line " + line + " sum " + sum);
            page.append(line).append(' ').append(sum).append('\n');
        }
        return page.toString();
    }

    static void answer(HttpExchange exchange) throws IOException {
        byte[] page = report(ASKED.incrementAndGet()).getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(200, page.length);
        try (OutputStream body = exchange.getResponseBody()) {
            body.write(page);
        }
    }

    public static void main(String[] args) throws IOException {
        // Head and body are two writes: without it the second one waits for the acknowledgement of the first.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        LOG.setUseParentHandlers(false);
        LOG.setLevel(args[0].equals("all") ? Level.INFO : Level.OFF);
        LOG.addHandler(new FileHandler(args[3]));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[1])), 64);
        server.createContext("/", ReportServer::answer);
        server.setExecutor(Executors.newFixedThreadPool(Integer.parseInt(args[2])));
        server.start();
    }
}
