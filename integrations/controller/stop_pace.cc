#include "integrations/controller/stop_pace.h"

#include <algorithm>

namespace berth::integrations {

Duration StopPace::Take(const api::ObjectKey& job, SteadyTime now) {
  const auto is_old = [now](const Stops& stops) { return now - stops.last > kForgotten; };
  if (now >= sweep_at_) {
    std::erase_if(stops_, [&](const auto& each) { return is_old(each.second); });
    sweep_at_ = now + kForgotten;
  }
  Stops& stops = stops_[job];
  if (is_old(stops)) stops.count = 0;
  Duration wait = stops.count < kBurst ? Duration::zero() : kFirstWait;
  for (int i = kBurst; i < stops.count && wait < kLongestWait; ++i) wait *= 2;
  const Duration left = stops.last + wait - now;
  if (left > Duration::zero()) return left;
  stops = {stops.count + 1, now};
  return Duration::zero();
}

}  // namespace berth::integrations
