#include "simulation/arrivals.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "simulation/streams.h"

namespace berth::simulation {
namespace {

constexpr std::int64_t kHour = 3600;
constexpr std::int64_t kDay = 24 * kHour;
constexpr double kHalfLife = 14.0 * 86400;  // in which the weight of a batch halves
constexpr double kShortest = 3600;          // a shorter past foretells nothing
constexpr double kHoursOfPrior = 6;         // hours of the mean rate beside those of the profile

// Precondition of both: `at` is not before 1970.
bool IsWeekend(std::int64_t at) {
  const std::int64_t day = at / kDay;  // 1970-01-01 was a Thursday
  return (day + 3) % 7 >= 5;
}

std::size_t HourOf(std::int64_t at) { return static_cast<std::size_t>(at % kDay / kHour); }

// Knuth's method, in parts that do not underflow.
std::int64_t Poisson(double mean, Random& random) {
  constexpr double kPart = 30;
  std::int64_t count = 0;
  for (; mean > 0; mean -= kPart) {
    const double limit = std::exp(-std::min(mean, kPart));
    for (double product = random.Unit(); product > limit; product *= random.Unit()) ++count;
  }
  return count;
}

double WeightAt(std::int64_t at, std::int64_t now) {
  return std::exp2(-static_cast<double>(now - at) / kHalfLife);
}

}  // namespace

Arrivals::Arrivals(const RunModel& model, const std::vector<bool>& comes, std::int64_t since)
    : now_(model.now()) {
  const double past = static_cast<double>(now_ - since);
  if (past < kShortest || since < kDay) return;
  std::map<std::size_t, std::vector<std::size_t>> batches;  // members
  for (std::size_t i = 0; i < model.members().size(); ++i) {
    if (comes[i]) batches[model.batch_of(i)].push_back(i);
  }
  std::map<std::string, Queue> queues;
  for (auto& [number, jobs] : batches) {
    const auto submitted = [&](std::size_t job) { return model.members()[job].submitted; };
    std::sort(jobs.begin(), jobs.end(), [&](std::size_t a, std::size_t b) {
      return std::make_tuple(submitted(a), std::cref(model.members()[a].uid)) <
             std::make_tuple(submitted(b), std::cref(model.members()[b].uid));
    });
    Batch batch{.start = submitted(jobs.front())};
    if (batch.start < since) continue;
    for (const std::size_t job : jobs) {
      batch.jobs.push_back({job, static_cast<double>(submitted(job) - batch.start)});
    }
    queues[model.members()[jobs.front()].key.queue].batches.push_back(std::move(batch));
  }
  double jobs_per_second = 0;
  // The weight of the past: the integral of WeightAt.
  const double exposure = kHalfLife / std::log(2.0) * (1 - std::exp2(-past / kHalfLife));
  for (auto& [name, queue] : queues) {
    if (queue.batches.size() < kFewestBatches) continue;
    std::sort(queue.batches.begin(), queue.batches.end(), [&](const Batch& a, const Batch& b) {
      return std::make_tuple(a.start, std::cref(model.members()[a.jobs.front().member].uid)) <
             std::make_tuple(b.start, std::cref(model.members()[b.jobs.front().member].uid));
    });
    double sum = 0;
    for (const Batch& batch : queue.batches) {
      sum += WeightAt(batch.start, now_);
      queue.weights.push_back(sum);
    }
    queue.rate = sum / exposure;
    queue.stream = StreamOf(name);
    double jobs = 0;  // the mean number of a batch
    for (std::size_t i = 0; i < queue.batches.size(); ++i) {
      jobs += WeightAt(queue.batches[i].start, now_) / sum *
              static_cast<double>(queue.batches[i].jobs.size());
    }
    jobs_per_second += queue.rate * jobs;
    queues_.push_back(std::move(queue));
  }
  if (queues_.empty()) return;
  reach_ = std::min<Duration>(std::chrono::seconds(now_ - since), kFarthest);
  const double full = static_cast<double>(kMostArrivals) / jobs_per_second;
  if (full < std::chrono::duration<double>(reach_).count()) {
    reach_ = std::chrono::seconds(std::llround(full));
  }
  MakeProfile(since);
}

void Arrivals::MakeProfile(std::int64_t since) {
  std::array<std::array<double, kHours>, 2> count{};
  std::array<std::array<double, kHours>, 2> hours{};
  for (const Queue& queue : queues_) {
    for (const Batch& batch : queue.batches) {
      count.at(IsWeekend(batch.start) ? 1 : 0).at(HourOf(batch.start)) += 1;
    }
  }
  for (std::int64_t at = since; at < now_; at = (at / kHour + 1) * kHour) {
    const std::int64_t next = std::min((at / kHour + 1) * kHour, now_);
    hours.at(IsWeekend(at) ? 1 : 0).at(HourOf(at)) +=
        static_cast<double>(next - at) / static_cast<double>(kHour);
  }
  double all_count = 0;
  double all_hours = 0;
  for (std::size_t kind = 0; kind < 2; ++kind) {
    for (std::size_t hour = 0; hour < kHours; ++hour) {
      all_count += count.at(kind).at(hour);
      all_hours += hours.at(kind).at(hour);
    }
  }
  if (all_count == 0 || all_hours == 0) return;
  const double mean = all_count / all_hours;
  for (std::size_t kind = 0; kind < 2; ++kind) {
    double kind_count = 0;
    double kind_hours = 0;
    for (std::size_t hour = 0; hour < kHours; ++hour) {
      kind_count += count.at(kind).at(hour);
      kind_hours += hours.at(kind).at(hour);
    }
    const double kind_rate =
        (kind_count + kHoursOfPrior * mean) / (kind_hours + kHoursOfPrior) / mean;
    for (std::size_t hour = 0; hour < kHours; ++hour) {
      const double both = count[0].at(hour) + count[1].at(hour);
      const double hour_rate = (both + kHoursOfPrior * mean) /
                               (hours[0].at(hour) + hours[1].at(hour) + kHoursOfPrior) / mean;
      const double expected = kind_rate * hour_rate;
      profile_.at(kind).at(hour) = (count.at(kind).at(hour) + kHoursOfPrior * mean * expected) /
                                   (hours.at(kind).at(hour) + kHoursOfPrior) / mean;
    }
  }
}

std::vector<Arrival> Arrivals::Draw(std::uint64_t seed, Duration horizon) const {
  std::vector<Arrival> drawn;
  const auto foreseen = std::chrono::ceil<std::chrono::seconds>(std::min(horizon, reach_));
  for (const Queue& queue : queues_) {
    DrawQueue(queue, Random(seed ^ queue.stream), now_ + foreseen.count(), drawn);
  }
  std::stable_sort(drawn.begin(), drawn.end(),
                   [](const Arrival& a, const Arrival& b) { return a.submit < b.submit; });
  return drawn;
}

void Arrivals::DrawQueue(const Queue& queue, Random random, std::int64_t end,
                         std::vector<Arrival>& drawn) const {
  // Batches that began a while ago have jobs to come, too.
  for (std::int64_t from = now_ - RunModel::kBatchSpan; from < end;) {
    const std::int64_t next = (from / kHour + 1) * kHour;
    const auto span = static_cast<double>(next - from);
    const double share = profile_.at(IsWeekend(from) ? 1 : 0).at(HourOf(from));
    Random hour(random.Next());
    const std::int64_t count = Poisson(queue.rate * share * span, hour);
    for (std::int64_t i = 0; i < count; ++i) {
      const double start = static_cast<double>(from - now_) + span * hour.Unit();
      const auto at = std::upper_bound(queue.weights.begin(), queue.weights.end(),
                                       hour.Unit() * queue.weights.back());
      const auto place =
          std::min(static_cast<std::size_t>(at - queue.weights.begin()), queue.batches.size() - 1);
      for (const Arrival& job : queue.batches[place].jobs) {
        if (start + job.submit > 0) drawn.push_back({job.member, start + job.submit});
      }
    }
    from = next;
  }
}

}  // namespace berth::simulation
