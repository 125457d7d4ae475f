/* Makes and frees a million handles of each kind: handles [HOW_MANY]. For valgrind too. */

#include <stdio.h>
#include <stdlib.h>

#include <punctual.h>

static void unused(void *user, uint64_t key, uint64_t earliest) {
  (void)user, (void)key, (void)earliest;
}

int main(int count, char **arguments) {
  long many = count > 1 ? atol(arguments[1]) : 1000000;
  const punctual_period hz = {1000, 1};
  punctual_waiter_options options = PUNCTUAL_INIT(options);
  options.statistics = 1;
  options.strategy = "adaptive:late=50us/1%";
  for (long at = 0; at < many; at++) {
    punctual_waiter *waiter = NULL;
    punctual_cancel *cancel = NULL;
    punctual_ticker *ticker = NULL;
    punctual_frames *frames = NULL;
    punctual_queue *queue = NULL;
    punctual_guard *guard = NULL;
    int failed = punctual_waiter_new(&options, &waiter) || punctual_cancel_new(&cancel) ||
                 punctual_ticker_new(hz, NULL, &ticker) ||
                 punctual_frames_new_late(hz, 0, NULL, &frames) || punctual_queue_new(&queue) ||
                 punctual_queue_insert(queue, 1, 1, unused, NULL, NULL) ||
                 punctual_waiter_sleep_ns(waiter, 0, NULL) ||
                 punctual_ticker_tick(ticker, NULL, NULL);
    if (failed) return 1;
    /* Where the system has it. */
    punctual_guard_hold_timer_slack(50000, &guard);
    punctual_guard_free(guard);
    punctual_waiter_free(waiter);
    punctual_cancel_free(cancel);
    punctual_ticker_free(ticker);
    punctual_frames_free(frames);
    punctual_queue_free(queue);
  }
  printf("%ld of each kind\n", many);
  return 0;
}
