// Ways to wait in C++ beside each other: waits [ROUNDS]. They take turns in rounds, each in a fresh
// thread; lateness is against deadlines that do not drift, and seen by who called.

#include <SDL3/SDL_timer.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <punctual.hpp>

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Ns = std::chrono::nanoseconds;

static void system_sleep(Clock::time_point deadline) { std::this_thread::sleep_until(deadline); }

static void sdl(Clock::time_point deadline) {
  const auto left = deadline - Clock::now();
  if (left > 0ns) SDL_DelayPrecise(static_cast<Uint64>(std::chrono::duration_cast<Ns>(left).count()));
}

static void by_hand(Clock::time_point deadline) {
  std::this_thread::sleep_until(deadline - 1ms);
  while (Clock::now() < deadline) {
  }
}

static void spin(Clock::time_point deadline) {
  while (Clock::now() < deadline) {
  }
}

static void punctually(Clock::time_point deadline) { punctual::sleep_until(deadline); }

struct Way {
  const char* name;
  void (*wait)(Clock::time_point);
};

static const std::array<Way, 5> ways{{{"punctual::sleep_until", punctually},
                                      {"std::this_thread::sleep_until", system_sleep},
                                      {"SDL_DelayPrecise", sdl},
                                      {"sleep, spin 1 ms", by_hand},
                                      {"spin", spin}}};

struct Seen {
  std::vector<double> late;
  double cpu = 0;
  std::size_t early = 0;
};

static double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

static Seen measured(const Way& way, Ns period, std::size_t waits) {
  Seen seen;
  std::thread([&] {
    auto deadline = Clock::now();
    const double before = cpu_ns();
    for (std::size_t at = 0; at < waits; ++at) {
      deadline += period;
      way.wait(deadline);
      const auto now = Clock::now();
      const Ns late = now - deadline;
      seen.early += late < 0ns;
      seen.late.push_back(static_cast<double>(late.count()));
      // A stall is not caught up with.
      deadline = std::max(deadline, now - period);
    }
    seen.cpu = (cpu_ns() - before) / static_cast<double>(waits);
  }).join();
  std::sort(seen.late.begin(), seen.late.end());
  return seen;
}

static double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

/// CPU time and ten times lateness, up to 1 ms of it, in the mean of a wait.
static double cost(const Seen& seen) {
  double late = 0;
  for (const double ns : seen.late) late += std::min(ns, 1e6);
  return seen.cpu + 10 * late / static_cast<double>(seen.late.size());
}

int main(int count, char** arguments) {
  const int rounds = std::max(count > 1 ? std::atoi(arguments[1]) : 8, 1);
  for (const int hz : {60, 1000}) {
    const Ns period(1'000'000'000 / hz);
    const auto waits = static_cast<std::size_t>(std::max(hz / 2, 45));
    std::array<std::vector<Seen>, ways.size()> seen;
    for (int round = 0; round < rounds; ++round)
      for (std::size_t way = 0; way < ways.size(); ++way)
        seen[way].push_back(measured(ways[way], period, waits));
    std::printf("%d Hz, %d rounds of %zu waits\n%-30s %6s %9s %9s %9s  cost over punctual's, w = 10\n", hz,
                rounds, waits, "", "early", "p50 us", "p99 us", "CPU us");
    for (std::size_t way = 0; way < ways.size(); ++way) {
      std::vector<double> p50, p99, cpu, ratio;
      std::size_t early = 0;
      for (std::size_t round = 0; round < seen[way].size(); ++round) {
        const auto& one = seen[way][round];
        p50.push_back(one.late[one.late.size() / 2]);
        p99.push_back(one.late[one.late.size() * 99 / 100]);
        cpu.push_back(one.cpu);
        ratio.push_back(cost(one) / cost(seen[0][round]));
        early += one.early;
      }
      std::sort(ratio.begin(), ratio.end());
      std::printf("%-30s %6zu %9.2f %9.1f %9.1f  %.2f [%.2f..%.2f]\n", ways[way].name, early,
                  median(p50) / 1e3, median(p99) / 1e3, median(cpu) / 1e3, median(ratio), ratio.front(),
                  ratio.back());
    }
  }
}
