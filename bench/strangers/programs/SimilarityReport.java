import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Compares the documents within each folder with each other by edit distance. */
public class SimilarityReport {

    static final int[] FOLDERS = {14, 20, 9, 26, 17, 12, 22, 31, 8, 19, 15, 11, 104};
    static final int LENGTH = 310;

    record Result(String folder, int pairs, int closest) {
    }

    static class Folder {
        private final String name;
        private final List<char[]> documents = new ArrayList<>();

        Folder(String name, int size, int seed) {
            this.name = name;
            int h = seed;
            for (int d = 0; d < size; d++) {
                char[] text = new char[LENGTH];
                for (int i = 0; i < LENGTH; i++) {
                    h = h * 1103515245 + 12345;
                    text[i] = (char) ('a' + (h >>> 16) % 20);
                }
                documents.add(text);
            }
        }

        Result compareAll() {
            int pairs = 0;
            int closest = Integer.MAX_VALUE;
            int[] row = new int[LENGTH + 1];
            for (int i = 0; i < documents.size(); i++) {
                for (int j = i + 1; j < documents.size(); j++) {
                    int distance = distance(documents.get(i), documents.get(j), row);
                    closest = Math.min(closest, distance);
                    pairs++;
                }
            }
            return new Result(name, pairs, closest);
        }
    }

    static int distance(char[] a, char[] b, int[] row) {
        for (int j = 0; j <= b.length; j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length; i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length; j++) {
                int above = row[j];
                int best = Math.min(above, row[j - 1]) + 1;
                int replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
                row[j] = Math.min(best, replace);
                diagonal = above;
            }
        }
        return row[b.length];
    }

    public static void main(String[] args) throws Exception {
        int workers = Integer.parseInt(args[0]);
        List<Folder> folders = new ArrayList<>();
        for (int f = 0; f < FOLDERS.length; f++) {
            folders.add(new Folder("folder" + f, FOLDERS[f], 1000 + f));
        }
        ExecutorService pool = Executors.newFixedThreadPool(workers);
        List<Future<Result>> results = new ArrayList<>();
        for (Folder folder : folders) {
            results.add(pool.submit(folder::compareAll));
        }
        int pairs = 0;
        Result best = null;
        for (Future<Result> f : results) {
            Result r = f.get();
            pairs += r.pairs();
            if (best == null || r.closest() < best.closest()) {
                best = r;
            }
        }
        pool.shutdown();
        System.out.println(pairs + " pairs, closest " + best.closest() + " in " + best.folder());
    }
}
