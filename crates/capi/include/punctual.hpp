// punctual for C++17, on top of punctual.h: handles that free themselves, and the durations and
// time points of std::chrono::steady_clock.
//
// steady_clock is the clock of punctual on Linux (CLOCK_MONOTONIC) and Windows
// (QueryPerformanceCounter). On macOS it runs while the machine is suspended, and punctual's does
// not. There a deadline is as far ahead as it is when the wait begins.
//
// Functions that cannot fail are noexcept. The rest throws punctual::Error, which has the result
// of the C call; compiled with -fno-exceptions it prints the reason and aborts instead. A wait
// that can be cancelled returns an empty optional when it was. A handle may be used by one
// thread at a time: a second one gets an Error (PUNCTUAL_RESULT_BUSY). A Cancel may be used by any
// number of threads at once.

#ifndef PUNCTUAL_HPP
#define PUNCTUAL_HPP

#if __cplusplus < 201703L && (!defined(_MSVC_LANG) || _MSVC_LANG < 201703L)
#error "punctual.hpp needs C++17: compile with -std=c++17 (MSVC: /std:c++17), or include punctual.h"
#else

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "punctual.h"

namespace punctual {

using Clock = std::chrono::steady_clock;
using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<Clock, Duration>;

/// A call that failed, and how.
class Error : public std::runtime_error {
 public:
  Error(punctual_result result, const std::string& why) : std::runtime_error(why), result_(result) {}
  punctual_result result() const noexcept { return result_; }

 private:
  punctual_result result_;
};

namespace detail {

/// Throws an Error, or aborts where the program is compiled without exceptions.
[[noreturn]] inline void fail(punctual_result result, const char* why) {
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
  throw Error(result, why);
#else
  std::fprintf(stderr, "punctual: %s (result %d)\n", why, static_cast<int>(result));
  std::abort();
#endif
}

inline void check(punctual_result result) {
  if (result != PUNCTUAL_RESULT_OK) fail(result, punctual_result_text(result));
}

/// Returns true if the call succeeded, and false if it was cancelled.
inline bool is_done(punctual_result result) {
  if (result == PUNCTUAL_RESULT_CANCELLED) return false;
  check(result);
  return true;
}

template <class T>
T sized() noexcept {
  T structure{};
  structure.size = sizeof(T);
  return structure;
}

inline std::int64_t signed_ns(std::uint64_t ns) noexcept {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  return ns > static_cast<std::uint64_t>(most) ? most : static_cast<std::int64_t>(ns);
}

inline Duration duration(std::uint64_t ns) noexcept { return Duration(signed_ns(ns)); }

/// Rounds up, so that no wait is early. A negative length is 0; one that is too long for
/// nanoseconds is the longest there is.
template <class Rep, class Period>
std::uint64_t as_ns(std::chrono::duration<Rep, Period> length) noexcept {
  using Seconds = std::chrono::duration<double>;
  if (!(length > length.zero())) return 0;
  if (Seconds(length).count() > 9e9) return std::numeric_limits<std::uint64_t>::max();
  auto ns = std::chrono::duration_cast<Duration>(length);
  if (ns < length) ++ns;
  return static_cast<std::uint64_t>(ns.count());
}

/// The offset from steady_clock to the clock of punctual.
inline std::int64_t offset() noexcept {
#ifdef __APPLE__
  auto now = Clock::now().time_since_epoch();
  return signed_ns(punctual_now_ns()) - std::chrono::duration_cast<Duration>(now).count();
#else
  return 0;
#endif
}

template <class Length>
std::uint64_t as_ns(std::chrono::time_point<Clock, Length> at) noexcept {
  // Convert to nanoseconds first: a long time in hours can exceed what nanoseconds can hold.
  const auto ns = as_ns(at.time_since_epoch());
  if (ns == std::numeric_limits<std::uint64_t>::max()) return ns;
  return as_ns(duration(ns) + Duration(offset()));
}

/// Time points that belong together need the same offset, as each reading of it differs a little.
inline TimePoint time_point(std::uint64_t ns, std::int64_t offset = detail::offset()) noexcept {
  return TimePoint(Duration(signed_ns(ns) - offset));
}

template <class T, void (*Free)(T*)>
struct Freed {
  void operator()(T* handle) const noexcept { Free(handle); }
};

template <class T, void (*Free)(T*)>
using Handle = std::unique_ptr<T, Freed<T, Free>>;

}  // namespace detail

/// The outcome of one wait.
struct Outcome {
  /// How long after its deadline it ended.
  Duration lateness{};
  /// The time in calls that sleep, and the time spent spinning, which is CPU time.
  Duration slept{}, spun{};
  /// The number of calls that sleep.
  unsigned naps = 0;
  /// Whether its budget limited its spinning.
  bool hit_budget = false;

  Outcome() = default;
  explicit Outcome(const punctual_outcome& from) noexcept
      : lateness(detail::duration(from.lateness_ns)),
        slept(detail::duration(from.slept_ns)),
        spun(detail::duration(from.spun_ns)),
        naps(from.naps),
        hit_budget(from.hit_budget != 0) {}
};

/// Waits for `length`, with what this thread has learned from its earlier waits; never early.
template <class Rep, class Period>
Outcome sleep_for(std::chrono::duration<Rep, Period> length) noexcept {
  auto outcome = detail::sized<punctual_outcome>();
  detail::check(punctual_sleep_ns(detail::as_ns(length), &outcome));
  return Outcome(outcome);
}

/// Like sleep_for, until a deadline.
template <class Length>
Outcome sleep_until(std::chrono::time_point<Clock, Length> deadline) noexcept {
  auto outcome = detail::sized<punctual_outcome>();
  detail::check(punctual_sleep_until_ns(detail::as_ns(deadline), &outcome));
  return Outcome(outcome);
}

/// Ends waits early, from any thread.
class Cancel {
 public:
  Cancel() {
    punctual_cancel* made = nullptr;
    detail::check(punctual_cancel_new(&made));
    handle_.reset(made);
  }
  void cancel() const noexcept { punctual_cancel_now(handle_.get()); }
  void reset() const noexcept { punctual_cancel_reset(handle_.get()); }
  bool is_cancelled() const noexcept {
    std::uint32_t is = 0;
    punctual_cancel_is_cancelled(handle_.get(), &is);
    return is != 0;
  }
  const punctual_cancel* get() const noexcept { return handle_.get(); }

 private:
  detail::Handle<punctual_cancel, punctual_cancel_free> handle_;
};

/// The options of a waiter: a strategy as text, such as "adaptive:weight=100", and whether
/// statistics are kept.
struct Options {
  std::string strategy = "adaptive-balanced";
  bool statistics = false;

  /// The options for the C functions, valid as long as this object.
  punctual_waiter_options c() const noexcept {
    auto options = detail::sized<punctual_waiter_options>();
    options.strategy = strategy.c_str();
    options.statistics = statistics;
    return options;
  }
  /// Throws the reason if the options are invalid.
  void check() const {
    char why[256];
    const auto options = c();
    const auto result = punctual_waiter_check(&options, sizeof why, why);
    if (result != PUNCTUAL_RESULT_OK) detail::fail(result, why);
  }
};

/// Statistics of many waits: punctual_statistics.
using Statistics = punctual_statistics;

/// Waits with one strategy, and keeps what it has learned. Use one for each waiting thread.
class Waiter {
 public:
  explicit Waiter(const Options& how = {}) {
    how.check();
    const auto options = how.c();
    punctual_waiter* made = nullptr;
    detail::check(punctual_waiter_new(&options, &made));
    handle_.reset(made);
  }
  explicit Waiter(std::string strategy) : Waiter(Options{std::move(strategy), false}) {}

  template <class Rep, class Period>
  Outcome sleep_for(std::chrono::duration<Rep, Period> length) {
    auto outcome = detail::sized<punctual_outcome>();
    detail::check(punctual_waiter_sleep_ns(handle_.get(), detail::as_ns(length), &outcome));
    return Outcome(outcome);
  }
  /// Empty if it was cancelled, also if that was before the call.
  template <class Rep, class Period>
  std::optional<Outcome> sleep_for(std::chrono::duration<Rep, Period> length,
                                   const Cancel& cancel) {
    const std::uint64_t now = punctual_now_ns(), ns = detail::as_ns(length);
    const std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
    return sleep_to(ns < last - now ? now + ns : last, cancel.get());
  }
  template <class Length>
  Outcome sleep_until(std::chrono::time_point<Clock, Length> deadline) {
    return *sleep_to(detail::as_ns(deadline), nullptr);
  }
  /// Empty if it was cancelled, also if that was before the call or after the deadline.
  template <class Length>
  std::optional<Outcome> sleep_until(std::chrono::time_point<Clock, Length> deadline,
                                     const Cancel& cancel) {
    return sleep_to(detail::as_ns(deadline), cancel.get());
  }
  /// Empty if a signal was handled while the thread slept: call it again to continue the wait.
  template <class Length>
  std::optional<Outcome> sleep_until_interruptible(
      std::chrono::time_point<Clock, Length> deadline) {
    auto outcome = detail::sized<punctual_outcome>();
    const auto result = punctual_waiter_sleep_until_interruptible_ns(
        handle_.get(), detail::as_ns(deadline), &outcome);
    if (result == PUNCTUAL_RESULT_INTERRUPTED) return std::nullopt;
    detail::check(result);
    return Outcome(outcome);
  }
  /// Sleeps until shortly before the deadline; returns the time that is left.
  template <class Length>
  Duration coarse_until(std::chrono::time_point<Clock, Length> deadline) {
    std::uint64_t left = 0;
    detail::check(punctual_waiter_coarse_until_ns(handle_.get(), detail::as_ns(deadline), &left));
    return detail::duration(left);
  }
  Statistics statistics() const {
    auto seen = detail::sized<Statistics>();
    detail::check(punctual_waiter_statistics(handle_.get(), &seen));
    return seen;
  }

 private:
  std::optional<Outcome> sleep_to(std::uint64_t deadline, const punctual_cancel* cancel) {
    auto outcome = detail::sized<punctual_outcome>();
    const auto result =
        punctual_waiter_sleep_until_ns(handle_.get(), deadline, cancel, &outcome);
    if (!detail::is_done(result)) return std::nullopt;
    return Outcome(outcome);
  }

  detail::Handle<punctual_waiter, punctual_waiter_free> handle_;
};

/// The exact time from one slot to the next.
class Rate {
 public:
  /// To the millionth of a hertz.
  explicit Rate(double hz) { detail::check(punctual_period_hz(hz, &period_)); }
  /// A number of cycles in a number of seconds: Rate(60000, 1001) is the 59.94 Hz of video.
  Rate(std::uint64_t cycles, std::uint64_t seconds) noexcept : period_{cycles, seconds} {}
  /// One slot in each `length`, in whole nanoseconds.
  static Rate every(Duration length) noexcept {
    return Rate(1'000'000'000, detail::as_ns(length));
  }
  punctual_period get() const noexcept { return period_; }

 private:
  punctual_period period_{};
};

/// The treatment of slots that have passed when a tick comes late.
struct Missed {
  punctual_missed what = PUNCTUAL_MISSED_SKIP;
  std::uint64_t burst = 0;

  static Missed skip() noexcept { return {}; }
  static Missed all_owed() noexcept { return {PUNCTUAL_MISSED_BURST, 0}; }
  static Missed owed_up_to(std::uint64_t most) noexcept { return {PUNCTUAL_MISSED_BURST_OF, most}; }
  static Missed delay() noexcept { return {PUNCTUAL_MISSED_DELAY, 0}; }
};

/// One tick.
struct Tick {
  /// The number of its slot: missed slots count too.
  std::uint64_t number = 0;
  /// The instants at which it was due and at which it came: never before.
  TimePoint scheduled{}, actual{};
  /// The number of slots missed since the tick before, including those that this tick was too
  /// late for.
  std::uint64_t missed = 0;
  /// The wait for it.
  Outcome outcome{};

  Duration lateness() const noexcept { return actual - scheduled; }
};

/// The options of a ticker.
struct TickerOptions {
  Missed missed = {};
  Options waiter = {};
  /// The instant of the first slot, if not now.
  std::optional<TimePoint> start = {};
  /// If not 0, the gaps are random, on average a period (Poisson).
  std::uint64_t poisson_seed = 0;
};

/// Ticks at an exact rate that never drifts, one slot at a time or in batches.
class Ticker {
 public:
  explicit Ticker(Rate rate, const TickerOptions& how = {}) {
    how.waiter.check();
    const auto waiter = how.waiter.c();
    auto options = detail::sized<punctual_ticker_options>();
    options.waiter = &waiter;
    options.start_ns = how.start ? detail::as_ns(*how.start) : 0;
    options.missed = how.missed.what;
    options.burst = how.missed.burst;
    options.poisson_seed = how.poisson_seed;
    punctual_ticker* made = nullptr;
    detail::check(punctual_ticker_new(rate.get(), &options, &made));
    handle_.reset(made);
  }

  /// Waits for the next slot; returns at once if it has passed.
  Tick tick() { return *tick_to(nullptr); }
  /// Empty if it was cancelled; the slot still gets its tick later.
  std::optional<Tick> tick(const Cancel& cancel) { return tick_to(cancel.get()); }
  /// The tick of the next slot if it has passed, without waiting.
  std::optional<Tick> try_tick() {
    auto tick = detail::sized<punctual_tick>();
    std::uint32_t is_due = 0;
    detail::check(punctual_ticker_try_tick(handle_.get(), &is_due, &tick));
    if (is_due == 0) return std::nullopt;
    return ticked(tick);
  }
  /// Waits until `linger` after the next slot is due, and takes all that are due then, from one
  /// to `most`: when each was due. The linger makes no slot a missed one.
  std::vector<TimePoint> next_batch(std::uint32_t most, Duration linger) {
    return *batch(most, linger, nullptr);
  }
  std::optional<std::vector<TimePoint>> next_batch(std::uint32_t most, Duration linger,
                                                   const Cancel& cancel) {
    return batch(most, linger, cancel.get());
  }
  /// The instant of the next slot, for a program that waits for it by other means.
  TimePoint next_at() const {
    std::uint64_t ns = 0;
    detail::check(punctual_ticker_next_ns(handle_.get(), &ns));
    return detail::time_point(ns);
  }
  Rate rate() const {
    punctual_period period{};
    detail::check(punctual_ticker_period(handle_.get(), &period));
    return Rate(period.cycles, period.seconds);
  }
  void set_rate(Rate rate) { detail::check(punctual_ticker_set_period(handle_.get(), rate.get())); }
  /// Moves all future slots, later if it is positive.
  void nudge(Duration by) {
    detail::check(punctual_ticker_nudge_ns(handle_.get(), by.count()));
  }
  void reset_at(TimePoint at) {
    detail::check(punctual_ticker_reset_at_ns(handle_.get(), detail::as_ns(at)));
  }
  punctual_slot_counts counts() const {
    auto counts = detail::sized<punctual_slot_counts>();
    detail::check(punctual_ticker_counts(handle_.get(), &counts));
    return counts;
  }
  Statistics statistics() const {
    auto seen = detail::sized<Statistics>();
    detail::check(punctual_ticker_statistics(handle_.get(), &seen));
    return seen;
  }

 private:
  static Tick ticked(const punctual_tick& from) noexcept {
    const auto offset = detail::offset();
    Tick tick;
    tick.number = from.number;
    tick.scheduled = detail::time_point(from.scheduled_ns, offset);
    tick.actual = detail::time_point(from.actual_ns, offset);
    tick.missed = from.missed;
    tick.outcome.lateness = tick.lateness();
    tick.outcome.slept = detail::duration(from.slept_ns);
    tick.outcome.spun = detail::duration(from.spun_ns);
    tick.outcome.naps = from.naps;
    tick.outcome.hit_budget = from.hit_budget != 0;
    return tick;
  }
  std::optional<Tick> tick_to(const punctual_cancel* cancel) {
    auto tick = detail::sized<punctual_tick>();
    if (!detail::is_done(punctual_ticker_tick(handle_.get(), cancel, &tick))) return std::nullopt;
    return ticked(tick);
  }
  std::optional<std::vector<TimePoint>> batch(std::uint32_t most, Duration linger,
                                              const punctual_cancel* cancel) {
    std::vector<std::uint64_t> due(most);
    std::uint32_t taken = 0;
    const auto result = punctual_ticker_next_batch(handle_.get(), most, detail::as_ns(linger),
                                                   cancel, due.data(), &taken);
    if (!detail::is_done(result)) return std::nullopt;
    const auto offset = detail::offset();
    std::vector<TimePoint> times;
    for (std::uint32_t at = 0; at < taken; ++at)
      times.push_back(detail::time_point(due[at], offset));
    return times;
  }

  detail::Handle<punctual_ticker, punctual_ticker_free> handle_;
};

/// Paces frames; punctual_frame and punctual_frame_end have the measurements of each.
class Frames {
 public:
  /// Frames begin at once and end at their slot.
  static Frames at_end(Rate rate, const Options& how = {}) {
    how.check();
    const auto options = how.c();
    punctual_frames* made = nullptr;
    detail::check(punctual_frames_new_at_end(rate.get(), &options, &made));
    return Frames(made);
  }
  /// Frames begin as late as is safe for their work to be done by their slot, and `safety`
  /// earlier than the predicted work requires.
  static Frames late(Rate rate, Duration safety = std::chrono::microseconds(1650),
                     const Options& how = {}) {
    how.check();
    const auto options = how.c();
    punctual_frames* made = nullptr;
    // 0 means the default in C.
    const auto ns = std::max<std::uint64_t>(detail::as_ns(safety), 1);
    detail::check(punctual_frames_new_late(rate.get(), ns, &options, &made));
    return Frames(made);
  }

  /// Begins a frame: at once, or as late as is safe.
  punctual_frame begin() { return *begin_with(nullptr); }
  /// Empty if it was cancelled; no frame has begun.
  std::optional<punctual_frame> begin(const Cancel& cancel) { return begin_with(cancel.get()); }
  /// Ends the frame: at once, or at its slot.
  punctual_frame_end end() { return *end_with(nullptr); }
  /// Empty if it was cancelled; the work of the frame has ended, but not the frame.
  std::optional<punctual_frame_end> end(const Cancel& cancel) { return end_with(cancel.get()); }
  void set_rate(Rate rate) { detail::check(punctual_frames_set_period(handle_.get(), rate.get())); }
  void nudge(Duration by) {
    detail::check(punctual_frames_nudge_ns(handle_.get(), by.count()));
  }
  void reset_at(TimePoint at) {
    detail::check(punctual_frames_reset_at_ns(handle_.get(), detail::as_ns(at)));
  }
  punctual_slot_counts counts() const {
    auto counts = detail::sized<punctual_slot_counts>();
    detail::check(punctual_frames_counts(handle_.get(), &counts));
    return counts;
  }
  Statistics statistics() const {
    auto seen = detail::sized<Statistics>();
    detail::check(punctual_frames_statistics(handle_.get(), &seen));
    return seen;
  }

 private:
  explicit Frames(punctual_frames* made) noexcept : handle_(made) {}

  std::optional<punctual_frame> begin_with(const punctual_cancel* cancel) {
    auto frame = detail::sized<punctual_frame>();
    const auto result = punctual_frames_begin(handle_.get(), cancel, &frame);
    if (!detail::is_done(result)) return std::nullopt;
    return frame;
  }
  std::optional<punctual_frame_end> end_with(const punctual_cancel* cancel) {
    auto end = detail::sized<punctual_frame_end>();
    if (!detail::is_done(punctual_frames_end(handle_.get(), cancel, &end))) return std::nullopt;
    return end;
  }

  detail::Handle<punctual_frames, punctual_frames_free> handle_;
};

/// The timers of one event loop, which asks when to wake and then advances them. The queue never
/// waits itself, so its instants are those of steady_clock on every system.
class Queue {
 public:
  using Key = std::uint64_t;
  using Callback = std::function<void(TimePoint earliest)>;

  Queue() : state_(std::make_unique<State>()) {
    punctual_queue* made = nullptr;
    detail::check(punctual_queue_new(&made));
    handle_.reset(made);
  }

  /// Adds a timer that may be called from `earliest` on, at most `tolerance` later. The callback
  /// may insert and cancel timers. An exception of the callback leaves advance.
  template <class Length>
  Key insert(std::chrono::time_point<Clock, Length> earliest, Duration tolerance,
             Callback callback) {
    Key key = 0;
    detail::check(punctual_queue_insert(handle_.get(), detail::as_ns(earliest.time_since_epoch()),
                                        detail::as_ns(tolerance), serve, state_.get(), &key));
    state_->callbacks.emplace(key, std::move(callback));
    return key;
  }
  /// Cancels a timer; returns whether it was still waiting.
  bool cancel(Key key) {
    std::uint32_t was = 0;
    detail::check(punctual_queue_cancel(handle_.get(), key, &was));
    if (was != 0) state_->callbacks.erase(key);
    return was != 0;
  }
  /// The instant at which to call advance next; empty without timers.
  std::optional<TimePoint> next_wake() const {
    std::uint64_t ns = 0;
    detail::check(punctual_queue_next_wake(handle_.get(), &ns));
    if (ns == std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
    return detail::time_point(ns, 0);
  }
  /// Calls the timers that are due; returns their number.
  template <class Length = Duration>
  std::uint64_t advance(std::chrono::time_point<Clock, Length> now = Clock::now()) {
    std::uint64_t served = 0;
    const auto ns = detail::as_ns(now.time_since_epoch());
    detail::check(punctual_queue_advance(handle_.get(), ns, &served));
    if (auto thrown = std::exchange(state_->thrown, nullptr)) std::rethrow_exception(thrown);
    return served;
  }
  punctual_wakeup_counts counts() const {
    auto counts = detail::sized<punctual_wakeup_counts>();
    detail::check(punctual_queue_counts(handle_.get(), &counts));
    return counts;
  }

 private:
  struct State {
    std::unordered_map<Key, Callback> callbacks;
    std::exception_ptr thrown;
  };

  static void serve(void* user, std::uint64_t key, std::uint64_t earliest) noexcept {
    auto& state = *static_cast<State*>(user);
    auto node = state.callbacks.extract(key);
    if (!node) return;
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
    try {
      node.mapped()(detail::time_point(earliest, 0));
    } catch (...) {
      if (!state.thrown) state.thrown = std::current_exception();
    }
#else
    node.mapped()(detail::time_point(earliest, 0));
#endif
  }

  // Freed after the queue that points to it.
  std::unique_ptr<State> state_;
  detail::Handle<punctual_queue, punctual_queue_free> handle_;
};

/// A system setting that makes the waits of other code more accurate, in force as long as this
/// object lives. Throws if the system refuses; a program can go on without it.
class Guard {
 public:
  /// Windows: the interval between clock interrupts.
  static Guard timer_resolution(Duration interval, Duration on_battery = Duration::zero()) {
    return held(punctual_guard_hold_timer_resolution, detail::as_ns(interval),
                detail::as_ns(on_battery));
  }
  /// Windows 11: also while the process is neither visible nor audible.
  static Guard honoured_requests() { return held(punctual_guard_hold_honoured_requests); }
  /// Linux: by how much sleeps of this thread may end late. Destroy it in the same thread.
  static Guard timer_slack(Duration slack) {
    return held(punctual_guard_hold_timer_slack, detail::as_ns(slack));
  }
  /// Linux: the longest time that a CPU may take to leave an idle state.
  static Guard wakeup_latency(Duration limit) {
    return held(punctual_guard_hold_wakeup_latency, detail::as_ns(limit));
  }
  /// The priority of this thread. Destroy it in the same thread.
  static Guard thread_priority(punctual_priority priority) {
    return held(punctual_guard_hold_thread_priority, static_cast<std::uint32_t>(priority));
  }
  /// The granted value; empty if the setting has none.
  std::optional<Duration> granted() const {
    std::uint64_t ns = 0;
    const auto result = punctual_guard_granted_ns(handle_.get(), &ns);
    if (result == PUNCTUAL_RESULT_UNSUPPORTED) return std::nullopt;
    detail::check(result);
    return detail::duration(ns);
  }

 private:
  template <class Hold, class... Arguments>
  static Guard held(Hold hold, Arguments... arguments) {
    punctual_guard* made = nullptr;
    detail::check(hold(arguments..., &made));
    Guard guard;
    guard.handle_.reset(made);
    return guard;
  }

  detail::Handle<punctual_guard, punctual_guard_free> handle_;
};

}  // namespace punctual

#endif  // C++17
#endif  // PUNCTUAL_HPP
