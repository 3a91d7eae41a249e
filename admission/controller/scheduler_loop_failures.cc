// What becomes of a decision of the SchedulerLoop that could not be written.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "admission/controller/admission_metrics.h"
#include "admission/controller/scheduler_loop.h"
#include "base/log/log.h"

namespace berth::admission {
namespace {

constexpr Duration kRetry = std::chrono::milliseconds(100);  // doubles
constexpr Duration kLongestRetry = std::chrono::seconds(10);
constexpr int kMostDoublings = 10;
constexpr Duration kPutAside = std::chrono::seconds(10);

}  // namespace

void SchedulerLoop::TakeBack(const api::ObjectKey& key, const Error& error) {
  Log(error.code == ErrorCode::kConflict ? LogLevel::kInfo : LogLevel::kWarning,
      "admission not written",
      {{"workload", key.ToString()},
       {"code", std::string(ErrorCodeName(error.code))},
       {"error", error.message}});
  parts_.metrics.OnAdmissionFailed();
  switch (error.code) {
    case ErrorCode::kNotFound: return;  // its deletion is on its way to the informer
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kInternal:
    case ErrorCode::kConflict:  // our copy was old: read, and decide again
      return AfterFailure(key, &SchedulerLoop::ReadBackNow);
    default: break;
  }
  // Refused for good as it is: out of the queues until it changes, or for a while.
  parts_.scheduler.ForgetWorkload(key);
  put_aside_.insert(key);
  parts_.manager.executor().PostAfter(kPutAside, [weak = std::weak_ptr(self_), key] {
    const auto self = weak.lock();
    if (self != nullptr && (*self)->put_aside_.erase(key) > 0) (*self)->Reapply(key);
  });
}

// Its preemptor is decided on again, on what is there by then.
void SchedulerLoop::OnNotEvicted(const api::ObjectKey& key, const Error& error) {
  LogWarning("preemption not written, will be decided again",
             {{"workload", key.ToString()}, {"error", error.message}});
  switch (error.code) {
    case ErrorCode::kNotFound: return;  // its deletion is on its way to the informer
    case ErrorCode::kConflict:          // what is there has just been read
      return AfterFailure(key, &SchedulerLoop::Reapply);
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kInternal: return AfterFailure(key, &SchedulerLoop::ReadBackNow);
    default: break;
  }
  // Refused for good as it is. Deciding again at once would only be refused again.
  parts_.manager.executor().PostAfter(kPutAside, [weak = std::weak_ptr(self_), key] {
    if (const auto self = weak.lock()) (*self)->Reapply(key);
  });
}

// The first failure is looked into at once. A server that goes on failing is asked less and less;
// until then what was decided stays assumed.
void SchedulerLoop::AfterFailure(const api::ObjectKey& key,
                                 void (SchedulerLoop::*act)(const api::ObjectKey&)) {
  Failures& failures = failures_[key];
  const int before = failures.count++;
  if (before == 0) return (this->*act)(key);
  failures.retry = next_retry_++;
  const Duration wait =
      std::min<Duration>(kRetry * (1 << std::min(before, kMostDoublings)), kLongestRetry);
  parts_.manager.executor().PostAfter(
      wait, [weak = std::weak_ptr(self_), key, act, retry = failures.retry] {
        const auto self = weak.lock();
        if (self == nullptr) return;
        const auto found = (*self)->failures_.find(key);
        if (found != (*self)->failures_.end() && found->second.retry == retry) ((**self).*act)(key);
      });
}

void SchedulerLoop::DropRetry(const api::ObjectKey& key) {
  if (const auto found = failures_.find(key); found != failures_.end()) found->second.retry = 0;
}

// Until the answer comes the workload stays assumed: its quota is held, nobody decides on it.
void SchedulerLoop::ReadBack(const api::ObjectKey& key, int attempt) {
  parts_.manager.client().Get(
      api::KindOf<api::Workload>(), key,
      [weak = std::weak_ptr(self_), key, attempt](const Result<kube::JsonPtr>& answer) {
        const auto self = weak.lock();
        if (self == nullptr) return;
        SchedulerLoop& loop = **self;
        if (answer && *answer != nullptr) {
          loop.workloads_.Ingest(**answer);
          return loop.Reapply(key);
        }
        if (answer || answer.error().code == ErrorCode::kNotFound) {
          loop.failures_.erase(key);  // it is gone
          return;
        }
        const Duration wait = std::min<Duration>(kRetry * (1 << attempt), kLongestRetry);
        loop.parts_.manager.executor().PostAfter(wait, [weak, key, attempt] {
          if (const auto still = weak.lock()) {
            (*still)->ReadBack(key, std::min(attempt + 1, kMostDoublings));
          }
        });
      });
}

// Forgets what was assumed; what the informer has is the truth.
void SchedulerLoop::Reapply(const api::ObjectKey& key) {
  const WallTime now = parts_.clock.Now();
  parts_.scheduler.Unassume(key, now);
  if (const auto object = workloads_.Get(key)) parts_.scheduler.ApplyWorkload(object, now);
  Changed();
}

}  // namespace berth::admission
