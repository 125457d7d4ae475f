/* pthread_cancel does not end a wait: a thread that is cancelled already waits to its deadline
   with each strategy, and holds guards. */

#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include <punctual.h>

static const char *const strategies[] = {
    NULL,   "system",  "spin",         "yield-spin",  "precise",           "timer", "fixed-margin",
    "max-nap", "adaptive-frugal", "adaptive-balanced", "adaptive-exact"};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

static const char *strategy;

static int waits(void) {
  punctual_waiter_options options = PUNCTUAL_INIT(options);
  options.strategy = strategy;
  punctual_waiter *waiter = NULL;
  punctual_cancel *cancel = NULL;
  punctual_guard *guards[3] = {NULL};
  if (punctual_waiter_new(&options, &waiter) || punctual_cancel_new(&cancel)) return 0;
  /* Where the system has them; those of Linux read and open files. */
  punctual_guard_hold_timer_slack(50000, &guards[0]);
  punctual_guard_hold_wakeup_latency(20000, &guards[1]);
  punctual_guard_hold_thread_priority(PUNCTUAL_PRIORITY_NORMAL, &guards[2]);
  uint64_t deadline = punctual_now_ns() + 2000000;
  int failed = punctual_waiter_sleep_until_ns(waiter, deadline - 1000000, NULL, NULL) ||
               punctual_waiter_sleep_until_ns(waiter, deadline, cancel, NULL) ||
               punctual_now_ns() < deadline || punctual_sleep_ns(300000, NULL);
  for (int at = 2; at >= 0; at--) punctual_guard_free(guards[at]);
  punctual_cancel_free(cancel);
  punctual_waiter_free(waiter);
  return !failed;
}

static void *cancelled(void *done) {
  pthread_cancel(pthread_self());
  return waits() ? done : NULL;
}

int main(void) {
  for (int at = 0; at < STRATEGIES; at++) {
    pthread_t thread;
    void *done = NULL;
    strategy = strategies[at];
    if (pthread_create(&thread, NULL, cancelled, &strategy) != 0) return 2;
    pthread_join(thread, &done);
    if (done != &strategy) {
      fprintf(stderr, "%s: the wait was cut short\n", strategy != NULL ? strategy : "default");
      return 1;
    }
  }
  printf("%d strategies wait to the end in a cancelled thread\n", (int)STRATEGIES);
  return 0;
}
