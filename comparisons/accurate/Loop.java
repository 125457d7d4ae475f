import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.locks.LockSupport;

/** Waits of one length by parkNanos, one after the other. Prints as loop.c does. */
class Loop {
    public static void main(String[] arguments) {
        long length = Long.parseLong(arguments[0]);
        int waits = Integer.parseInt(arguments[1]);
        long[] late = new long[waits];
        var system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long cpu = system.getProcessCpuTime(), begin = System.nanoTime();
        for (int i = 0; i < waits; i++) {
            long due = System.nanoTime() + length;
            LockSupport.parkNanos(length);
            late[i] = System.nanoTime() - due;
        }
        System.out.println((system.getProcessCpuTime() - cpu) + " " + (System.nanoTime() - begin));
        var lines = new StringBuilder();
        for (long ns : late) lines.append(ns).append('\n');
        System.out.print(lines);
    }
}
