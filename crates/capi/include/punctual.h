/*
 * punctual for C: waits that end when you asked, and say what they cost.
 *
 * `include/punctual.h` is generated from this crate, and `include/punctual.hpp` is written for
 * C++ on top of it. Rules for all functions:
 *
 * - **Never early.** No wait ends before its deadline, a number of nanoseconds of the clock
 *   that `punctual_now_ns` reads. A deadline that has passed costs one reading of it.
 * - Each function returns a `punctual_result`; what else it returns, it writes through its
 *   last pointers, and only where that is `PUNCTUAL_RESULT_OK`. A pointer may be null only
 *   where that is said.
 * - A handle has a `_new` or a `_hold`, and a `_free`, which takes null too. A handle may move
 *   between threads. Two threads at once get `PUNCTUAL_RESULT_BUSY` from it; only a
 *   `punctual_cancel` may be used by any number.
 * - Nothing unwinds into the caller, and there is nothing to begin or to end. After `fork` the
 *   child goes on with all handles but those that another thread was using just then, which are
 *   `PUNCTUAL_RESULT_BUSY` there for ever.
 * - `pthread_cancel` ends no wait. On Linux no function is a cancellation point: a cancelled thread
 *   waits to its deadline and ends at its next cancellation point after that. To end a wait early
 *   there is `punctual_cancel`. Threads with asynchronous cancellation
 *   (`PTHREAD_CANCEL_ASYNCHRONOUS`), and cancelled threads on other systems, must not call the
 *   library.
 * - A struct with a `size` can grow without a new ABI: the caller sets `size` to the `sizeof` that
 *   it was compiled with (`PUNCTUAL_INIT`).
 */

#ifndef PUNCTUAL_H
#define PUNCTUAL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define PUNCTUAL_VERSION_MAJOR 0
#define PUNCTUAL_VERSION_MINOR 1
#define PUNCTUAL_VERSION_PATCH 0

/* A structure that knows its size, else of zeroes; C, and C++20. */
#define PUNCTUAL_INIT(structure) { .size = sizeof(structure) }


/**
 * Raised by each release after which programs must be compiled again.
 */
#define PUNCTUAL_ABI_VERSION 1

/**
 * How a call ended.
 */
typedef enum punctual_result {
  /**
   * As it should.
   */
  PUNCTUAL_RESULT_OK = 0,
  /**
   * A pointer that must not be null is.
   */
  PUNCTUAL_RESULT_NULL = 1,
  /**
   * A value is out of its range, a text is none that is known, or a `size` is too small.
   */
  PUNCTUAL_RESULT_RANGE = 2,
  /**
   * This system has nothing of the kind.
   */
  PUNCTUAL_RESULT_UNSUPPORTED = 3,
  /**
   * The system does not let this program.
   */
  PUNCTUAL_RESULT_PERMISSION = 4,
  /**
   * The wait was cancelled before its deadline.
   */
  PUNCTUAL_RESULT_CANCELLED = 5,
  /**
   * A signal was handled before the deadline.
   */
  PUNCTUAL_RESULT_INTERRUPTED = 6,
  /**
   * Another thread, or a callback's caller, uses the handle just now.
   */
  PUNCTUAL_RESULT_BUSY = 7,
  /**
   * The system refused; it gave no reason that has a name here.
   */
  PUNCTUAL_RESULT_SYSTEM = 8,
  /**
   * A fault of the library: please report it. The handle is of no use any more.
   */
  PUNCTUAL_RESULT_PANIC = 9,
} punctual_result;

/**
 * How a late tick treats missed slots.
 */
typedef enum punctual_missed {
  /**
   * They are missed: the next tick is for the first slot to come, in phase with those
   * before.
   */
  PUNCTUAL_MISSED_SKIP = 0,
  /**
   * They are owed: the next ticks come at once.
   */
  PUNCTUAL_MISSED_BURST = 1,
  /**
   * As `PUNCTUAL_MISSED_BURST`, but at most `burst` are owed; older ones are missed.
   */
  PUNCTUAL_MISSED_BURST_OF = 2,
  /**
   * A tick that is a period or more late starts anew: the next comes a period after it.
   */
  PUNCTUAL_MISSED_DELAY = 3,
} punctual_missed;

/**
 * A priority of a thread, from least to most.
 */
typedef enum punctual_priority {
  /**
   * Only when nothing else wants to run.
   */
  PUNCTUAL_PRIORITY_BACKGROUND = 0,
  /**
   * Less than ordinary.
   */
  PUNCTUAL_PRIORITY_UTILITY = 1,
  /**
   * The default of a thread.
   */
  PUNCTUAL_PRIORITY_NORMAL = 2,
  /**
   * The user waits for it.
   */
  PUNCTUAL_PRIORITY_INTERACTIVE = 3,
  /**
   * Before all others: such a thread must not spin.
   */
  PUNCTUAL_PRIORITY_REAL_TIME = 4,
} punctual_priority;

/**
 * Ends waits before their time: of any thread, from any thread, as often as it is reset.
 */
typedef struct punctual_cancel punctual_cancel;

/**
 * Paces frames.
 */
typedef struct punctual_frames punctual_frames;

/**
 * A change of how the system treats waiting, until it is freed. A wait of this library needs none.
 */
typedef struct punctual_guard punctual_guard;

/**
 * Timers of one loop.
 */
typedef struct punctual_queue punctual_queue;

/**
 * Ticks at an exact rate, in phase for ever; paces calls, one by one or in batches.
 *
 * A tick whose slot has passed comes at once, and does not move those after it.
 */
typedef struct punctual_ticker punctual_ticker;

/**
 * Waits with one strategy and what that has learned: one for each thread that waits.
 */
typedef struct punctual_waiter punctual_waiter;

/**
 * The time from one slot to the next, exactly: `cycles` of them in so many `seconds`.
 *
 * `{ 60, 1 }` is 60 Hz, `{ 60000, 1001 }` is 59.94 Hz as video has it, and
 * `{ 1000000000, n }` is every n nanoseconds. From 1 ns to 100 years.
 */
typedef struct punctual_period {
  /**
   * The number of slots.
   */
  uint64_t cycles;
  /**
   * In so many seconds.
   */
  uint64_t seconds;
} punctual_period;

/**
 * How a waiter waits. Zeroes except for `size` are the default.
 */
typedef struct punctual_waiter_options {
  /**
   * `sizeof(punctual_waiter_options)`, set by the caller.
   */
  size_t size;
  /**
   * A strategy as text, as `"adaptive:weight=100"`, `"adaptive-frugal:budget=5%"` or
   * `"fixed-margin:margin=200us"`; null for `adaptive-balanced`.
   */
  const char *strategy;
  /**
   * 1 keeps statistics.
   */
  uint32_t statistics;
  /**
   * 0.
   */
  uint32_t reserved;
} punctual_waiter_options;

/**
 * A frame that has begun.
 */
typedef struct punctual_frame {
  /**
   * `sizeof(punctual_frame)`, set by the caller.
   */
  size_t size;
  /**
   * Which slot it is for: 1 is the first, and missed ones count.
   */
  uint64_t number;
  /**
   * The slot by which it is to be done, or at which it ends: what to draw moving things for.
   */
  uint64_t target_ns;
  /**
   * When its work began.
   */
  uint64_t begun_ns;
  /**
   * How many slots before it have no frame.
   */
  uint64_t missed;
} punctual_frame;

/**
 * The counts of a frame.
 */
typedef struct punctual_frame_end {
  /**
   * `sizeof(punctual_frame_end)`, set by the caller.
   */
  size_t size;
  /**
   * How long its work took.
   */
  uint64_t work_ns;
  /**
   * The time since the end of the frame before; 0 for the first.
   */
  uint64_t frame_time_ns;
  /**
   * How much later than its slot it ended.
   */
  uint64_t lateness_ns;
  /**
   * By how much its waits ended later than they were to.
   */
  uint64_t oversleep_ns;
  /**
   * How many slots before it have no frame.
   */
  uint64_t missed;
} punctual_frame_end;

/**
 * The counts of all slots: `due` is the sum of `ticks`, `missed` and `owed`.
 */
typedef struct punctual_slot_counts {
  /**
   * `sizeof(punctual_slot_counts)`, set by the caller.
   */
  size_t size;
  /**
   * Slots that were due when the ticker was last looked at.
   */
  uint64_t due;
  /**
   * Slots that were ticked.
   */
  uint64_t ticks;
  /**
   * Slots that were given up.
   */
  uint64_t missed;
  /**
   * Slots that are still to be ticked.
   */
  uint64_t owed;
  /**
   * How often it began anew or was moved.
   */
  uint64_t shifts;
  /**
   * By how much that moved the next slot, in all; negative is earlier.
   */
  int64_t shift_ns;
} punctual_slot_counts;

/**
 * Statistics of many waits.
 */
typedef struct punctual_statistics {
  /**
   * `sizeof(punctual_statistics)`, set by the caller.
   */
  size_t size;
  /**
   * Waits that came to their end.
   */
  uint64_t waits;
  /**
   * Waits whose deadline had passed when they began.
   */
  uint64_t already_late;
  /**
   * Slots without a wait.
   */
  uint64_t missed;
  /**
   * How often the thread slept.
   */
  uint64_t naps;
  /**
   * The time in calls that sleep.
   */
  uint64_t slept_ns;
  /**
   * The time spent spinning.
   */
  uint64_t spun_ns;
  /**
   * Waits that would have spun more, had their budget let them.
   */
  uint64_t budget_hits;
  /**
   * The lateness, in the mean.
   */
  uint64_t mean_ns;
  /**
   * Half of them were no later; up to an eighth too high, as the next three. 0 without waits.
   */
  uint64_t p50_ns;
  /**
   * 90 % were no later.
   */
  uint64_t p90_ns;
  /**
   * 99 % were no later.
   */
  uint64_t p99_ns;
  /**
   * 99.9 % were no later.
   */
  uint64_t p999_ns;
  /**
   * The latest.
   */
  uint64_t max_ns;
} punctual_statistics;

/**
 * Called when a timer is due, with the pointer and key of the timer and the earliest instant of
 * its window. It may insert and cancel timers of the same queue. It must not throw.
 */
typedef void (*punctual_callback)(void *user, uint64_t key, uint64_t earliest_ns);

/**
 * How often a queue was woken.
 */
typedef struct punctual_wakeup_counts {
  /**
   * `sizeof(punctual_wakeup_counts)`, set by the caller.
   */
  size_t size;
  /**
   * Timers that wait.
   */
  uint64_t waiting;
  /**
   * Timers that were served.
   */
  uint64_t served;
  /**
   * Wake-ups for the sake of this queue.
   */
  uint64_t wakes;
  /**
   * The fewest that could have served the same timers, each in its window.
   */
  uint64_t fewest;
} punctual_wakeup_counts;

/**
 * How a ticker ticks. Zeroes except for `size` are the default.
 */
typedef struct punctual_ticker_options {
  /**
   * `sizeof(punctual_ticker_options)`, set by the caller.
   */
  size_t size;
  /**
   * How it waits; null for the default.
   */
  const struct punctual_waiter_options *waiter;
  /**
   * When its first slot is due, on the clock of `punctual_now_ns`; 0 for now.
   */
  uint64_t start_ns;
  /**
   * How many are owed at most with `PUNCTUAL_MISSED_BURST_OF`.
   */
  uint64_t burst;
  /**
   * If not 0: the gaps are random, on average a period, as the requests of many users
   * (Poisson). The same seed has the same gaps.
   */
  uint64_t poisson_seed;
  /**
   * A `punctual_missed`.
   */
  uint32_t missed;
  /**
   * 0.
   */
  uint32_t reserved;
} punctual_ticker_options;

/**
 * A tick: one slot that was waited for.
 */
typedef struct punctual_tick {
  /**
   * `sizeof(punctual_tick)`, set by the caller.
   */
  size_t size;
  /**
   * Which slot it is: missed ones count too.
   */
  uint64_t number;
  /**
   * When it was due.
   */
  uint64_t scheduled_ns;
  /**
   * When it came: never before.
   */
  uint64_t actual_ns;
  /**
   * How many slots were missed since the tick before, and because of this one.
   */
  uint64_t missed;
  /**
   * The time in calls that sleep.
   */
  uint64_t slept_ns;
  /**
   * The time spent spinning.
   */
  uint64_t spun_ns;
  /**
   * How often the thread slept.
   */
  uint32_t naps;
  /**
   * 1 if it would have spun more, had its budget let it.
   */
  uint32_t hit_budget;
} punctual_tick;

/**
 * The outcome of one wait.
 */
typedef struct punctual_outcome {
  /**
   * `sizeof(punctual_outcome)`, set by the caller.
   */
  size_t size;
  /**
   * How long after its deadline it ended.
   */
  uint64_t lateness_ns;
  /**
   * The time in calls that sleep.
   */
  uint64_t slept_ns;
  /**
   * The time spent spinning, which is CPU time.
   */
  uint64_t spun_ns;
  /**
   * How often the thread slept.
   */
  uint32_t naps;
  /**
   * 1 if it would have spun more, had its budget let it.
   */
  uint32_t hit_budget;
} punctual_outcome;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The `PUNCTUAL_ABI_VERSION` of the library in use, to compare with that of the header.
 *
 * Any thread, any time.
 */
uint32_t punctual_abi_version(void);

/**
 * The version of the library in use, as `"0.1.0"`; never freed.
 *
 * Any thread, any time.
 */
const char *punctual_version(void);

/**
 * The current time in nanoseconds: `CLOCK_MONOTONIC` on Linux and other Unix systems,
 * `mach_absolute_time` on macOS, `QueryPerformanceCounter` on Windows.
 *
 * Any thread, any time, signal handlers too.
 */
uint64_t punctual_now_ns(void);

/**
 * Paces frames that begin at once and end at their slot. `options` may be null.
 *
 * `PUNCTUAL_RESULT_RANGE` for a period or an option that is none. Any thread.
 */
enum punctual_result punctual_frames_new_at_end(struct punctual_period period,
                                                const struct punctual_waiter_options *options,
                                                struct punctual_frames **frames_out);

/**
 * Paces frames that begin as late as is safe to be done by their slot: what is shown is as new as
 * can be. `safety_ns` before what the work is predicted to take; 0 for 1.65 ms. `options` may be
 * null.
 *
 * `PUNCTUAL_RESULT_RANGE` for a period or an option that is none. Any thread.
 */
enum punctual_result punctual_frames_new_late(struct punctual_period period,
                                              uint64_t safety_ns,
                                              const struct punctual_waiter_options *options,
                                              struct punctual_frames **frames_out);

/**
 * Frees it; null is ignored. Any thread, once it is no longer in use.
 */
void punctual_frames_free(struct punctual_frames *frames);

/**
 * Begins a frame: at once, or as late as is safe. `cancel` may be null, and `frame`.
 *
 * Cancelled, no frame has begun. One thread at a time.
 */
enum punctual_result punctual_frames_begin(struct punctual_frames *frames,
                                           const struct punctual_cancel *cancel,
                                           struct punctual_frame *frame);

/**
 * Ends the frame: at once, or at its slot. `cancel` may be null, and `end`.
 *
 * Cancelled, its work has ended, and it has not. One thread at a time.
 */
enum punctual_result punctual_frames_end(struct punctual_frames *frames,
                                         const struct punctual_cancel *cancel,
                                         struct punctual_frame_end *end);

/**
 * Changes the rate, as `punctual_ticker_set_period`.
 *
 * One thread at a time.
 */
enum punctual_result punctual_frames_set_period(struct punctual_frames *frames,
                                                struct punctual_period period);

/**
 * Moves all slots to come, as `punctual_ticker_nudge_ns`: to follow the refreshes of a display.
 *
 * One thread at a time.
 */
enum punctual_result punctual_frames_nudge_ns(struct punctual_frames *frames, int64_t by_ns);

/**
 * Begins anew: the next slot is at `at_ns`, for a frame that has time enough before it.
 *
 * One thread at a time.
 */
enum punctual_result punctual_frames_reset_at_ns(struct punctual_frames *frames, uint64_t at_ns);

/**
 * The counts of all slots; a tick is a frame that has begun, plus one at the start.
 *
 * One thread at a time.
 */
enum punctual_result punctual_frames_counts(const struct punctual_frames *frames,
                                            struct punctual_slot_counts *counts);

/**
 * Statistics of its waits; zeroes unless its options keep statistics.
 *
 * One thread at a time.
 */
enum punctual_result punctual_frames_statistics(const struct punctual_frames *frames,
                                                struct punctual_statistics *statistics);

/**
 * Asks Windows for this interval between its clock interrupts, or `on_battery_ns` while it runs
 * on its battery; 0 for the same.
 *
 * `PUNCTUAL_RESULT_UNSUPPORTED` but on Windows, `PUNCTUAL_RESULT_RANGE` for an interval that this
 * computer has not. Any thread.
 */
enum punctual_result punctual_guard_hold_timer_resolution(uint64_t interval_ns,
                                                          uint64_t on_battery_ns,
                                                          struct punctual_guard **guard_out);

/**
 * Makes Windows 11 honour the timer resolution also while this process is neither visible nor
 * audible.
 *
 * `PUNCTUAL_RESULT_UNSUPPORTED` before Windows 11 and elsewhere. Any thread.
 */
enum punctual_result punctual_guard_hold_honoured_requests(struct punctual_guard **guard_out);

/**
 * Sets how much later than asked Linux may end sleeps of this thread, and of those that it starts
 * meanwhile. Free it in the same thread; another leaves the slack as it is.
 *
 * `PUNCTUAL_RESULT_UNSUPPORTED` but on Linux, `PUNCTUAL_RESULT_RANGE` for 0 and for more
 * than Linux gives back, `INT64_MAX` (292 years), on 32-bit processors `INT32_MAX`. After an error
 * the slack is what it was.
 */
enum punctual_result punctual_guard_hold_timer_slack(uint64_t slack_ns,
                                                     struct punctual_guard **guard_out);

/**
 * Keeps the CPUs of this Linux computer out of idle states that take longer than that to leave.
 *
 * `PUNCTUAL_RESULT_UNSUPPORTED` except on Linux, `PUNCTUAL_RESULT_PERMISSION` usually except for
 * root, `PUNCTUAL_RESULT_RANGE` above half an hour. Any thread.
 */
enum punctual_result punctual_guard_hold_wakeup_latency(uint64_t limit_ns,
                                                        struct punctual_guard **guard_out);

/**
 * Sets a `punctual_priority` for this thread. Free it in the same thread; another leaves it as it
 * is.
 *
 * `PUNCTUAL_RESULT_PERMISSION` on Linux without a limit that allows it,
 * `PUNCTUAL_RESULT_UNSUPPORTED` where the system has no such thing.
 */
enum punctual_result punctual_guard_hold_thread_priority(uint32_t priority,
                                                         struct punctual_guard **guard_out);

/**
 * The granted value: of a timer resolution the interval in force now, of a timer slack that
 * slack.
 *
 * `PUNCTUAL_RESULT_UNSUPPORTED` for the others, which are not told. Any thread.
 */
enum punctual_result punctual_guard_granted_ns(const struct punctual_guard *guard,
                                               uint64_t *granted_ns);

/**
 * Ends it; null is let be. In the thread that it is of, or else any.
 */
void punctual_guard_free(struct punctual_guard *guard);

/**
 * Makes a queue without timers.
 *
 * Any thread.
 */
enum punctual_result punctual_queue_new(struct punctual_queue **queue_out);

/**
 * Frees a queue, whose timers are never called; null is ignored. Any thread, once it is no longer
 * in use or being advanced.
 */
void punctual_queue_free(struct punctual_queue *queue);

/**
 * Adds a timer that may be served from `earliest_ns` on, at most `tolerance_ns` later. Timers
 * whose windows overlap share a wake-up. The epoch of the numbers is the caller's choice. `key`
 * names the timer to cancel it; it may be null, and so may `user`.
 *
 * One thread at a time; callbacks of the queue too.
 */
enum punctual_result punctual_queue_insert(struct punctual_queue *queue,
                                           uint64_t earliest_ns,
                                           uint64_t tolerance_ns,
                                           punctual_callback callback,
                                           void *user,
                                           uint64_t *key);

/**
 * Takes a timer out before its time. `was_waiting` is 1 if it is not called any more, and 0 where it was
 * called or cancelled before.
 *
 * One thread at a time; callbacks of the queue too.
 */
enum punctual_result punctual_queue_cancel(struct punctual_queue *queue,
                                           uint64_t key,
                                           uint32_t *was_waiting);

/**
 * When the queue wants to be woken, possibly in the past; `UINT64_MAX` without timers.
 *
 * One thread at a time; callbacks of the queue too.
 */
enum punctual_result punctual_queue_next_wake(const struct punctual_queue *queue,
                                              uint64_t *wake_ns);

/**
 * Calls all timers whose window has opened by `now_ns`, in the order in which they opened; `served`
 * says how many, and may be null. A callback that inserts a timer for the past has that called
 * too, before this returns.
 *
 * One thread at a time.
 */
enum punctual_result punctual_queue_advance(struct punctual_queue *queue,
                                            uint64_t now_ns,
                                            uint64_t *served);

/**
 * How often the queue was woken so far, and how often it had to be.
 *
 * One thread at a time; callbacks of the queue too.
 */
enum punctual_result punctual_queue_counts(const struct punctual_queue *queue,
                                           struct punctual_wakeup_counts *counts);

/**
 * The meaning of a result in a few words of English; never freed.
 *
 * Any thread, any time.
 */
const char *punctual_result_text(int32_t result);

/**
 * The period of a rate, to the millionth of a hertz.
 *
 * `PUNCTUAL_RESULT_RANGE` for what is no number, below a millionth of a hertz, and above 1 GHz. Any
 * thread.
 */
enum punctual_result punctual_period_hz(double hz, struct punctual_period *period);

/**
 * Makes a ticker. `options` may be null.
 *
 * `PUNCTUAL_RESULT_RANGE` for a period or an option that is none. Any thread.
 */
enum punctual_result punctual_ticker_new(struct punctual_period period,
                                         const struct punctual_ticker_options *options,
                                         struct punctual_ticker **ticker_out);

/**
 * Frees a ticker; null is ignored. Any thread, once it is no longer in use.
 */
void punctual_ticker_free(struct punctual_ticker *ticker);

/**
 * Waits for the next slot; returns at once if it has passed. `cancel` may be null, and `tick`.
 *
 * `PUNCTUAL_RESULT_CANCELLED` also if it was cancelled before; the slot is still to be ticked then.
 * One thread at a time.
 */
enum punctual_result punctual_ticker_tick(struct punctual_ticker *ticker,
                                          const struct punctual_cancel *cancel,
                                          struct punctual_tick *tick);

/**
 * The next slot if it has passed, without waiting: `is_due` is 1 then, else 0. `tick` may be null,
 * and is written only if it is due.
 *
 * One thread at a time.
 */
enum punctual_result punctual_ticker_try_tick(struct punctual_ticker *ticker,
                                              uint32_t *is_due,
                                              struct punctual_tick *tick);

/**
 * Waits until `linger_ns` after the next slot is due, and takes all slots that are due then, from
 * one to `most`. That makes fewer waits where several calls can be made at once. `scheduled_ns`
 * has room for `most` instants, and gets those of the slots; `taken` gets their number. `cancel`
 * may be null.
 *
 * With every `punctual_missed` the slots that fell due during the linger are taken, or come with
 * the next batch where they are more than `most`. A call that comes after the linger still gets
 * the slots that were due by its end; the `punctual_missed` applies to later ones.
 *
 * `PUNCTUAL_RESULT_RANGE` for a `most` of 0. Cancelled, no slot is taken. One thread at a time.
 */
enum punctual_result punctual_ticker_next_batch(struct punctual_ticker *ticker,
                                                uint32_t most,
                                                uint64_t linger_ns,
                                                const struct punctual_cancel *cancel,
                                                uint64_t *scheduled_ns,
                                                uint32_t *taken);

/**
 * When the next slot is due, to wait for it with something else.
 *
 * One thread at a time.
 */
enum punctual_result punctual_ticker_next_ns(const struct punctual_ticker *ticker,
                                             uint64_t *next_ns);

/**
 * The period, in lowest terms: `{ 120, 2 }` is `{ 60, 1 }`.
 *
 * One thread at a time.
 */
enum punctual_result punctual_ticker_period(const struct punctual_ticker *ticker,
                                            struct punctual_period *period);

/**
 * Changes the period, in phase with the last slot that was due; slots that are owed but the last
 * are missed.
 *
 * `PUNCTUAL_RESULT_RANGE` for a period that is none. One thread at a time.
 */
enum punctual_result punctual_ticker_set_period(struct punctual_ticker *ticker,
                                                struct punctual_period period);

/**
 * Moves all slots to come, later if it is positive: to follow an outer clock, as of a display or
 * a sound card.
 *
 * One thread at a time.
 */
enum punctual_result punctual_ticker_nudge_ns(struct punctual_ticker *ticker, int64_t by_ns);

/**
 * Begins anew: the next slot is at `at_ns`.
 *
 * One thread at a time.
 */
enum punctual_result punctual_ticker_reset_at_ns(struct punctual_ticker *ticker, uint64_t at_ns);

/**
 * The counts of all slots so far.
 *
 * One thread at a time.
 */
enum punctual_result punctual_ticker_counts(const struct punctual_ticker *ticker,
                                            struct punctual_slot_counts *counts);

/**
 * Statistics of its waits; zeroes unless the options of its waiter keep statistics.
 *
 * One thread at a time.
 */
enum punctual_result punctual_ticker_statistics(const struct punctual_ticker *ticker,
                                                struct punctual_statistics *statistics);

/**
 * Waits for so long with what this thread has learned of its waits. `outcome` may be null.
 *
 * Any thread. On Linux also in a signal handler; where the library was loaded with `dlopen`, only
 * on a thread that has called this function before, outside of a handler. A length of 0 is enough.
 */
enum punctual_result punctual_sleep_ns(uint64_t length_ns, struct punctual_outcome *outcome);

/**
 * As `punctual_sleep_ns`, until a deadline on the clock of `punctual_now_ns`.
 *
 * Any thread; on Linux also in a signal handler, as `punctual_sleep_ns`.
 */
enum punctual_result punctual_sleep_until_ns(uint64_t deadline_ns,
                                             struct punctual_outcome *outcome);

/**
 * Makes a waiter. `options` may be null.
 *
 * `PUNCTUAL_RESULT_RANGE` for a strategy that is none, or a parameter of it,
 * `PUNCTUAL_RESULT_UNSUPPORTED` for a strategy with a call of the system of its own.
 * Any thread.
 */
enum punctual_result punctual_waiter_new(const struct punctual_waiter_options *options,
                                         struct punctual_waiter **waiter_out);

/**
 * The result that `punctual_waiter_new` would give for these options. `message` gets the reason,
 * in one line that ends with a zero, cut to `capacity` bytes: empty if there is no error.
 *
 * Any thread.
 */
enum punctual_result punctual_waiter_check(const struct punctual_waiter_options *options,
                                           size_t capacity,
                                           char *message);

/**
 * Frees a waiter; null is ignored. Any thread, once it is no longer in use.
 */
void punctual_waiter_free(struct punctual_waiter *waiter);

/**
 * Waits for so long from now. `outcome` may be null.
 *
 * One thread at a time.
 */
enum punctual_result punctual_waiter_sleep_ns(struct punctual_waiter *waiter,
                                              uint64_t length_ns,
                                              struct punctual_outcome *outcome);

/**
 * Waits until a deadline. `outcome` may be null, and `cancel`, with which another thread ends
 * the wait.
 *
 * `PUNCTUAL_RESULT_CANCELLED` also if it was cancelled before, even where the deadline has
 * passed: so a loop that is always late can be stopped. One thread at a time.
 */
enum punctual_result punctual_waiter_sleep_until_ns(struct punctual_waiter *waiter,
                                                    uint64_t deadline_ns,
                                                    const struct punctual_cancel *cancel,
                                                    struct punctual_outcome *outcome);

/**
 * Waits until a deadline, or until a signal was handled while the thread slept:
 * `PUNCTUAL_RESULT_INTERRUPTED`, possibly without any. Call it again to go on.
 *
 * A signal that comes while the thread spins does not end the wait. Windows has no signals; there
 * it is interrupted once a second. On FreeBSD no signal ends it. `outcome` may be null. One thread
 * at a time.
 */
enum punctual_result punctual_waiter_sleep_until_interruptible_ns(struct punctual_waiter *waiter,
                                                                  uint64_t deadline_ns,
                                                                  struct punctual_outcome *outcome);

/**
 * Sleeps until shortly before a deadline and never spins: `left_ns` is what is the caller's to
 * spin or to work through, 0 where the deadline has passed.
 *
 * One thread at a time.
 */
enum punctual_result punctual_waiter_coarse_until_ns(struct punctual_waiter *waiter,
                                                     uint64_t deadline_ns,
                                                     uint64_t *left_ns);

/**
 * Statistics of its waits; zeroes unless its options keep statistics.
 *
 * One thread at a time.
 */
enum punctual_result punctual_waiter_statistics(const struct punctual_waiter *waiter,
                                                struct punctual_statistics *statistics);

/**
 * Makes a handle that is not cancelled.
 *
 * Any thread.
 */
enum punctual_result punctual_cancel_new(struct punctual_cancel **cancel_out);

/**
 * Frees it; null is let be. Any thread, once no wait uses it.
 */
void punctual_cancel_free(struct punctual_cancel *cancel);

/**
 * Ends all waits that it is given to, and those that are begun with it until it is reset.
 *
 * Any thread, also several; on Linux and Windows also in a signal handler.
 */
enum punctual_result punctual_cancel_now(const struct punctual_cancel *cancel);

/**
 * Makes it as new.
 *
 * Any thread.
 */
enum punctual_result punctual_cancel_reset(const struct punctual_cancel *cancel);

/**
 * Whether it is cancelled: 1 or 0.
 *
 * Any thread.
 */
enum punctual_result punctual_cancel_is_cancelled(const struct punctual_cancel *cancel,
                                                  uint32_t *is_cancelled);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PUNCTUAL_H */
