/* Runs bindings/conformance.txt through the C interface: conformance FILE */

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <punctual.h>

#define MOST 16
#define LONG 4096

/* What programs are compiled against: a change of it is a new PUNCTUAL_ABI_VERSION. */
#if SIZE_MAX == UINT64_MAX
_Static_assert(sizeof(punctual_outcome) == 40, "ABI");
_Static_assert(sizeof(punctual_waiter_options) == 24, "ABI");
_Static_assert(sizeof(punctual_statistics) == 112, "ABI");
_Static_assert(sizeof(punctual_period) == 16, "ABI");
_Static_assert(sizeof(punctual_ticker_options) == 48, "ABI");
_Static_assert(sizeof(punctual_tick) == 64, "ABI");
_Static_assert(sizeof(punctual_slot_counts) == 56, "ABI");
_Static_assert(sizeof(punctual_frame) == 40, "ABI");
_Static_assert(sizeof(punctual_frame_end) == 48, "ABI");
_Static_assert(sizeof(punctual_wakeup_counts) == 40, "ABI");
_Static_assert(offsetof(punctual_tick, naps) == 56, "ABI");
_Static_assert(offsetof(punctual_outcome, naps) == 32, "ABI");
#endif

static char said[LONG];

static const char *as_word(punctual_result result) {
  switch (result) {
    case PUNCTUAL_RESULT_OK: return "ok";
    case PUNCTUAL_RESULT_NULL: return "null";
    case PUNCTUAL_RESULT_RANGE: return "range";
    case PUNCTUAL_RESULT_UNSUPPORTED: return "unsupported";
    case PUNCTUAL_RESULT_CANCELLED: return "cancelled";
    default: return punctual_result_text(result);
  }
}

static void check(int holds, const char *what) {
  if (!holds) {
    fprintf(stderr, "not so: %s\n", what);
    exit(1);
  }
}

static punctual_waiter *waiter(void) {
  punctual_waiter *made = NULL;
  check(punctual_waiter_new(NULL, &made) == PUNCTUAL_RESULT_OK, "a waiter");
  return made;
}

/* Each kind of wait for this deadline: none early, none late by less than it is past. */
static const char *sleeps_until(uint64_t from, int64_t after) {
  uint64_t deadline = after < 0 && (uint64_t)-after > from ? 0 : from + (uint64_t)after;
  uint64_t past = from > deadline ? from - deadline : 0;
  punctual_waiter *own = waiter();
  for (int kind = 0; kind < 4; kind++) {
    punctual_outcome outcome = PUNCTUAL_INIT(outcome);
    punctual_result result;
    switch (kind) {
      case 0: result = punctual_sleep_until_ns(deadline, &outcome); break;
      case 1: result = punctual_waiter_sleep_until_ns(own, deadline, NULL, &outcome); break;
      case 2:
        do result = punctual_waiter_sleep_until_interruptible_ns(own, deadline, &outcome);
        while (result == PUNCTUAL_RESULT_INTERRUPTED);
        break;
      default: {
        uint64_t left = 1;
        result = punctual_waiter_coarse_until_ns(own, deadline, &left);
        check(left == 0 || deadline > from, "what is past leaves nothing");
        result = punctual_sleep_until_ns(deadline, &outcome);
      }
    }
    if (result != PUNCTUAL_RESULT_OK) return as_word(result);
    check(punctual_now_ns() >= deadline, "never early");
    /* The library knows an instant to some tens of nanoseconds. */
    check(outcome.lateness_ns + 1000 >= past, "past deadlines are told as late");
  }
  punctual_waiter_free(own);
  return "ok";
}

static const char *sleeps(uint64_t length) {
  uint64_t from = punctual_now_ns();
  punctual_outcome outcome = PUNCTUAL_INIT(outcome);
  punctual_result result = punctual_sleep_ns(length, &outcome);
  uint64_t passed = punctual_now_ns() - from;
  check(passed >= length, "never early");
  check(passed >= outcome.slept_ns + outcome.spun_ns, "no more is slept and spun than passed");
  return as_word(result);
}

static const char *with_strategy(const char *text) {
  punctual_waiter_options options = PUNCTUAL_INIT(options);
  options.strategy = text;
  options.statistics = 1;
  char message[200];
  punctual_result checked = punctual_waiter_check(&options, sizeof message, message);
  punctual_waiter *made = NULL;
  punctual_result result = punctual_waiter_new(&options, &made);
  check(checked == result, "a check says what making it does");
  check((message[0] == 0) == (result == PUNCTUAL_RESULT_OK), "and why");
  if (result != PUNCTUAL_RESULT_OK) return as_word(result);
  result = punctual_waiter_sleep_ns(made, 100000, NULL);
  punctual_statistics seen = PUNCTUAL_INIT(seen);
  check(punctual_waiter_statistics(made, &seen) == PUNCTUAL_RESULT_OK, "statistics");
  check(seen.waits == 1 && seen.p50_ns <= seen.max_ns, "of one wait");
  punctual_waiter_free(made);
  return as_word(result);
}

static const char *with_rate(const char *text) {
  punctual_period period;
  punctual_result result = punctual_period_hz(strtod(text, NULL), &period);
  if (result != PUNCTUAL_RESULT_OK) return as_word(result);
  punctual_ticker *ticker = NULL;
  result = punctual_ticker_new(period, NULL, &ticker);
  punctual_tick tick = PUNCTUAL_INIT(tick);
  if (result == PUNCTUAL_RESULT_OK) result = punctual_ticker_tick(ticker, NULL, &tick);
  check(tick.actual_ns >= tick.scheduled_ns, "never early");
  punctual_ticker_free(ticker);
  return as_word(result);
}

static const char *missed(const char *behavior, double behind) {
  punctual_ticker_options options = PUNCTUAL_INIT(options);
  if (!strcmp(behavior, "burst")) options.missed = PUNCTUAL_MISSED_BURST;
  else if (!strncmp(behavior, "burst-of:", 9)) {
    options.missed = PUNCTUAL_MISSED_BURST_OF;
    options.burst = strtoull(behavior + 9, NULL, 10);
  } else if (!strcmp(behavior, "delay")) options.missed = PUNCTUAL_MISSED_DELAY;
  options.start_ns = punctual_now_ns() - (uint64_t)(behind * 1e7);
  punctual_ticker *ticker = NULL;
  check(punctual_ticker_new((punctual_period){100, 1}, &options, &ticker) == 0, "a ticker");
  punctual_tick tick = PUNCTUAL_INIT(tick);
  check(punctual_ticker_tick(ticker, NULL, &tick) == 0, "a tick");
  punctual_slot_counts counts = PUNCTUAL_INIT(counts);
  check(punctual_ticker_counts(ticker, &counts) == 0, "its counts");
  check(counts.due == counts.ticks + counts.missed + counts.owed, "counts that balance");
  punctual_ticker_free(ticker);
  sprintf(said, "%llu", (unsigned long long)tick.missed);
  return said;
}

static void *cancel_soon(void *cancel) {
  punctual_sleep_ns(2000000, NULL);
  punctual_cancel_now(cancel);
  return NULL;
}

static const char *cancelled(const char *when) {
  punctual_waiter *own = waiter();
  punctual_cancel *cancel = NULL;
  check(punctual_cancel_new(&cancel) == 0, "a handle to cancel with");
  uint64_t now = punctual_now_ns(), deadline = now + 3000000;
  pthread_t other;
  int is_started = !strcmp(when, "during") || !strcmp(when, "forever");
  if (!strcmp(when, "forever")) deadline = UINT64_MAX;
  else if (!strcmp(when, "during")) deadline = now + 3600000000000;
  else if (!strcmp(when, "past")) deadline = now - 1000000;
  if (is_started) check(pthread_create(&other, NULL, cancel_soon, cancel) == 0, "a thread");
  else check(punctual_cancel_now(cancel) == 0, "cancelled");
  if (!strcmp(when, "reset")) check(punctual_cancel_reset(cancel) == 0, "reset");
  punctual_outcome outcome = {sizeof outcome, 77, 0, 0, 0, 0};
  punctual_result result = punctual_waiter_sleep_until_ns(own, deadline, cancel, &outcome);
  check(result == PUNCTUAL_RESULT_OK || outcome.lateness_ns == 77, "written only on success");
  if (is_started) pthread_join(other, NULL);
  punctual_cancel_free(cancel);
  punctual_waiter_free(own);
  return as_word(result);
}

static void serve(void *user, uint64_t key, uint64_t earliest) {
  (void)user, (void)key;
  sprintf(said + strlen(said), said[0] ? " %llu" : "%llu", (unsigned long long)earliest);
}

static const char *queued(char **times, int count, int cancels, int wakes) {
  punctual_queue *queue = NULL;
  check(punctual_queue_new(&queue) == 0, "a queue");
  uint64_t first = 0;
  for (int at = 0; at < count; at++) {
    char *plus = times[at];
    uint64_t key, earliest = strtoull(plus, &plus, 10);
    uint64_t tolerance = *plus == '+' ? strtoull(plus + 1, NULL, 10) : 0;
    check(punctual_queue_insert(queue, earliest, tolerance, serve, NULL, &key) == 0, "insert");
    if (at == 0) first = key;
  }
  said[0] = 0;
  if (cancels) {
    uint32_t was = 0;
    check(punctual_queue_cancel(queue, first, &was) == 0 && was, "cancelled");
    check(punctual_queue_cancel(queue, first, &was) == 0 && !was, "once");
  }
  if (wakes) {
    uint64_t wake = 0;
    check(punctual_queue_next_wake(queue, &wake) == 0, "a wake");
    sprintf(said, wake == UINT64_MAX ? "never" : "%llu", (unsigned long long)wake);
  } else {
    uint64_t served = 0;
    check(punctual_queue_advance(queue, 100, &served) == 0, "advance");
    punctual_wakeup_counts counts = PUNCTUAL_INIT(counts);
    check(punctual_queue_counts(queue, &counts) == 0 && counts.served == served, "counts");
  }
  punctual_queue_free(queue);
  return said;
}

static void *sleep_with(void *own) {
  punctual_waiter *made = own ? own : waiter();
  check(punctual_waiter_sleep_ns(made, 1000000, NULL) == PUNCTUAL_RESULT_OK, "waits elsewhere");
  if (!own) punctual_waiter_free(made);
  return NULL;
}

static void *sleep_long(void *both) {
  void **given = both;
  while (punctual_waiter_sleep_until_ns(given[0], UINT64_MAX, given[1], NULL) ==
         PUNCTUAL_RESULT_BUSY) {
  }
  return NULL;
}

static const char *threads(const char *how) {
  pthread_t one, two;
  if (!strcmp(how, "two")) {
    pthread_create(&one, NULL, sleep_with, NULL);
    pthread_create(&two, NULL, sleep_with, NULL);
    pthread_join(one, NULL), pthread_join(two, NULL);
    return "ok";
  }
  punctual_waiter *own = waiter();
  check(punctual_waiter_sleep_ns(own, 1000000, NULL) == PUNCTUAL_RESULT_OK, "waits here");
  pthread_create(&one, NULL, sleep_with, own);
  pthread_join(one, NULL);
  /* While another waits with it, it says so. */
  punctual_cancel *cancel = NULL;
  punctual_cancel_new(&cancel);
  void *both[] = {own, cancel};
  pthread_create(&one, NULL, sleep_long, both);
  punctual_result result;
  do result = punctual_waiter_sleep_ns(own, 0, NULL);
  while (result == PUNCTUAL_RESULT_OK);
  check(result == PUNCTUAL_RESULT_BUSY, "busy");
  punctual_cancel_now(cancel);
  pthread_join(one, NULL);
  punctual_cancel_free(cancel);
  punctual_waiter_free(own);
  return "ok";
}

static const char *forked(void) {
#ifdef _WIN32
  return "ok";
#else
  punctual_waiter *own = waiter();
  check(punctual_waiter_sleep_ns(own, 1000000, NULL) == 0, "waits before");
  pid_t child = fork();
  if (child == 0) {
    int failed = punctual_waiter_sleep_ns(own, 1000000, NULL) || punctual_sleep_ns(1000, NULL);
    _exit(failed);
  }
  int status = 1;
  waitpid(child, &status, 0);
  punctual_waiter_free(own);
  return status == 0 ? "ok" : "the child failed";
#endif
}

/* Every pointer that must not be null is null, one at a time. */
static const char *nulls(void) {
  punctual_waiter *own = waiter();
  punctual_period hz = {100, 1};
  punctual_ticker *ticker = NULL;
  punctual_frames *frames = NULL;
  punctual_queue *queue = NULL;
  punctual_cancel *cancel = NULL;
  punctual_ticker_new(hz, NULL, &ticker);
  punctual_frames_new_at_end(hz, NULL, &frames);
  punctual_queue_new(&queue);
  punctual_cancel_new(&cancel);
  punctual_slot_counts slots = PUNCTUAL_INIT(slots);
  punctual_statistics seen = PUNCTUAL_INIT(seen);
  punctual_wakeup_counts counts = PUNCTUAL_INIT(counts);
  uint64_t number;
  uint32_t flag;
  char text[8];
  punctual_result results[] = {
      punctual_waiter_new(NULL, NULL),
      punctual_waiter_check(NULL, 8, NULL),
      punctual_waiter_sleep_ns(NULL, 0, NULL),
      punctual_waiter_sleep_until_ns(NULL, 0, NULL, NULL),
      punctual_waiter_sleep_until_interruptible_ns(NULL, 0, NULL),
      punctual_waiter_coarse_until_ns(NULL, 0, &number),
      punctual_waiter_coarse_until_ns(own, 0, NULL),
      punctual_waiter_statistics(NULL, &seen),
      punctual_waiter_statistics(own, NULL),
      punctual_cancel_new(NULL),
      punctual_cancel_now(NULL),
      punctual_cancel_reset(NULL),
      punctual_cancel_is_cancelled(NULL, &flag),
      punctual_cancel_is_cancelled(cancel, NULL),
      punctual_period_hz(60, NULL),
      punctual_ticker_new(hz, NULL, NULL),
      punctual_ticker_tick(NULL, NULL, NULL),
      punctual_ticker_try_tick(NULL, &flag, NULL),
      punctual_ticker_try_tick(ticker, NULL, NULL),
      punctual_ticker_next_batch(NULL, 1, 0, NULL, &number, &flag),
      punctual_ticker_next_batch(ticker, 1, 0, NULL, NULL, &flag),
      punctual_ticker_next_batch(ticker, 1, 0, NULL, &number, NULL),
      punctual_ticker_next_ns(NULL, &number),
      punctual_ticker_next_ns(ticker, NULL),
      punctual_ticker_period(NULL, &hz),
      punctual_ticker_period(ticker, NULL),
      punctual_ticker_set_period(NULL, hz),
      punctual_ticker_nudge_ns(NULL, 0),
      punctual_ticker_reset_at_ns(NULL, 0),
      punctual_ticker_counts(NULL, &slots),
      punctual_ticker_counts(ticker, NULL),
      punctual_ticker_statistics(NULL, &seen),
      punctual_ticker_statistics(ticker, NULL),
      punctual_frames_new_at_end(hz, NULL, NULL),
      punctual_frames_new_late(hz, 0, NULL, NULL),
      punctual_frames_begin(NULL, NULL, NULL),
      punctual_frames_end(NULL, NULL, NULL),
      punctual_frames_set_period(NULL, hz),
      punctual_frames_nudge_ns(NULL, 0),
      punctual_frames_reset_at_ns(NULL, 0),
      punctual_frames_counts(NULL, &slots),
      punctual_frames_counts(frames, NULL),
      punctual_frames_statistics(NULL, &seen),
      punctual_frames_statistics(frames, NULL),
      punctual_queue_new(NULL),
      punctual_queue_insert(NULL, 0, 0, serve, NULL, NULL),
      punctual_queue_insert(queue, 0, 0, NULL, NULL, NULL),
      punctual_queue_cancel(NULL, 0, &flag),
      punctual_queue_cancel(queue, 0, NULL),
      punctual_queue_next_wake(NULL, &number),
      punctual_queue_next_wake(queue, NULL),
      punctual_queue_advance(NULL, 0, NULL),
      punctual_queue_counts(NULL, &counts),
      punctual_queue_counts(queue, NULL),
      punctual_guard_hold_timer_resolution(1000000, 0, NULL),
      punctual_guard_hold_honoured_requests(NULL),
      punctual_guard_hold_timer_slack(1, NULL),
      punctual_guard_hold_wakeup_latency(1, NULL),
      punctual_guard_hold_thread_priority(PUNCTUAL_PRIORITY_NORMAL, NULL),
      punctual_guard_granted_ns(NULL, &number),
  };
  for (size_t at = 0; at < sizeof results / sizeof *results; at++) {
    if (results[at] == PUNCTUAL_RESULT_NULL) continue;
    sprintf(said, "%s from number %u", as_word(results[at]), (unsigned)at);
    return said;
  }
  /* Null is let be; a structure that is too small, and options of tomorrow, are refused. */
  punctual_waiter_free(NULL), punctual_cancel_free(NULL), punctual_ticker_free(NULL);
  punctual_frames_free(NULL), punctual_queue_free(NULL), punctual_guard_free(NULL);
  counts.size = 8;
  check(punctual_queue_counts(queue, &counts) == PUNCTUAL_RESULT_RANGE, "a size too small");
  punctual_waiter_options options = PUNCTUAL_INIT(options);
  options.reserved = 1;
  check(punctual_waiter_check(&options, 8, text) == PUNCTUAL_RESULT_RANGE, "reserved");
  check(strlen(text) == 7, "a message that is cut ends with a zero");
  punctual_waiter_free(own), punctual_ticker_free(ticker), punctual_frames_free(frames);
  punctual_queue_free(queue), punctual_cancel_free(cancel);
  return "null";
}

static int run(char *line) {
  char copy[LONG], *words[MOST] = {NULL};
  strcpy(copy, line);
  char *expected = strchr(line, '=');
  check(expected != NULL, "a case has what is expected");
  /* An argument may have one too. */
  for (char *next = expected; (next = strstr(next, " = ")); next += 3) expected = next + 1;
  if (expected[-1] != ' ') expected = strstr(line, "= ");
  *expected = 0;
  expected += 2;
  int count = 0;
  for (char *word = strtok(line, " "); word && count < MOST; word = strtok(NULL, " "))
    words[count++] = word;
  check(count > 0, "a case names its operation");
  const char *operation = words[0], *first = count > 1 ? words[1] : "", *got;
  char weight[64];
  if (!strcmp(operation, "sleep")) got = sleeps(strtoull(first, NULL, 10));
  else if (!strcmp(operation, "sleep-until"))
    got = sleeps_until(punctual_now_ns(), strtoll(first, NULL, 10));
  else if (!strcmp(operation, "strategy")) got = with_strategy(first);
  else if (!strcmp(operation, "weight"))
    sprintf(weight, "adaptive:weight=%.40s", first), got = with_strategy(weight);
  else if (!strcmp(operation, "rate")) got = with_rate(first);
  else if (!strcmp(operation, "missed")) got = missed(first, strtod(words[2], NULL));
  else if (!strcmp(operation, "cancel")) got = cancelled(first);
  else if (!strcmp(operation, "queue")) got = queued(words + 1, count - 1, 0, 0);
  else if (!strcmp(operation, "queue-cancel")) got = queued(words + 1, count - 1, 1, 0);
  else if (!strcmp(operation, "queue-wake")) got = queued(words + 1, count - 1, 0, 1);
  else if (!strcmp(operation, "threads")) got = threads(first);
  else if (!strcmp(operation, "fork")) got = forked();
  else if (!strcmp(operation, "null")) got = nulls();
  else got = "an operation that is not known";
  int holds = !strncmp(expected, ">=", 2)
                  ? strtoll(got, NULL, 10) >= strtoll(expected + 2, NULL, 10)
                  : !strcmp(got, expected);
  if (!holds) printf("%s\n  but it is: %s\n", copy, got);
  return holds;
}

int main(int count, char **arguments) {
  FILE *cases = count == 2 ? fopen(arguments[1], "r") : NULL;
  if (!cases) {
    fprintf(stderr, "conformance FILE\n");
    return 2;
  }
  check(punctual_abi_version() == PUNCTUAL_ABI_VERSION, "the library is that of the header");
  char line[LONG];
  int passed = 0, failed = 0;
  while (fgets(line, sizeof line, cases)) {
    line[strcspn(line, "\r\n")] = 0;
    if (!line[0] || line[0] == '#') continue;
    if (run(line)) passed++;
    else failed++;
  }
  fclose(cases);
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0 || passed == 0;
}
