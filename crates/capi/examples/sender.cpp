// Sends datagrams to itself at a constant rate: sender [RATE] [SECONDS]. Those that are due
// together go together, and none is forgotten: a sender that was late is told so by its counts.

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include <punctual.hpp>

int main(int count, char** arguments) {
  const double rate = count > 1 ? std::atof(arguments[1]) : 5000.0;
  const double seconds = count > 2 ? std::atof(arguments[2]) : 1.0;
  const int to = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof here;
  auto* address = reinterpret_cast<sockaddr*>(&here);
  if (to < 0 || bind(to, address, length) != 0 || getsockname(to, address, &length) != 0) {
    std::perror("a socket");
    return 1;
  }

  punctual::TickerOptions how;
  how.missed = punctual::Missed::all_owed();
  punctual::Ticker pacer(punctual::Rate(rate), how);
  const auto most = static_cast<std::uint64_t>(rate * seconds);
  std::uint64_t sent = 0, calls = 0;
  for (; sent < most; ++calls) {
    for (const auto due : pacer.next_batch(64, std::chrono::microseconds(500))) {
      const auto stamp = due.time_since_epoch().count();
      sendto(to, &stamp, sizeof stamp, 0, address, length);
      ++sent;
    }
  }
  close(to);

  const auto counts = pacer.counts();
  std::printf("%llu datagrams in %llu batches, %llu missed\n",
              static_cast<unsigned long long>(sent), static_cast<unsigned long long>(calls),
              static_cast<unsigned long long>(counts.missed));
  return counts.missed == 0 ? 0 : 1;
}
