// api/checkpoint.h — what a job says of its checkpoints, in an annotation that its Workload copies:
//
//     berth.dev/checkpoint-every: 30m     a restart repeats at most half an hour
//
// Threads: pure functions. Errors: kInvalid with the annotation.
#pragma once

#include <algorithm>
#include <optional>

#include "api/object_meta.h"
#include "base/clock.h"
#include "base/go_duration.h"
#include "base/result.h"

namespace berth::api {

inline constexpr char kCheckpointEveryAnnotation[] = "berth.dev/checkpoint-every";

// nullopt: the job makes no checkpoints.
inline Result<std::optional<Duration>> CheckpointEvery(const StringMap& annotations) {
  const std::string* text = FindValue(annotations, kCheckpointEveryAnnotation);
  if (text == nullptr) return std::optional<Duration>();
  const std::optional<Duration> every = ParseGoDuration(*text);
  if (!every || *every <= Duration::zero()) {
    return Error{ErrorCode::kInvalid, std::string(kCheckpointEveryAnnotation) + ": \"" + *text +
                                          "\" is not a duration above zero such as 30m"};
  }
  return std::optional<Duration>(*every);
}

// Whether the job claims in an annotation that can be read that it makes checkpoints.
inline bool ClaimsCheckpoints(const StringMap& annotations) {
  const auto every = CheckpointEvery(annotations);
  return every && every->has_value();
}

// The most work that a stop loses after a run of `ran`: all of it, or the time between two
// checkpoints, which counts as `least` at least. An annotation that cannot be read counts as
// absent.
inline Duration WorkSinceCheckpoint(const StringMap& annotations, Duration ran, Duration least) {
  const auto every = CheckpointEvery(annotations);
  if (!every || !*every) return ran;
  return std::min(ran, std::max(**every, least));
}

}  // namespace berth::api
