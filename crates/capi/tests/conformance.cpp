// Runs bindings/conformance.txt through the C++ interface: conformance FILE

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <sstream>
#include <thread>
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <punctual.hpp>

using namespace std::chrono_literals;
using punctual::Clock;
using Words = std::vector<std::string>;

static_assert(!std::is_copy_constructible_v<punctual::Waiter>);
static_assert(std::is_nothrow_move_constructible_v<punctual::Waiter>);
static_assert(std::is_nothrow_move_assignable_v<punctual::Ticker>);
static_assert(noexcept(punctual::sleep_for(std::declval<std::chrono::milliseconds>())));
static_assert(noexcept(punctual::sleep_until(std::declval<Clock::time_point>())));

static void check(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "not so: " << what << '\n';
  std::exit(1);
}

static std::string sleeps(std::int64_t ns) {
  const auto length = std::chrono::nanoseconds(ns);
  const auto begin = Clock::now();
  check(punctual::Waiter().sleep_for(length, punctual::Cancel()).has_value(), "it ends");
  const auto outcome = punctual::sleep_for(length);
  const auto passed = Clock::now() - begin;
  check(passed >= length, "never early");
  check(passed >= outcome.slept + outcome.spun, "no more is slept and spun than passed");
  return "ok";
}

static std::string sleeps_until(std::int64_t after) {
  punctual::Waiter own;
  const auto begin = Clock::now();
  auto deadline = begin + std::chrono::nanoseconds(after);
  // Before the clock began there is nothing.
  if (deadline.time_since_epoch() < 0ns) deadline = Clock::time_point();
  for (int kind = 0; kind < 4; ++kind) {
    punctual::Outcome outcome;
    if (kind == 0) outcome = punctual::sleep_until(deadline);
    if (kind == 1) outcome = own.sleep_until(deadline);
    if (kind == 2) outcome = *own.sleep_until(deadline, punctual::Cancel());
    if (kind == 3) {
      while (!own.sleep_until_interruptible(deadline)) {
      }
      continue;
    }
    check(Clock::now() >= deadline, "never early");
    check(outcome.lateness + 1us >= begin - deadline, "past deadlines are told as late");
  }
  return "ok";
}

static std::string with_strategy(const std::string& text) {
  punctual::Waiter waiter(punctual::Options{text, true});
  waiter.sleep_for(100us);
  check(waiter.statistics().waits == 1, "statistics of one wait");
  return "ok";
}

static std::string with_rate(double hz) {
  punctual::Ticker ticker{punctual::Rate(hz)};
  check(punctual::Ticker(ticker.rate()).rate().get().cycles == ticker.rate().get().cycles,
        "the rate that was asked for");
  const auto tick = ticker.tick();
  check(tick.actual >= tick.scheduled && Clock::now() >= tick.scheduled, "never early");
  return "ok";
}

static std::string missed(const std::string& behavior, double behind) {
  punctual::TickerOptions how;
  if (behavior == "burst") how.missed = punctual::Missed::all_owed();
  if (behavior == "delay") how.missed = punctual::Missed::delay();
  if (behavior.rfind("burst-of:", 0) == 0)
    how.missed = punctual::Missed::owed_up_to(std::stoull(behavior.substr(9)));
  how.start = Clock::now() - std::chrono::nanoseconds(static_cast<std::int64_t>(behind * 1e7));
  punctual::Ticker ticker(punctual::Rate(100, 1), how);
  const auto tick = ticker.tick();
  const auto counts = ticker.counts();
  check(counts.due == counts.ticks + counts.missed + counts.owed, "counts that balance");
  return std::to_string(tick.missed);
}

static std::string cancelled(const std::string& when) {
  punctual::Waiter own;
  punctual::Cancel cancel;
  auto deadline = Clock::now() + 3ms;
  std::thread other;
  if (when == "forever") deadline = Clock::time_point::max();
  if (when == "during") deadline += 1h;
  if (when == "past") deadline -= 4ms;
  if (when == "forever" || when == "during")
    other = std::thread([&] {
      punctual::sleep_for(2ms);
      cancel.cancel();
    });
  else
    cancel.cancel();
  if (when == "reset") cancel.reset();
  const auto outcome = own.sleep_until(deadline, cancel);
  if (other.joinable()) other.join();
  check(outcome.has_value() != cancel.is_cancelled(), "it says so");
  check(own.sleep_for(1us, cancel).has_value() == outcome.has_value(), "of a length as well");
  if (cancel.is_cancelled())
    check(!own.sleep_for(Clock::duration::max(), cancel), "of any length");
  return outcome ? "ok" : "cancelled";
}

static std::string queued(const Words& times, bool cancels, bool wakes) {
  punctual::Queue queue;
  std::string order;
  std::vector<punctual::Queue::Key> keys;
  const auto at = [](std::int64_t ns) { return punctual::TimePoint(std::chrono::nanoseconds(ns)); };
  for (const auto& time : times) {
    const auto plus = time.find('+');
    const auto tolerance = plus == time.npos ? 0 : std::stoll(time.substr(plus + 1));
    keys.push_back(queue.insert(at(std::stoll(time)), std::chrono::nanoseconds(tolerance), [&](auto earliest) {
      order += (order.empty() ? "" : " ") + std::to_string(earliest.time_since_epoch().count());
    }));
  }
  if (cancels) check(queue.cancel(keys[0]) && !queue.cancel(keys[0]), "cancelled once");
  if (wakes) {
    const auto wake = queue.next_wake();
    return wake ? std::to_string(wake->time_since_epoch().count()) : "never";
  }
  auto moved = std::move(queue);
  check(moved.advance(at(100)) == moved.counts().served, "counts");
  return order;
}

/// Frames end at their slots, and none is without one.
static void frames_keep_their_counts() {
  auto frames = punctual::Frames::at_end(punctual::Rate(500, 1), {"adaptive-exact", true});
  for (int at = 0; at < 3; ++at) {
    const auto frame = frames.begin();
    const auto end = frames.end(punctual::Cancel());
    check(end && punctual_now_ns() >= frame.target_ns, "a frame ends at its slot, never early");
  }
  const auto counts = frames.counts();
  check(counts.due == counts.ticks + counts.missed + counts.owed, "counts of frames");
  check(frames.statistics().waits > 0, "statistics of frames");
  punctual::Cancel cancel;
  cancel.cancel();
  check(!frames.begin(cancel), "no frame has begun");
}

/// Without safety a frame begins no earlier than its work, of which nothing is known, takes.
static void frames_without_safety() {
  auto frames = punctual::Frames::late(punctual::Rate(500, 1), 0ns);
  const auto frame = frames.begin();
  check(frame.begun_ns + 1 >= frame.target_ns, "a frame begins as late as it was to");
}

/// What has more of its units than there are nanoseconds is as good as never.
static void far_ends_of_coarse_clocks() {
  using Hours = std::chrono::time_point<Clock, std::chrono::hours>;
  const auto never = std::numeric_limits<std::uint64_t>::max();
  check(punctual::detail::as_ns(Hours::max()) == never, "the end of time in hours");
  check(punctual::detail::as_ns(Hours::min()) == 0, "its beginning");
}

/// A handle that may be granted or refused, and says which.
static void guards_hold_or_say_why_not() {
  try {
    const auto guard = punctual::Guard::timer_slack(7us);
    check(guard.granted() == 7us, "the slack that was asked for");
  } catch (const punctual::Error& why) {
    check(why.result() == PUNCTUAL_RESULT_UNSUPPORTED, "where there is none");
  }
}

/// What a callback throws, the caller of advance gets; and it may use the queue.
static void callbacks_may_throw_and_insert() {
  punctual::Queue queue;
  int served = 0;
  const auto past = Clock::now() - 1s;
  queue.insert(past, 0ns, [&](auto) {
    queue.insert(past, 0ns, [&](auto) { ++served; });
    throw std::runtime_error("mine");
  });
  try {
    queue.advance();
    check(false, "it throws");
  } catch (const std::runtime_error& why) {
    check(std::string(why.what()) == "mine" && served == 1, "what was thrown, after all");
  }
}

static std::string threads(const std::string& how) {
  if (how == "two") {
    std::thread one([] { punctual::Waiter().sleep_for(1ms); });
    std::thread two([] { punctual::Waiter().sleep_for(1ms); });
    one.join(), two.join();
    return "ok";
  }
  punctual::Waiter own;
  own.sleep_for(1ms);
  std::thread([moved = std::move(own)]() mutable { moved.sleep_for(1ms); }).join();
  return "ok";
}

static std::string forked() {
#ifndef _WIN32
  punctual::Waiter own;
  own.sleep_for(1ms);
  const auto child = fork();
  if (child == 0) {
    own.sleep_for(1ms);
    punctual::sleep_for(1us);
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  if (status != 0) return "the child failed";
#endif
  return "ok";
}

static std::string run(const Words& words) {
  const auto& operation = words[0];
  const std::string first = words.size() > 1 ? words[1] : "";
  const Words rest(words.begin() + 1, words.end());
  try {
    if (operation == "sleep") return sleeps(std::stoll(first));
    if (operation == "sleep-until") return sleeps_until(std::stoll(first));
    if (operation == "strategy") return with_strategy(first);
    if (operation == "weight") return with_strategy("adaptive:weight=" + first);
    if (operation == "rate") return with_rate(std::strtod(first.c_str(), nullptr));
    if (operation == "missed") return missed(first, std::stod(words[2]));
    if (operation == "cancel") return cancelled(first);
    if (operation == "queue") return queued(rest, false, false);
    if (operation == "queue-cancel") return queued(rest, true, false);
    if (operation == "queue-wake") return queued(rest, false, true);
    if (operation == "threads") return threads(first);
    if (operation == "fork") return forked();
    // Nothing here takes a pointer.
    if (operation == "null") return "null";
  } catch (const punctual::Error& why) {
    check(std::string(why.what()).size() > 3, "an error says why");
    if (why.result() == PUNCTUAL_RESULT_RANGE) return "range";
    if (why.result() == PUNCTUAL_RESULT_UNSUPPORTED) return "unsupported";
    return why.what();
  }
  return "an operation that is not known";
}

int main(int count, char** arguments) {
  std::ifstream cases(count == 2 ? arguments[1] : "");
  int passed = 0, failed = 0;
  for (std::string line; std::getline(cases, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto middle = line.rfind(" = ");
    std::istringstream left(line.substr(0, middle));
    Words words;
    for (std::string word; left >> word;) words.push_back(word);
    const auto expected = line.substr(middle + 3), got = run(words);
    const auto holds = expected.rfind(">=", 0) == 0
                           ? std::stoll(got) >= std::stoll(expected.substr(2))
                           : got == expected;
    holds ? ++passed : ++failed;
    if (!holds) std::cout << line << "\n  but it is: " << got << '\n';
  }
  callbacks_may_throw_and_insert();
  frames_keep_their_counts();
  frames_without_safety();
  far_ends_of_coarse_clocks();
  guards_hold_or_say_why_not();
  // Both clocks are one: neither reading goes back.
  for (int at = 0; at < 1000; ++at) {
    const auto before = Clock::now();
    const auto between = punctual::detail::time_point(punctual_now_ns());
    check(before <= between && between <= Clock::now(), "steady_clock is this clock");
  }
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed != 0 || passed == 0;
}
