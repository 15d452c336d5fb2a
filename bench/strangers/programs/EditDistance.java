import java.util.concurrent.atomic.AtomicInteger;

public class EditDistance {
    static final int CHUNK = 500;
    static byte[][] words;

    static void makeWords(int n) {
        words = new byte[n][];
        long x = 88172645463325252L;
        for (int i = 0; i < n; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
            byte[] w = new byte[48 + (int) ((x >>> 20) & 15)];
            for (int k = 0; k < w.length; k++) {
                x ^= x << 13;
                x ^= x >>> 7;
                x ^= x << 17;
                w[k] = (byte) ('a' + ((x >>> 30) & 7));
            }
            words[i] = w;
        }
    }

    static int distance(byte[] a, byte[] b, int[] prev, int[] cur) {
        for (int j = 0; j <= b.length; j++) {
            prev[j] = j;
        }
        for (int i = 1; i <= a.length; i++) {
            cur[0] = i;
            byte c = a[i - 1];
            for (int j = 1; j <= b.length; j++) {
                int best = prev[j - 1] + (c == b[j - 1] ? 0 : 1);
                best = Math.min(best, prev[j] + 1);
                cur[j] = Math.min(best, cur[j - 1] + 1);
            }
            int[] t = prev;
            prev = cur;
            cur = t;
        }
        return prev[b.length];
    }

    static long compareRange(int first, int last) {
        int[] prev = new int[80];
        int[] cur = new int[80];
        long sum = 0;
        int n = words.length;
        for (int p = first; p < last; p++) {
            byte[] a = words[p % n];
            byte[] b = words[(int) ((p * 2654435761L >>> 5) % n)];
            sum += distance(a, b, prev, cur);
        }
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        int threads = args.length > 0 ? Math.max(1, Integer.parseInt(args[0])) : 1;
        int pairs = args.length > 1 ? Integer.parseInt(args[1]) : 160000;
        makeWords(2000);
        AtomicInteger next = new AtomicInteger();
        long[] sums = new long[threads];
        Thread[] pool = new Thread[threads];
        for (int t = 0; t < threads; t++) {
            final int slot = t;
            pool[t] = new Thread(() -> {
                long sum = 0;
                for (;;) {
                    int first = next.getAndAdd(CHUNK);
                    if (first >= pairs) {
                        break;
                    }
                    sum += compareRange(first, Math.min(first + CHUNK, pairs));
                }
                sums[slot] = sum;
            }, "compare-" + t);
            pool[t].start();
        }
        long sum = 0;
        for (int t = 0; t < threads; t++) {
            pool[t].join();
            sum += sums[t];
        }
        System.out.println("pairs " + pairs + " sum " + sum);
    }
}
