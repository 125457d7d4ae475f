/*
 * punctual for C: waits that end on time and report their cost.
 *
 * `punctual.hpp` is the same for C++17. Rules for all functions:
 *
 * - **Never early.** No wait ends before its deadline. All deadlines and instants are
 *   nanoseconds on the clock that `punctual_now_ns` reads. A wait whose deadline has passed
 *   reads that clock once and returns.
 * - Most functions return a `punctual_result`. They write other results through their last
 *   pointers, and only if they return `PUNCTUAL_RESULT_OK`. A pointer may be null only
 *   where the function's description permits it.
 * - A function with `_new` or `_hold` in its name creates a handle; the matching `_free`
 *   function destroys it and ignores null. A handle may be used by one thread at a time: a
 *   second one gets `PUNCTUAL_RESULT_BUSY`. A `punctual_cancel` may be used by any
 *   number of threads at once.
 * - The library needs no initialization and no cleanup, and never throws. After `fork` the child
 *   process may use all handles, except those that another thread was using at that moment: they
 *   stay `PUNCTUAL_RESULT_BUSY` in the child.
 * - `pthread_cancel` ends no wait. On Linux no function is a cancellation point: a cancelled
 *   thread waits to its deadline and ends at its next cancellation point after that. Use a
 *   `punctual_cancel` to end a wait early. Threads with asynchronous cancellation
 *   (`PTHREAD_CANCEL_ASYNCHRONOUS`), and cancelled threads on other systems, must not call the
 *   library.
 * - A struct with a `size` member can grow in later versions without a new ABI. Set `size` to
 *   the `sizeof` of the struct, for instance with `PUNCTUAL_INIT`.
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
 * The version of the ABI. A release that requires programs to be compiled again raises it.
 */
#define PUNCTUAL_ABI_VERSION 1

/**
 * The result of a call.
 */
typedef enum punctual_result {
  /**
   * The call succeeded.
   */
  PUNCTUAL_RESULT_OK = 0,
  /**
   * A required pointer was null.
   */
  PUNCTUAL_RESULT_NULL = 1,
  /**
   * A value is out of range, a text is not recognized, or a `size` is too small.
   */
  PUNCTUAL_RESULT_RANGE = 2,
  /**
   * This system does not have the feature.
   */
  PUNCTUAL_RESULT_UNSUPPORTED = 3,
  /**
   * Permission denied.
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
   * Another thread is using the handle, or this is a callback of a call that is using it.
   */
  PUNCTUAL_RESULT_BUSY = 7,
  /**
   * The system refused for another reason.
   */
  PUNCTUAL_RESULT_SYSTEM = 8,
  /**
   * An internal error of the library: please report it. The handle must not be used again,
   * except to free it.
   */
  PUNCTUAL_RESULT_INTERNAL = 9,
} punctual_result;

/**
 * The treatment of slots that have passed when a tick comes late.
 */
typedef enum punctual_missed {
  /**
   * They are skipped and counted as missed. The next tick is for the next slot, in phase with
   * those before.
   */
  PUNCTUAL_MISSED_SKIP = 0,
  /**
   * They are owed: their ticks follow at once.
   */
  PUNCTUAL_MISSED_BURST = 1,
  /**
   * As `PUNCTUAL_MISSED_BURST`, but at most the `burst` youngest are owed; older ones are
   * missed.
   */
  PUNCTUAL_MISSED_BURST_OF = 2,
  /**
   * If a tick is late by a period or more, the schedule restarts: the next tick comes one period
   * after it.
   */
  PUNCTUAL_MISSED_DELAY = 3,
} punctual_missed;

/**
 * The priority of a thread, from lowest to highest.
 */
typedef enum punctual_priority {
  /**
   * Runs only when no other thread wants to.
   */
  PUNCTUAL_PRIORITY_BACKGROUND = 0,
  /**
   * Below the default.
   */
  PUNCTUAL_PRIORITY_UTILITY = 1,
  /**
   * The default of a thread.
   */
  PUNCTUAL_PRIORITY_NORMAL = 2,
  /**
   * For work that the user is waiting for.
   */
  PUNCTUAL_PRIORITY_INTERACTIVE = 3,
  /**
   * Runs before all other threads. Such a thread must not spin.
   */
  PUNCTUAL_PRIORITY_REAL_TIME = 4,
} punctual_priority;

/**
 * Ends waits early. Any thread may end the waits of any other thread. It can be reset and used
 * again.
 */
typedef struct punctual_cancel punctual_cancel;

/**
 * Paces the frames of a game or a display.
 */
typedef struct punctual_frames punctual_frames;

/**
 * A system setting that makes the waits of other code more accurate; it is in force until it is
 * freed. Waits of this library do not need it.
 */
typedef struct punctual_guard punctual_guard;

/**
 * The timers of one event loop.
 */
typedef struct punctual_queue punctual_queue;

/**
 * Ticks at an exact rate that never drifts, one slot at a time or in batches.
 *
 * A slot is the instant at which a tick is due. A tick whose slot has passed comes at once; later
 * slots do not move.
 */
typedef struct punctual_ticker punctual_ticker;

/**
 * Waits with one strategy, and keeps what it has learned about this system. Use one for each
 * waiting thread.
 */
typedef struct punctual_waiter punctual_waiter;

/**
 * The exact time from one slot to the next: `cycles` slots in `seconds` seconds.
 *
 * `{ 60, 1 }` is 60 Hz, `{ 60000, 1001 }` is the 59.94 Hz of video, and `{ 1000000000, n }` is
 * every n nanoseconds. From 1 ns to 100 years.
 */
typedef struct punctual_period {
  /**
   * The number of slots in `seconds` seconds.
   */
  uint64_t cycles;
  /**
   * The time that these slots take, in seconds.
   */
  uint64_t seconds;
} punctual_period;

/**
 * The options of a waiter. Zero in all members except `size` selects the defaults.
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
   * 1 to keep statistics, else 0.
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
   * The number of its slot: 1 is the first, and missed slots count.
   */
  uint64_t number;
  /**
   * The slot by which its work must be done, or at which it ends. Draw moving objects for this
   * instant.
   */
  uint64_t target_ns;
  /**
   * The instant at which its work began.
   */
  uint64_t begun_ns;
  /**
   * The number of slots since the frame before that have no frame.
   */
  uint64_t missed;
} punctual_frame;

/**
 * The measurements of a frame that has ended.
 */
typedef struct punctual_frame_end {
  /**
   * `sizeof(punctual_frame_end)`, set by the caller.
   */
  size_t size;
  /**
   * The duration of its work.
   */
  uint64_t work_ns;
  /**
   * The time since the end of the frame before; 0 for the first.
   */
  uint64_t frame_time_ns;
  /**
   * How long after its slot it ended; 0 if it was in time.
   */
  uint64_t lateness_ns;
  /**
   * How long after their deadlines its waits ended, in all.
   */
  uint64_t oversleep_ns;
  /**
   * The number of slots since the frame before that have no frame.
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
   * Slots that were due by the last call.
   */
  uint64_t due;
  /**
   * Slots that had a tick.
   */
  uint64_t ticks;
  /**
   * Slots that never get a tick.
   */
  uint64_t missed;
  /**
   * Slots that have passed and will still get a tick.
   */
  uint64_t owed;
  /**
   * The number of restarts and moves of the schedule.
   */
  uint64_t shifts;
  /**
   * By how much those moved the next slot, in all; negative is earlier.
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
   * Waits that reached their deadline.
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
   * The number of calls that sleep.
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
   * Waits whose budget limited their spinning.
   */
  uint64_t budget_hits;
  /**
   * The mean lateness.
   */
  uint64_t mean_ns;
  /**
   * The median lateness, at most an eighth too high, like the next three; 0 without waits.
   */
  uint64_t p50_ns;
  /**
   * The lateness that 90 % of the waits do not exceed.
   */
  uint64_t p90_ns;
  /**
   * The lateness that 99 % of the waits do not exceed.
   */
  uint64_t p99_ns;
  /**
   * The lateness that 99.9 % of the waits do not exceed.
   */
  uint64_t p999_ns;
  /**
   * The largest lateness.
   */
  uint64_t max_ns;
} punctual_statistics;

/**
 * The function that a timer calls when it is due. Its arguments are the `user` pointer and the key
 * of the timer and the earliest instant of its window. It may insert and cancel timers of the same
 * queue. It must not throw or call `longjmp`.
 */
typedef void (*punctual_callback)(void *user, uint64_t key, uint64_t earliest_ns);

/**
 * The number of wake-ups of a queue.
 */
typedef struct punctual_wakeup_counts {
  /**
   * `sizeof(punctual_wakeup_counts)`, set by the caller.
   */
  size_t size;
  /**
   * Timers that are waiting.
   */
  uint64_t waiting;
  /**
   * Timers that have been called.
   */
  uint64_t served;
  /**
   * Wake-ups that this queue asked for.
   */
  uint64_t wakes;
  /**
   * The fewest wake-ups that could have served the same timers, each within its window.
   */
  uint64_t fewest;
} punctual_wakeup_counts;

/**
 * The options of a ticker. Zero in all members except `size` selects the defaults.
 */
typedef struct punctual_ticker_options {
  /**
   * `sizeof(punctual_ticker_options)`, set by the caller.
   */
  size_t size;
  /**
   * The options of its waits; null for the defaults.
   */
  const struct punctual_waiter_options *waiter;
  /**
   * The instant of its first slot, on the clock of `punctual_now_ns`; 0 for now.
   */
  uint64_t start_ns;
  /**
   * The largest number of owed slots, with `PUNCTUAL_MISSED_BURST_OF`.
   */
  uint64_t burst;
  /**
   * If not 0, the gaps are random and on average one period long (Poisson), like the requests of
   * many users. The same seed gives the same gaps.
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
 * One tick.
 */
typedef struct punctual_tick {
  /**
   * `sizeof(punctual_tick)`, set by the caller.
   */
  size_t size;
  /**
   * The number of the slot: 0 is the first, and missed slots count.
   */
  uint64_t number;
  /**
   * The instant at which it was due.
   */
  uint64_t scheduled_ns;
  /**
   * The instant at which it came; never before `scheduled_ns`.
   */
  uint64_t actual_ns;
  /**
   * The number of slots that were missed since the tick before, including those that this tick
   * was too late for.
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
   * The number of calls that sleep.
   */
  uint32_t naps;
  /**
   * 1 if its budget limited its spinning, else 0.
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
   * How long after its deadline the wait ended.
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
   * The number of calls that sleep.
   */
  uint32_t naps;
  /**
   * 1 if its budget limited its spinning, else 0.
   */
  uint32_t hit_budget;
} punctual_outcome;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the `PUNCTUAL_ABI_VERSION` of the library in use. Compare it with that of the header.
 *
 * Any thread, at any time.
 */
uint32_t punctual_abi_version(void);

/**
 * Returns the version of the library in use, such as `"0.1.0"`. The text must not be freed.
 *
 * Any thread, at any time.
 */
const char *punctual_version(void);

/**
 * Returns the current time in nanoseconds: `CLOCK_MONOTONIC` on Linux and other Unix systems,
 * `mach_absolute_time` on macOS, `QueryPerformanceCounter` on Windows.
 *
 * Any thread, at any time, also in a signal handler.
 */
uint64_t punctual_now_ns(void);

/**
 * Creates a pacer whose frames begin at once and end at their slot. `options` may be null.
 *
 * `PUNCTUAL_RESULT_RANGE` for an invalid period or option. Any thread.
 */
enum punctual_result punctual_frames_new_at_end(struct punctual_period period,
                                                const struct punctual_waiter_options *options,
                                                struct punctual_frames **frames_out);

/**
 * Creates a pacer whose frames begin as late as is safe for their work to be done by their slot.
 * Frames are thus as fresh as possible. They begin `safety_ns` earlier than the predicted work
 * requires; 0 selects 1.65 ms. `options` may be null.
 *
 * `PUNCTUAL_RESULT_RANGE` for an invalid period or option. Any thread.
 */
enum punctual_result punctual_frames_new_late(struct punctual_period period,
                                              uint64_t safety_ns,
                                              const struct punctual_waiter_options *options,
                                              struct punctual_frames **frames_out);

/**
 * Frees the pacer; null is ignored. Any thread, once the pacer is no longer in use.
 */
void punctual_frames_free(struct punctual_frames *frames);

/**
 * Begins a frame: at once, or as late as is safe. `cancel` and `frame` may be null.
 *
 * If it is cancelled, no frame has begun. One thread at a time.
 */
enum punctual_result punctual_frames_begin(struct punctual_frames *frames,
                                           const struct punctual_cancel *cancel,
                                           struct punctual_frame *frame);

/**
 * Ends the frame: at once, or at its slot. `cancel` and `end` may be null.
 *
 * If it is cancelled, the work of the frame has ended, but not the frame. One thread at a time.
 */
enum punctual_result punctual_frames_end(struct punctual_frames *frames,
                                         const struct punctual_cancel *cancel,
                                         struct punctual_frame_end *end);

/**
 * Changes the rate, like `punctual_ticker_set_period`.
 *
 * One thread at a time.
 */
enum punctual_result punctual_frames_set_period(struct punctual_frames *frames,
                                                struct punctual_period period);

/**
 * Moves all future slots, like `punctual_ticker_nudge_ns`, to follow the refreshes of a display.
 *
 * One thread at a time.
 */
enum punctual_result punctual_frames_nudge_ns(struct punctual_frames *frames, int64_t by_ns);

/**
 * Restarts the schedule: the next slot is at `at_ns`, for a frame that has enough time before it.
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
 * Returns the statistics of its waits; all zero unless its options keep statistics.
 *
 * One thread at a time.
 */
enum punctual_result punctual_frames_statistics(const struct punctual_frames *frames,
                                                struct punctual_statistics *statistics);

/**
 * Asks Windows for this interval between its clock interrupts. If the computer runs on battery
 * now, asks for `on_battery_ns` instead; 0 selects the same.
 *
 * `PUNCTUAL_RESULT_UNSUPPORTED` except on Windows, `PUNCTUAL_RESULT_RANGE` for an interval that
 * this computer does not have. Any thread.
 */
enum punctual_result punctual_guard_hold_timer_resolution(uint64_t interval_ns,
                                                          uint64_t on_battery_ns,
                                                          struct punctual_guard **guard_out);

/**
 * Makes Windows 11 apply the timer resolution also while this process is neither visible nor
 * audible.
 *
 * `PUNCTUAL_RESULT_UNSUPPORTED` before Windows 11 and elsewhere. Any thread.
 */
enum punctual_result punctual_guard_hold_honoured_requests(struct punctual_guard **guard_out);

/**
 * Sets the timer slack of this thread on Linux: by how much the system may end its sleeps late.
 * Threads that it starts meanwhile inherit the slack. Free the guard in the same thread; in
 * another one, the slack stays as it is.
 *
 * `PUNCTUAL_RESULT_UNSUPPORTED` except on Linux, `PUNCTUAL_RESULT_RANGE` for 0 and above
 * `INT64_MAX` (292 years), on 32-bit processors above `INT32_MAX`. After an error the slack is
 * unchanged.
 */
enum punctual_result punctual_guard_hold_timer_slack(uint64_t slack_ns,
                                                     struct punctual_guard **guard_out);

/**
 * Keeps the CPUs of this Linux computer out of idle states that take longer than `limit_ns` to
 * leave.
 *
 * `PUNCTUAL_RESULT_UNSUPPORTED` except on Linux, `PUNCTUAL_RESULT_PERMISSION` usually except for
 * root, `PUNCTUAL_RESULT_RANGE` above half an hour. Any thread.
 */
enum punctual_result punctual_guard_hold_wakeup_latency(uint64_t limit_ns,
                                                        struct punctual_guard **guard_out);

/**
 * Sets the `punctual_priority` of this thread. Free the guard in the same thread; in another one,
 * the priority stays as it is.
 *
 * `PUNCTUAL_RESULT_PERMISSION` on Linux without a limit that allows it,
 * `PUNCTUAL_RESULT_UNSUPPORTED` where the system has no such priority.
 */
enum punctual_result punctual_guard_hold_thread_priority(uint32_t priority,
                                                         struct punctual_guard **guard_out);

/**
 * Returns the granted value: the interval in force now for a timer resolution, the slack for a
 * timer slack.
 *
 * `PUNCTUAL_RESULT_UNSUPPORTED` for the other guards, which have no such value. Any thread.
 */
enum punctual_result punctual_guard_granted_ns(const struct punctual_guard *guard,
                                               uint64_t *granted_ns);

/**
 * Frees a guard, which ends its setting; null is ignored. Guards of a thread must be freed in that
 * thread, other guards in any.
 */
void punctual_guard_free(struct punctual_guard *guard);

/**
 * Creates a queue without timers.
 *
 * Any thread.
 */
enum punctual_result punctual_queue_new(struct punctual_queue **queue_out);

/**
 * Frees a queue without calling its timers; null is ignored. Any thread, once it is no longer in
 * use or being advanced.
 */
void punctual_queue_free(struct punctual_queue *queue);

/**
 * Adds a timer that may be called from `earliest_ns` on, at most `tolerance_ns` later. Timers
 * whose windows overlap share a wake-up. The caller chooses the epoch of these instants. `key`
 * receives the key to cancel the timer with. `key` and `user` may be null.
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
 * Cancels a timer. `was_waiting` is 1 if the timer will not be called, and 0 if it was called or
 * cancelled before.
 *
 * One thread at a time; callbacks of the queue too.
 */
enum punctual_result punctual_queue_cancel(struct punctual_queue *queue,
                                           uint64_t key,
                                           uint32_t *was_waiting);

/**
 * Returns the instant at which to call `punctual_queue_advance` next, possibly in the past;
 * `UINT64_MAX` without timers.
 *
 * One thread at a time; callbacks of the queue too.
 */
enum punctual_result punctual_queue_next_wake(const struct punctual_queue *queue,
                                              uint64_t *wake_ns);

/**
 * Calls all timers whose window has opened by `now_ns`, in the order in which they opened.
 * `served` receives their number and may be null. If a callback inserts a timer for the past, that
 * timer is called too, before this function returns.
 *
 * One thread at a time.
 */
enum punctual_result punctual_queue_advance(struct punctual_queue *queue,
                                            uint64_t now_ns,
                                            uint64_t *served);

/**
 * Returns the number of wake-ups of the queue so far, and the fewest possible.
 *
 * One thread at a time; callbacks of the queue too.
 */
enum punctual_result punctual_queue_counts(const struct punctual_queue *queue,
                                           struct punctual_wakeup_counts *counts);

/**
 * Returns the meaning of a result in English. The text must not be freed.
 *
 * Any thread, at any time.
 */
const char *punctual_result_text(int32_t result);

/**
 * Returns the period of a rate, to the millionth of a hertz.
 *
 * `PUNCTUAL_RESULT_RANGE` for NaN, below a millionth of a hertz, and above 1 GHz. Any thread.
 */
enum punctual_result punctual_period_hz(double hz, struct punctual_period *period);

/**
 * Creates a ticker. `options` may be null.
 *
 * `PUNCTUAL_RESULT_RANGE` for an invalid period or option. Any thread.
 */
enum punctual_result punctual_ticker_new(struct punctual_period period,
                                         const struct punctual_ticker_options *options,
                                         struct punctual_ticker **ticker_out);

/**
 * Frees a ticker; null is ignored. Any thread, once it is no longer in use.
 */
void punctual_ticker_free(struct punctual_ticker *ticker);

/**
 * Waits for the next slot; returns at once if it has passed. `cancel` and `tick` may be null.
 *
 * `PUNCTUAL_RESULT_CANCELLED` also if it was cancelled before; the slot still gets its tick later.
 * One thread at a time.
 */
enum punctual_result punctual_ticker_tick(struct punctual_ticker *ticker,
                                          const struct punctual_cancel *cancel,
                                          struct punctual_tick *tick);

/**
 * Returns the tick of the next slot if it has passed, without waiting. `is_due` is 1 in that case,
 * else 0. `tick` may be null, and is written only if `is_due` is 1.
 *
 * One thread at a time.
 */
enum punctual_result punctual_ticker_try_tick(struct punctual_ticker *ticker,
                                              uint32_t *is_due,
                                              struct punctual_tick *tick);

/**
 * Waits until `linger_ns` after the next slot is due, and takes all slots that are due then, from
 * one to `most`. Several calls in one batch need fewer waits. `scheduled_ns` must have room for
 * `most` instants and receives those of the slots; `taken` receives their number. `cancel` may be
 * null.
 *
 * Slots that fall due during the linger are taken with every `punctual_missed`, or come with the
 * next batch if they are more than `most`. A call that comes after the linger still receives the
 * slots that were due by its end. The `punctual_missed` applies to later slots.
 *
 * `PUNCTUAL_RESULT_RANGE` if `most` is 0. If it is cancelled, no slot is taken. One thread at a
 * time.
 */
enum punctual_result punctual_ticker_next_batch(struct punctual_ticker *ticker,
                                                uint32_t most,
                                                uint64_t linger_ns,
                                                const struct punctual_cancel *cancel,
                                                uint64_t *scheduled_ns,
                                                uint32_t *taken);

/**
 * Returns the instant of the next slot, for a program that waits for it by other means.
 *
 * One thread at a time.
 */
enum punctual_result punctual_ticker_next_ns(const struct punctual_ticker *ticker,
                                             uint64_t *next_ns);

/**
 * Returns the period in lowest terms: `{ 60, 1 }` for `{ 120, 2 }`.
 *
 * One thread at a time.
 */
enum punctual_result punctual_ticker_period(const struct punctual_ticker *ticker,
                                            struct punctual_period *period);

/**
 * Changes the period, in phase with the last slot that was due. Of the owed slots only the last
 * stays owed; the others are missed.
 *
 * `PUNCTUAL_RESULT_RANGE` for an invalid period. One thread at a time.
 */
enum punctual_result punctual_ticker_set_period(struct punctual_ticker *ticker,
                                                struct punctual_period period);

/**
 * Moves all future slots by `by_ns`, later if it is positive. This follows an external clock, such
 * as that of a display or a sound card.
 *
 * One thread at a time.
 */
enum punctual_result punctual_ticker_nudge_ns(struct punctual_ticker *ticker, int64_t by_ns);

/**
 * Restarts the schedule: the next slot is at `at_ns`.
 *
 * One thread at a time.
 */
enum punctual_result punctual_ticker_reset_at_ns(struct punctual_ticker *ticker, uint64_t at_ns);

/**
 * Returns the counts of all slots so far.
 *
 * One thread at a time.
 */
enum punctual_result punctual_ticker_counts(const struct punctual_ticker *ticker,
                                            struct punctual_slot_counts *counts);

/**
 * Returns the statistics of its waits; all zero unless the options of its waiter keep statistics.
 *
 * One thread at a time.
 */
enum punctual_result punctual_ticker_statistics(const struct punctual_ticker *ticker,
                                                struct punctual_statistics *statistics);

/**
 * Waits for `length_ns`, with what this thread has learned from its earlier waits. `outcome` may
 * be null.
 *
 * Any thread. On Linux also in a signal handler. If the library was loaded with `dlopen`, the
 * thread must have called this function before, outside of a handler; a call with 0 suffices.
 */
enum punctual_result punctual_sleep_ns(uint64_t length_ns, struct punctual_outcome *outcome);

/**
 * Like `punctual_sleep_ns`, until a deadline on the clock of `punctual_now_ns`.
 *
 * Any thread; on Linux also in a signal handler, as `punctual_sleep_ns`.
 */
enum punctual_result punctual_sleep_until_ns(uint64_t deadline_ns,
                                             struct punctual_outcome *outcome);

/**
 * Creates a waiter. `options` may be null.
 *
 * `PUNCTUAL_RESULT_RANGE` for an unknown strategy or an invalid parameter,
 * `PUNCTUAL_RESULT_UNSUPPORTED` for a strategy that names a system call. Any thread.
 */
enum punctual_result punctual_waiter_new(const struct punctual_waiter_options *options,
                                         struct punctual_waiter **waiter_out);

/**
 * Returns the result that `punctual_waiter_new` would return for these options. `message` receives
 * the reason in one line, null-terminated and cut to `capacity` bytes; it is empty if there is no
 * error.
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
 * Waits for `length_ns` from now. `outcome` may be null.
 *
 * One thread at a time.
 */
enum punctual_result punctual_waiter_sleep_ns(struct punctual_waiter *waiter,
                                              uint64_t length_ns,
                                              struct punctual_outcome *outcome);

/**
 * Waits until a deadline, or until another thread ends the wait with `cancel`. `cancel` and
 * `outcome` may be null.
 *
 * `PUNCTUAL_RESULT_CANCELLED` also if it was cancelled before, even if the deadline has passed, so
 * that a loop that is always late can be stopped. One thread at a time.
 */
enum punctual_result punctual_waiter_sleep_until_ns(struct punctual_waiter *waiter,
                                                    uint64_t deadline_ns,
                                                    const struct punctual_cancel *cancel,
                                                    struct punctual_outcome *outcome);

/**
 * Waits until a deadline, or until a signal was handled while the thread slept:
 * `PUNCTUAL_RESULT_INTERRUPTED`, sometimes without any signal. Call it again to continue the wait.
 *
 * A signal that comes while the thread spins does not end the wait. Windows has no signals; there
 * the wait is interrupted once a second. On FreeBSD no signal ends it. `outcome` may be null. One
 * thread at a time.
 */
enum punctual_result punctual_waiter_sleep_until_interruptible_ns(struct punctual_waiter *waiter,
                                                                  uint64_t deadline_ns,
                                                                  struct punctual_outcome *outcome);

/**
 * Sleeps until shortly before a deadline and never spins. `left_ns` receives the time that is left
 * until the deadline; 0 if it has passed.
 *
 * One thread at a time.
 */
enum punctual_result punctual_waiter_coarse_until_ns(struct punctual_waiter *waiter,
                                                     uint64_t deadline_ns,
                                                     uint64_t *left_ns);

/**
 * Returns the statistics of its waits; all zero unless its options keep statistics.
 *
 * One thread at a time.
 */
enum punctual_result punctual_waiter_statistics(const struct punctual_waiter *waiter,
                                                struct punctual_statistics *statistics);

/**
 * Creates a handle that is not cancelled.
 *
 * Any thread.
 */
enum punctual_result punctual_cancel_new(struct punctual_cancel **cancel_out);

/**
 * Frees the handle; null is ignored. Any thread, once no wait uses it.
 */
void punctual_cancel_free(struct punctual_cancel *cancel);

/**
 * Ends all waits that use the handle, also those that begin later, until it is reset.
 *
 * Any number of threads at once; on Linux and Windows also in a signal handler.
 */
enum punctual_result punctual_cancel_now(const struct punctual_cancel *cancel);

/**
 * Makes the handle not cancelled again.
 *
 * Any thread.
 */
enum punctual_result punctual_cancel_reset(const struct punctual_cancel *cancel);

/**
 * Returns whether the handle is cancelled: 1 or 0.
 *
 * Any thread.
 */
enum punctual_result punctual_cancel_is_cancelled(const struct punctual_cancel *cancel,
                                                  uint32_t *is_cancelled);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PUNCTUAL_H */
