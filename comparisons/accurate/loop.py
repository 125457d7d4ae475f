"""Sleeps of one length, one after the other. Prints as loop.c does."""

import sys
import time

length, waits = int(sys.argv[1]), int(sys.argv[2])
late = [0] * waits
cpu, begin = time.process_time_ns(), time.monotonic_ns()
for i in range(waits):
    due = time.monotonic_ns() + length
    time.sleep(length / 1e9)
    late[i] = time.monotonic_ns() - due
print(time.process_time_ns() - cpu, time.monotonic_ns() - begin)
print("\n".join(map(str, late)))
