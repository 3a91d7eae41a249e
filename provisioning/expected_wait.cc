#include "provisioning/expected_wait.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/strings.h"

namespace berth::provisioning {
namespace {

using api::StockEntry;
using api::StockKey;
using api::StockOutcome;
using api::StockResult;

constexpr std::int64_t kHalfLife = 7LL * 24 * 3600;
constexpr double kEnough = 10;  // weight of outcomes that need no others beside them
constexpr double kPriorWeight = 3;
constexpr std::int64_t kNoticed = 60;  // a request that waits for longer tells of missing stock

// Waiting times that 10, 30, 50, 70 and 90 of 100 requests do not exceed.
using Prior = std::array<std::int64_t, 5>;
constexpr Prior kSmallGpu{2, 8, 20, 47, 165};  // median 20 s, 5 minutes in 19 of 20 cases
constexpr Prior kLargeGpu{3, 36, 180, 907, 9385};
// Two hours in stock, thirty hours out of stock, in turn.
constexpr Prior kScarceGpu{4400, 31600, 67900, 123000, 241700};

bool IsLetterOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

const Prior& PriorOf(const StockKey& key) {
  const std::string text = " " + ToLower(key.flavor + " " + key.shape);
  const auto names = [&text](const char* word) {  // at the beginning of a word: not in "pool4"
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      if (!IsLetterOrDigit(text[at - 1])) return true;
    }
    return false;
  };
  if (names("h100") || names("h200") || names("b200")) return kScarceGpu;
  if (names("t4") || names("l4")) return kSmallGpu;
  return kLargeGpu;
}

// 2^(-age/half-life), linear between the powers.
double WeightOf(Duration age) {
  std::int64_t left =
      std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(age).count(), 0);
  double weight = 1;
  for (; left >= kHalfLife && weight > 1e-6; left -= kHalfLife) weight /= 2;
  const std::int64_t rest = std::min(left, kHalfLife);
  return weight * (1 - static_cast<double>(rest) / (2.0 * static_cast<double>(kHalfLife)));
}

bool SameMachinesAs(const StockKey& a, const StockKey& b) {
  return a.flavor == b.flavor && a.zone == b.zone && a.shape == b.shape;
}

struct Span {
  WallTime from{};
  WallTime to{};  // max: it has not ended
};

// Whether another wait had been noticed when a request was made at `at`.
bool IsCrowded(const std::vector<Span>& spans, WallTime at) {
  return std::any_of(spans.begin(), spans.end(), [at](const Span& span) {
    return span.from + std::chrono::seconds(kNoticed) <= at && at < span.to;
  });
}

// The waits for the same machines, of requests that were answered by stock or by its lack.
std::vector<Span> SpansOf(const api::ClassStock& stock, const StockKey& key) {
  std::vector<Span> spans;
  for (const StockEntry& entry : stock) {
    if (!SameMachinesAs(entry.key, key)) continue;
    for (const StockOutcome& outcome : entry.outcomes) {
      if (outcome.wait_seconds < kNoticed) continue;
      spans.push_back(
          {outcome.asked_at, outcome.asked_at + std::chrono::seconds(outcome.wait_seconds)});
    }
  }
  return spans;
}

}  // namespace

void WaitForecast::Gather(const EtaInput& input) {
  const api::ClassStock& stock = input.stock.Of(input.provisioning_class);
  std::vector<Span> spans = SpansOf(stock, input.key);
  for (const StillWaiting& each : input.waiting) {
    if (SameMachinesAs(each.key, input.key)) {
      spans.push_back({input.now - std::chrono::seconds(each.seconds), WallTime::max()});
    }
  }
  const auto add = [&](double share, auto belongs) {
    double sum = 0;
    for (const StockEntry& entry : stock) {
      if (!belongs(entry.key)) continue;
      for (const StockOutcome& outcome : entry.outcomes) {
        const double weight = share * WeightOf(input.now - outcome.asked_at);
        samples_.push_back({outcome.wait_seconds, weight, outcome.result == StockResult::kGranted,
                            IsCrowded(spans, outcome.asked_at)});
        sum += weight;
      }
    }
    for (const StillWaiting& each : input.waiting) {
      if (!belongs(each.key)) continue;
      const WallTime asked_at = input.now - std::chrono::seconds(each.seconds);
      samples_.push_back({each.seconds, share, false, IsCrowded(spans, asked_at)});
    }
    return sum;
  };
  double known = add(1, [&](const StockKey& key) { return key == input.key; });
  if (known < kEnough) {
    known += add(0.5, [&](const StockKey& key) {
      return SameMachinesAs(key, input.key) && key.size != input.key.size;
    });
  }
  if (known < kEnough) {
    add(0.25, [&](const StockKey& key) {
      return key.flavor == input.key.flavor && !SameMachinesAs(key, input.key);
    });
  }
  KeepAlike(IsCrowded(spans, input.now));
}

// Keeps the requests that found the machines as the new one does, where enough of these are known.
void WaitForecast::KeepAlike(bool crowded) {
  double alike = 0;
  for (const Sample& sample : samples_) {
    if (sample.crowded == crowded && sample.came) alike += sample.weight;
  }
  if (alike < kEnough) return;
  std::erase_if(samples_, [crowded](const Sample& sample) { return sample.crowded != crowded; });
}

void WaitForecast::AddPrior(const EtaInput& input) {
  const Prior& prior = PriorOf(input.key);
  for (const std::int64_t wait : prior) {
    samples_.push_back({wait, kPriorWeight / static_cast<double>(prior.size()), true, false});
  }
}

WaitForecast::WaitForecast(const EtaInput& input)
    : waited_(std::max<std::int64_t>(input.waited_seconds, 0)) {
  for (const StockEntry& entry : input.stock.Of(input.provisioning_class)) {
    if (SameMachinesAs(entry.key, input.key)) {
      outcomes_ += static_cast<std::int32_t>(entry.outcomes.size());
    }
  }
  if (outcomes_ > 0) basis_ = Eta::Basis::kObserved;
  Gather(input);
  AddPrior(input);
  std::vector<Survival::Sample> known;
  for (const Sample& sample : samples_)
    known.push_back({sample.seconds, sample.weight, sample.came});
  samples_.clear();
  waits_ = Survival(std::move(known));
}

std::int64_t WaitForecast::ChanceWithin(std::int64_t span) const {
  return std::lround(1000 * (1 - waits_.LeftAfter(waited_, span)));
}

Eta WaitForecast::eta() const {
  return {.p10_seconds = waits_.Quantile(waited_, 0.1, kMostEtaSeconds),
          .p50_seconds = waits_.Quantile(waited_, 0.5, kMostEtaSeconds),
          .p90_seconds = waits_.Quantile(waited_, 0.9, kMostEtaSeconds),
          .basis = basis_,
          .outcomes = outcomes_};
}

}  // namespace berth::provisioning
