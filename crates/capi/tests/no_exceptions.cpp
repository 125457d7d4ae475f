// punctual.hpp with -fno-exceptions -fno-rtti: all classes, and with an argument a call that fails.

#include <punctual.hpp>

#include <chrono>

int main(int count, char**) {
  using namespace std::chrono_literals;

  if (count > 1) punctual::Waiter("no-such-strategy");
  punctual::Waiter waiter("system");
  punctual::Cancel cancel;
  cancel.cancel();
  punctual::Ticker ticker(punctual::Rate(1000.0));
  auto frames = punctual::Frames::at_end(punctual::Rate(1000.0));
  frames.begin();
  punctual::Queue queue;
  int served = 0;
  queue.insert(punctual::Clock::now(), 0ns, [&](punctual::TimePoint) { ++served; });
  queue.advance();
  waiter.sleep_for(1us);
  const auto deadline = punctual::Clock::now() + 1h;
  return served == 1 && !waiter.sleep_until(deadline, cancel) && !ticker.tick(cancel) ? 0 : 1;
}
