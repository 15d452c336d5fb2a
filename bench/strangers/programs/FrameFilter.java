import java.util.concurrent.atomic.AtomicInteger;

public class FrameFilter {
    static final int SIDE = 1024;
    static final int ROWS = 32;

    static int[] decode(int number) {
        int[] frame = new int[SIDE * SIDE];
        int bits = number * 747796405 + 1;
        int level = 128;
        for (int i = 0; i < frame.length; i++) {
            for (int k = 0; k < 12; k++) {
                bits = (bits ^ level) * 1664525 + 1013904223;
            }
            level = (level + (bits >>> 28) - 7) & 255;
            frame[i] = level;
        }
        return frame;
    }

    static long smoothRow(int[] src, int[] dst, int y) {
        long sum = 0;
        for (int x = 2; x < SIDE - 2; x++) {
            int acc = 0;
            for (int dy = -2; dy <= 2; dy++) {
                int base = (y + dy) * SIDE + x;
                acc += src[base - 2] + 4 * src[base - 1] + 6 * src[base] + 4 * src[base + 1] + src[base + 2];
            }
            dst[y * SIDE + x] = acc / 80;
            sum += acc;
        }
        return sum;
    }

    static long smoothFrames(int[][] in, int[][] out, AtomicInteger next) {
        long sum = 0;
        int perFrame = SIDE / ROWS;
        int tasks = in.length * perFrame;
        for (;;) {
            int task = next.getAndIncrement();
            if (task >= tasks) {
                return sum;
            }
            int f = task / perFrame;
            int top = task % perFrame * ROWS;
            for (int y = Math.max(2, top); y < Math.min(top + ROWS, SIDE - 2); y++) {
                sum += smoothRow(in[f], out[f], y);
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int threads = args.length > 0 ? Math.max(1, Integer.parseInt(args[0])) : 1;
        int frames = args.length > 1 ? Integer.parseInt(args[1]) : 26;
        int[][] in = new int[frames][];
        for (int f = 0; f < frames; f++) {
            in[f] = decode(f);
        }
        int[][] out = new int[frames][SIDE * SIDE];
        AtomicInteger next = new AtomicInteger();
        long[] sums = new long[threads];
        Thread[] pool = new Thread[threads];
        for (int t = 0; t < threads; t++) {
            final int slot = t;
            pool[t] = new Thread(() -> {
                sums[slot] = smoothFrames(in, out, next);
            }, "filter-" + t);
            pool[t].start();
        }
        long sum = 0;
        for (int t = 0; t < threads; t++) {
            pool[t].join();
            sum += sums[t];
        }
        System.out.println("frames " + frames + " sum " + sum);
    }
}
