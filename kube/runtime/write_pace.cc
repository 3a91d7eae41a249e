#include "kube/runtime/write_pace.h"

#include <algorithm>

namespace berth::kube {
namespace {

constexpr Duration kWindow = std::chrono::minutes(5);
constexpr Duration kChangeInterval = std::chrono::milliseconds(100);  // at least, of the rate
// Answers are slow above kSlowFactor times the fastest, and kSlack: a busy core alone is no sign.
constexpr int kSlowFactor = 3;
constexpr Duration kSlack = std::chrono::milliseconds(10);
constexpr int kMeanOf = 16;      // answers that the mean remembers
constexpr double kIncrease = 5;  // writes per second, at each change
constexpr double kDecrease = 2.0 / 3;
constexpr double kLeftForFacts = WritePace::kBurst / 2.0;

}  // namespace

void WritePace::OnAnswer(SteadyTime now, Duration latency) {
  if (now - window_at_ >= kWindow) {
    window_at_ = now;
    fastest_before_ = fastest_;
    fastest_ = Duration::max();
  }
  fastest_ = std::min(fastest_, latency);
  mean_ += (latency - mean_) / kMeanOf;
  if (now - changed_at_ < std::max(kChangeInterval, mean_)) return;
  changed_at_ = now;
  const bool slow = mean_ > std::min(fastest_, fastest_before_) * kSlowFactor + kSlack;
  const double next = slow ? rate() * kDecrease : rate() + kIncrease;
  bucket_.set_per_second(std::clamp(next, kSlowest, kFastest));
}

Duration WritePace::Take(SteadyTime now, Rank rank) {
  const bool patient = rank == Rank::kCommentary && now - commentary_at_ < kPatience;
  if (const Duration wait = bucket_.Wait(now, patient ? kLeftForFacts : 1);
      wait > Duration::zero()) {
    return std::max<Duration>(wait, std::chrono::milliseconds(1));
  }
  bucket_.Take();
  commentary_before_ = commentary_at_;
  if (rank == Rank::kCommentary) commentary_at_ = now;
  return Duration::zero();
}

}  // namespace berth::kube
