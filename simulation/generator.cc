#include "simulation/generator.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace berth::simulation {
namespace {

constexpr double kMicrosPerMilli = 1000;

// Whole milliseconds: the last digits of logarithms differ between machines.
Duration ToSpan(double micros) {
  const double bounded =
      std::clamp(micros, 0.0, static_cast<double>(Duration(kMaxTraceTime).count()));
  return Duration(std::llround(bounded / kMicrosPerMilli) *
                  static_cast<std::int64_t>(kMicrosPerMilli));
}

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : random_(seed) {}

  Duration Span(const RandomSpan& span) {
    const auto first = static_cast<double>(span.first.count());
    switch (span.kind) {
      case RandomSpan::Kind::kFixed: return span.first;
      case RandomSpan::Kind::kUniform:
        return ToSpan(first + random_.Unit() * (static_cast<double>(span.last.count()) - first));
      case RandomSpan::Kind::kExponential: return ToSpan(-first * std::log(1 - random_.Unit()));
      case RandomSpan::Kind::kLognormal: return ToSpan(first * std::exp(span.sigma * Normal()));
      case RandomSpan::Kind::kValues: return span.values[random_.Below(span.values.size())];
    }
    return span.first;
  }

  const JobShapeChoice& Shape(const std::vector<JobShapeChoice>& shapes) {
    double sum = 0;
    for (const JobShapeChoice& each : shapes) sum += each.weight;
    double place = random_.Unit() * sum;
    for (const JobShapeChoice& each : shapes) {
      if (place < each.weight) return each;
      place -= each.weight;
    }
    return shapes.back();
  }

  bool Happens(double share) { return random_.Unit() < share; }

  std::int32_t Between(std::int32_t least, std::int32_t most) {
    return least +
           static_cast<std::int32_t>(random_.Below(static_cast<std::uint64_t>(most - least) + 1));
  }

 private:
  // Draws by the polar method of Marsaglia.
  double Normal() {
    while (true) {
      const double x = 2 * random_.Unit() - 1;
      const double y = 2 * random_.Unit() - 1;
      const double square = x * x + y * y;
      if (square > 0 && square < 1) return x * std::sqrt(-2 * std::log(square) / square);
    }
  }

  Random random_;
};

class TraceMaker {
 public:
  Status Add(const JobSource& source, std::uint64_t seed) {
    Chance chance(seed);
    return source.phases.empty() ? AddArrivals(source, chance) : AddStages(source, chance);
  }

  Trace Take() {
    trace_.unit = TraceUnit::kJob;
    return std::move(trace_);
  }

 private:
  // nullptr: there are too many.
  TraceJob* NewJob(const JobSource& source, Chance& chance) {
    if (trace_.jobs.size() == kMaxTraceJobs) return nullptr;
    TraceJob& job = trace_.jobs.emplace_back();
    job.line = static_cast<std::int64_t>(trace_.jobs.size());
    job.queue = source.queue;
    job.priority = source.priority;
    const JobShapeChoice& shape = chance.Shape(source.shapes);
    job.pods = shape.pods;
    job.requests = shape.requests;
    job.run = chance.Span(source.run);
    if (source.failing > 0) job.failed = chance.Happens(source.failing);
    const Duration linger = chance.Span(source.linger);
    if (linger > Duration::zero()) {
      job.result = job.run;
      job.run = std::min<Duration>(job.run + linger, kMaxTraceTime);
    }
    return &job;
  }

  static Error TooMany() {
    return {ErrorCode::kInvalid,
            "the generator makes more than " + std::to_string(kMaxTraceJobs) + " jobs"};
  }

  Status AddArrivals(const JobSource& source, Chance& chance) {
    Duration at = source.start;
    for (std::int64_t i = 0; i < source.count; ++i) {
      if (i > 0) at = std::min<Duration>(at + chance.Span(source.between), kMaxTraceTime);
      TraceJob* job = NewJob(source, chance);
      if (job == nullptr) return TooMany();
      job->submit = at;
    }
    return OkStatus();
  }

  Status AddStages(const JobSource& source, Chance& chance) {
    std::vector<std::int32_t> last;  // the jobs of the stage before
    for (const StagePhase& phase : source.phases) {
      for (std::int32_t stage = 0; stage < phase.stages; ++stage) {
        const auto width = static_cast<std::int32_t>(last.size());
        std::int32_t least = phase.min;
        std::int32_t most = phase.max;
        if (width > 0) {
          least = std::clamp(width - phase.variation, phase.min, phase.max);
          most = std::clamp(width + phase.variation, phase.min, phase.max);
        }
        std::vector<std::int32_t> next;
        const Duration think = chance.Span(source.think);
        for (std::int32_t left = chance.Between(least, most); left > 0; --left) {
          next.push_back(static_cast<std::int32_t>(trace_.jobs.size()));
          TraceJob* job = NewJob(source, chance);
          if (job == nullptr) return TooMany();
          job->submit = last.empty() ? source.start : think;
          job->after = last;
        }
        last = std::move(next);
      }
    }
    return OkStatus();
  }

  Trace trace_;
};

}  // namespace

Result<Trace> GenerateTrace(const std::vector<JobSource>& sources, std::uint64_t seed) {
  TraceMaker maker;
  Random seeds(seed);
  for (const JobSource& source : sources) BERTH_CHECK_OK(maker.Add(source, seeds.Next()));
  return maker.Take();
}

}  // namespace berth::simulation
