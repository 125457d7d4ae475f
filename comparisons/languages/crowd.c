// A crowd of waiting threads in C: `crowd SUBJECT THREADS LENGTH_US SECONDS`, where SUBJECT is `punctual`
// or `clock_nanosleep`. Prints waits, CPU time in ns and the sum of lateness, each at most 1 ms, in ns.
#include <errno.h>
#include <pthread.h>
#include <punctual.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct thread {
  pthread_t id;
  uint64_t random, waits, late;
};

static uint64_t length_ns, end_ns;
static int is_punctual;
static pthread_barrier_t begin;

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// Half to one and a half times the mean length, by xorshift.
static uint64_t drawn(struct thread *thread) {
  thread->random ^= thread->random << 13;
  thread->random ^= thread->random >> 7;
  thread->random ^= thread->random << 17;
  return length_ns / 2 + thread->random % length_ns;
}

static void *waits(void *argument) {
  struct thread *thread = argument;
  pthread_barrier_wait(&begin);
  for (uint64_t now = now_ns(); now < end_ns; thread->waits++) {
    uint64_t length = drawn(thread), deadline = now + length;
    if (is_punctual) {
      punctual_sleep_ns(length, NULL);
    } else {
      struct timespec left = {(time_t)(length / 1000000000), (long)(length % 1000000000)};
      while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) continue;
    }
    now = now_ns();
    uint64_t late = now > deadline ? now - deadline : 0;
    thread->late += late < 1000000 ? late : 1000000;
  }
  return NULL;
}

int main(int count, char **arguments) {
  if (count != 5) return fprintf(stderr, "crowd SUBJECT THREADS LENGTH_US SECONDS\n"), 2;
  is_punctual = strcmp(arguments[1], "punctual") == 0;
  unsigned threads = (unsigned)atoi(arguments[2]);
  length_ns = (uint64_t)atoi(arguments[3]) * 1000;
  struct thread *all = calloc(threads, sizeof *all);
  pthread_barrier_init(&begin, NULL, threads);
  end_ns = now_ns() + (uint64_t)(atof(arguments[4]) * 1e9);
  for (unsigned i = 0; i < threads; i++) {
    all[i].random = 88172645463325252u + i * 977;
    if (pthread_create(&all[i].id, NULL, waits, &all[i]) != 0) return 1;
  }
  uint64_t made = 0, late = 0;
  for (unsigned i = 0; i < threads; i++) {
    pthread_join(all[i].id, NULL);
    made += all[i].waits;
    late += all[i].late;
  }
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  uint64_t cpu = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000 +
                 (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
  printf("%llu %llu %llu\n", (unsigned long long)made, (unsigned long long)cpu, (unsigned long long)late);
  return 0;
}
