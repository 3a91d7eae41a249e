// base/token_bucket.h — counts the turns that a rate allows.
//
// A bucket holds at most `burst` turns, and gets `per_second` of them back every second.
//
// Pure: the instant is an argument. Threads: one. Errors: none.
#pragma once

#include "base/clock.h"

namespace berth {

class TokenBucket {
 public:
  struct Limit {
    double per_second = 0;  // greater than 0
    int burst = 1;          // at least 1
  };

  TokenBucket(Limit limit, SteadyTime now)
      : limit_(limit), tokens_(limit.burst), refilled_at_(now) {}

  // How long it takes until the bucket holds so many turns; zero: it holds them now.
  Duration Wait(SteadyTime now, double turns = 1);
  // Takes one turn, perhaps ahead of its time.
  void Take() { tokens_ -= 1; }
  void GiveBack() { tokens_ += 1; }

  double per_second() const { return limit_.per_second; }
  // Counts for the time since the last Wait too.
  void set_per_second(double per_second) { limit_.per_second = per_second; }

 private:
  Limit limit_;
  double tokens_;  // negative: turns that were taken ahead
  SteadyTime refilled_at_;
};

}  // namespace berth
