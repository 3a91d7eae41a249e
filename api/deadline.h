// api/deadline.h — the time by which a job has to end, in an annotation that its Workload copies:
//
//     berth.dev/deadline: "2026-01-05T14:20:00Z"
//
// A queue whose policy honours deadlines (api/queue_policy.h) orders its workloads by them.
//
// Threads: pure functions. Errors: kInvalid with the annotation.
#pragma once

#include <optional>

#include "api/object_meta.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/rfc3339.h"

namespace berth::api {

inline constexpr char kDeadlineAnnotation[] = "berth.dev/deadline";

// nullopt: the job has no deadline.
inline Result<std::optional<WallTime>> ReadDeadline(const StringMap& annotations) {
  const std::string* text = FindValue(annotations, kDeadlineAnnotation);
  if (text == nullptr) return std::optional<WallTime>();
  const std::optional<WallTime> deadline = ParseTime(*text);
  if (!deadline) {
    return Error{ErrorCode::kInvalid, std::string(kDeadlineAnnotation) + ": \"" + *text +
                                          "\" is not a time such as 2026-01-05T14:20:00Z"};
  }
  return std::optional<WallTime>(*deadline);
}

// The deadline of a job or Workload. An annotation that cannot be read counts as absent.
inline std::optional<WallTime> DeadlineOf(const StringMap& annotations) {
  const auto deadline = ReadDeadline(annotations);
  return deadline ? *deadline : std::nullopt;
}

}  // namespace berth::api
