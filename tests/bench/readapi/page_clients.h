// tests/bench/readapi/page_clients.h — open pages as a process of their own: HTTPS connections that
// read event streams, and what a page asks for when it opens.
//
// A change carries the instant at which it was made ("made=NANOSECONDS;", of CLOCK_MONOTONIC, which
// processes share); a client takes the time from there to its receipt. Nothing else is parsed. A
// page asks for lists and counts again as the view "Now" does.
//
// Threads: none may exist when Start forks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/support/process.h"

namespace berth::bench {

inline constexpr char kMadeMark[] = "made=";
std::int64_t MonotonicNanos();

// Times in milliseconds.
struct PageTimes {
  long changes = 0;  // times that a client received a change
  double p50 = 0;
  double p99 = 0;
  double worst = 0;
  double first_view_p50 = 0;
  double first_view_p99 = 0;  // from the opening of all pages at once to the rows of a page
  long answers = 0;           // lists and counts that were asked for again
  double answer_p50 = 0;
  double answer_p99 = 0;
  double megabytes = 0;  // received by all
  int resyncs = 0;
  int lost = 0;         // streams that ended
  int tried_again = 0;  // requests and streams whose connection failed
};

class PageClients {
 public:
  static PageClients Start();

  // Opens `count` pages at once, half of them with sight of one of `namespaces` namespaces. Returns
  // when every stream has begun and every page has its rows; the time of changes counts from then.
  void Open(std::uint16_t port, const std::string& ca_pem, int count, int namespaces);
  // Ends the streams.
  PageTimes Close();

  pid_t process() const { return child_->process(); }

 private:
  PageClients(std::unique_ptr<Child> child, int commands, int answers)
      : child_(std::move(child)), commands_(commands), answers_(answers) {}

  std::unique_ptr<Child> child_;
  int commands_;
  int answers_;
};

}  // namespace berth::bench
