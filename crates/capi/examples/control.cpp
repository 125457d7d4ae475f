// A control loop at 1 kHz: control [SECONDS]. What it missed is told, and its deadlines never drift.

#include <cstdio>
#include <cstdlib>

#include <punctual.hpp>

int main(int count, char** arguments) {
  const double seconds = count > 1 ? std::atof(arguments[1]) : 1.0;
  punctual::TickerOptions how;
  how.waiter = {"adaptive:weight=100", true};
  punctual::Ticker ticker(punctual::Rate(1000, 1), how);

  double position = 0.0, velocity = 1.0;
  for (auto tick = ticker.tick(); tick.number < seconds * 1000; tick = ticker.tick()) {
    // A controller that was not called in time knows for how long it was not.
    const double step = 1e-3 * static_cast<double>(1 + tick.missed);
    velocity -= position * step;
    position += velocity * step;
  }

  const auto seen = ticker.statistics();
  const auto counts = ticker.counts();
  std::printf("%llu ticks, %llu missed; late by %.1f us at p50, %.1f us at p99\n",
              static_cast<unsigned long long>(counts.ticks),
              static_cast<unsigned long long>(counts.missed), seen.p50_ns / 1e3, seen.p99_ns / 1e3);
  return counts.due == counts.ticks + counts.missed + counts.owed ? 0 : 1;
}
