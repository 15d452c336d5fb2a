import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Jobs that each need one of a few licences: THREADS SIZE JOBS HELD BUILT.
 *
 * HELD is what a job does while it has one: sleep or compute. BUILT is how the pool is made: queue or semaphore.
 */
public class Pool {
    record Licence(int number) {}

    interface Licences {
        Licence acquire() throws InterruptedException;

        void release(Licence licence) throws InterruptedException;
    }

    static class InQueue implements Licences {
        private final BlockingQueue<Licence> free;

        InQueue(int size) {
            free = new ArrayBlockingQueue<>(size);
            for (int n = 0; n < size; n++) {
                free.add(new Licence(n));
            }
        }

        public Licence acquire() throws InterruptedException {
            return free.take();
        }

        public void release(Licence licence) throws InterruptedException {
            free.put(licence);
        }
    }

    static class BehindSemaphore implements Licences {
        private final Semaphore left;
        private final ArrayDeque<Licence> free = new ArrayDeque<>();

        BehindSemaphore(int size) {
            left = new Semaphore(size);
            for (int n = 0; n < size; n++) {
                free.add(new Licence(n));
            }
        }

        public Licence acquire() throws InterruptedException {
            left.acquire();
            synchronized (free) {
                return free.pop();
            }
        }

        public void release(Licence licence) {
            synchronized (free) {
                free.push(licence);
            }
            left.release();
        }
    }

    static volatile long sink;

    static void compute(int micros) {
        long hash = 1;
        for (int step = 0; step < micros * 1500; step++) {
            hash = hash * 31 ^ step;
        }
        sink = hash;
    }

    static void convert(String held) throws InterruptedException {
        if (held.equals("compute")) {
            compute(4000);
        } else {
            Thread.sleep(5);
        }
    }

    public static void main(String[] words) throws InterruptedException {
        int threads = Integer.parseInt(words[0]), size = Integer.parseInt(words[1]), jobs = Integer.parseInt(words[2]);
        String held = words[3];
        Licences licences = words[4].equals("queue") ? new InQueue(size) : new BehindSemaphore(size);
        AtomicInteger next = new AtomicInteger();
        List<Thread> workers = new ArrayList<>();
        long begin = System.nanoTime();
        for (int n = 0; n < threads; n++) {
            Thread worker = new Thread(() -> {
                try {
                    while (next.getAndIncrement() < jobs) {
                        Licence licence = licences.acquire();
                        convert(held);
                        licences.release(licence);
                        compute(200);
                    }
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
            worker.start();
            workers.add(worker);
        }
        for (Thread worker : workers) {
            worker.join();
        }
        System.out.printf("%.1f jobs/s%n", jobs / ((System.nanoTime() - begin) * 1e-9));
    }
}
