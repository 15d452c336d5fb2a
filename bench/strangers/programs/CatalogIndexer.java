import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Builds the search index of a product catalogue.
 *
 * The descriptions are analysed in parallel; the term runs of the analysers
 * are then brought together into one sorted index with delta coded postings.
 *
 * usage: java CatalogIndexer THREADS
 */
public final class CatalogIndexer {

    private static final int PRODUCTS = 40_000;
    private static final int TERMS_PER_PRODUCT = 100;
    private static final int PRODUCTS_PER_RUN = 500;
    private static final int VOCABULARY = 6_000;

    /** The terms of a run of products, in document order. */
    private static final class TermRun {
        private String[] terms;
        private int[] products;
        private int size;

        TermRun(int capacity) {
            terms = new String[capacity];
            products = new int[capacity];
        }

        void add(String term, int product) {
            if (size == terms.length) {
                terms = Arrays.copyOf(terms, size * 2);
                products = Arrays.copyOf(products, size * 2);
            }
            terms[size] = term;
            products[size++] = product;
        }
    }

    private static final class Postings {
        private int[] products = new int[16];
        private int size;
        private int occurrences;

        void add(int product) {
            occurrences++;
            if (size > 0 && products[size - 1] == product) {
                return;
            }
            if (size == products.length) {
                products = Arrays.copyOf(products, size * 2);
            }
            products[size++] = product;
        }

        /** Delta codes the product numbers; returns the bytes needed. */
        int encode(byte[] out) {
            int at = 0;
            int previous = 0;
            for (int i = 0; i < size; i++) {
                int delta = products[i] - previous;
                previous = products[i];
                while (delta >= 0x80) {
                    out[at++] = (byte) (delta | 0x80);
                    delta >>>= 7;
                }
                out[at++] = (byte) delta;
            }
            return at;
        }
    }

    private final String[] vocabulary = new String[VOCABULARY];

    private CatalogIndexer() {
        String[] stems = {"steel", "oak", "cotton", "garden", "travel", "kitchen", "copper",
            "winter", "office", "light"};
        String[] heads = {"chair", "lamp", "kettle", "jacket", "shelf", "bottle"};
        int i = 0;
        for (int model = 0; i < VOCABULARY; model++) {
            for (String stem : stems) {
                for (String head : heads) {
                    if (i < VOCABULARY) {
                        vocabulary[i++] = stem + head + model;
                    }
                }
            }
        }
    }

    private static int hash(int x) {
        x ^= x >>> 16;
        x *= 0x7feb352d;
        x ^= x >>> 15;
        x *= 0x846ca68b;
        return x ^ (x >>> 16);
    }

    /** Analyses the description of one product. */
    private void analyse(int product, TermRun run) {
        int state = hash(product + 1);
        for (int t = 0; t < TERMS_PER_PRODUCT; t++) {
            state = state * 1664525 + 1013904223;
            int a = (state >>> 8) % VOCABULARY;
            int b = (hash(state) >>> 8) % VOCABULARY;
            int term = Math.min(a, b);
            if ((term & 15) == 0) {
                continue; // stop word
            }
            run.add(vocabulary[term], product);
        }
    }

    private TermRun analyseRun(int first, int end) {
        TermRun run = new TermRun((end - first) * TERMS_PER_PRODUCT);
        for (int p = first; p < end; p++) {
            analyse(p, run);
        }
        return run;
    }

    private List<TermRun> analyseAll(int threads) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Future<TermRun>> pending = new ArrayList<>();
            for (int p = 0; p < PRODUCTS; p += PRODUCTS_PER_RUN) {
                final int first = p;
                final int end = Math.min(PRODUCTS, p + PRODUCTS_PER_RUN);
                pending.add(pool.submit(() -> analyseRun(first, end)));
            }
            List<TermRun> runs = new ArrayList<>();
            for (Future<TermRun> f : pending) {
                runs.add(f.get());
            }
            return runs;
        } finally {
            pool.shutdown();
        }
    }

    private static TreeMap<String, Postings> assemble(List<TermRun> runs) {
        TreeMap<String, Postings> index = new TreeMap<>();
        for (TermRun run : runs) {
            for (int i = 0; i < run.size; i++) {
                Postings postings = index.get(run.terms[i]);
                if (postings == null) {
                    postings = new Postings();
                    index.put(run.terms[i], postings);
                }
                postings.add(run.products[i]);
            }
        }
        return index;
    }

    private static void report(TreeMap<String, Postings> index) {
        byte[] buffer = new byte[PRODUCTS * 4];
        long bytes = 0;
        long occurrences = 0;
        long digest = 17;
        for (Map.Entry<String, Postings> e : index.entrySet()) {
            int length = e.getValue().encode(buffer);
            bytes += length;
            occurrences += e.getValue().occurrences;
            digest = digest * 31 + e.getKey().hashCode();
            for (int i = 0; i < length; i++) {
                digest = digest * 131 + buffer[i];
            }
        }
        System.out.printf("terms %d occurrences %d bytes %d digest %016x%n",
                index.size(), occurrences, bytes, digest);
    }

    public static void main(String[] args) throws Exception {
        int threads = args.length > 0 ? Integer.parseInt(args[0]) : 1;
        CatalogIndexer indexer = new CatalogIndexer();
        report(assemble(indexer.analyseAll(threads)));
    }
}
