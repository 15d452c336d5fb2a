import java.util.stream.IntStream;

/** Integrates the orbits of many test bodies round two fixed masses and counts the bound ones. */
public class OrbitSurvey {

    static final int BODIES = 8000;
    static final int STEPS = 8000;
    static final double DT = 0.001;

    /** A block of bodies, each coordinate in an array of its own. */
    static class Swarm {
        final double[] x;
        final double[] y;
        final double[] vx;
        final double[] vy;

        Swarm(int first, int count) {
            x = new double[count];
            y = new double[count];
            vx = new double[count];
            vy = new double[count];
            for (int i = 0; i < count; i++) {
                double angle = (first + i) * 2.399963;
                double radius = 1.5 + (first + i) % 97 * 0.02;
                x[i] = radius * Math.cos(angle);
                y[i] = radius * Math.sin(angle);
                double speed = Math.sqrt(1.0 / radius) * (0.8 + (first + i) % 13 * 0.05);
                vx[i] = -speed * Math.sin(angle);
                vy[i] = speed * Math.cos(angle);
            }
        }

        void run(int steps) {
            for (int i = 0; i < x.length; i++) {
                double px = x[i];
                double py = y[i];
                double ux = vx[i];
                double uy = vy[i];
                for (int s = 0; s < steps; s++) {
                    double dx1 = px - 0.3;
                    double dx2 = px + 0.45;
                    double r1 = dx1 * dx1 + py * py + 0.01;
                    double r2 = dx2 * dx2 + py * py + 0.01;
                    double k1 = 0.6 / (r1 * Math.sqrt(r1));
                    double k2 = 0.4 / (r2 * Math.sqrt(r2));
                    double ax = -k1 * dx1 - k2 * dx2;
                    double ay = -(k1 + k2) * py;
                    ux += ax * DT;
                    uy += ay * DT;
                    px += ux * DT;
                    py += uy * DT;
                }
                x[i] = px;
                y[i] = py;
                vx[i] = ux;
                vy[i] = uy;
            }
        }

        int bound() {
            return (int) IntStream.range(0, x.length).filter(i -> energy(i) < 0).count();
        }

        private double energy(int i) {
            double kinetic = (vx[i] * vx[i] + vy[i] * vy[i]) / 2;
            return kinetic - 0.6 / Math.hypot(x[i] - 0.3, y[i]) - 0.4 / Math.hypot(x[i] + 0.45, y[i]);
        }
    }

    static class Worker extends Thread {
        private final int first;
        private final int count;
        private int bound;

        Worker(int first, int count) {
            this.first = first;
            this.count = count;
        }

        @Override
        public void run() {
            Swarm swarm = new Swarm(first, count);
            swarm.run(STEPS);
            bound = swarm.bound();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int workers = Integer.parseInt(args[0]);
        Worker[] all = new Worker[workers];
        for (int w = 0; w < workers; w++) {
            int first = BODIES * w / workers;
            all[w] = new Worker(first, BODIES * (w + 1) / workers - first);
            all[w].start();
        }
        int bound = 0;
        for (Worker w : all) {
            w.join();
            bound += w.bound;
        }
        System.out.println(bound + " of " + BODIES + " bodies stay bound");
    }
}
