"""A crowd of waiting threads in Python: `crowd.py SUBJECT THREADS LENGTH_US SECONDS`.

SUBJECT is `punctual` or `time.sleep`. Prints waits, CPU time in ns and the sum of lateness, each at
most 1 ms, in ns.
"""

import random
import resource
import sys
import threading
import time

import punctual_time

subject, threads, length_ns, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) * 1_000, float(sys.argv[4])
sleep = punctual_time.sleep if subject == "punctual" else time.sleep
begin = threading.Barrier(threads + 1)
totals: list[tuple[int, int]] = []


def waits(seed: int) -> None:
    draw = random.Random(seed)
    made = late = 0
    begin.wait()
    now = time.perf_counter_ns()
    while now < end:
        length = length_ns // 2 + draw.randrange(length_ns)
        deadline = now + length
        sleep(length / 1e9)
        now = time.perf_counter_ns()
        late += min(max(now - deadline, 0), 1_000_000)
        made += 1
    totals.append((made, late))


started = [threading.Thread(target=waits, args=(seed,)) for seed in range(threads)]
for thread in started:
    thread.start()
before = resource.getrusage(resource.RUSAGE_SELF)
end = time.perf_counter_ns() + int(seconds * 1e9)
begin.wait()
for thread in started:
    thread.join()
after = resource.getrusage(resource.RUSAGE_SELF)
cpu = sum(getattr(after, part) - getattr(before, part) for part in ("ru_utime", "ru_stime"))
print(sum(made for made, _ in totals), int(cpu * 1e9), sum(late for _, late in totals))
