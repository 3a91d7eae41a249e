// The SchedulerLoop's reactions to decisions whose write failed.
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
    case ErrorCode::kNotFound: return;  // the informer will deliver the deletion
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kTooManyRequests:
    case ErrorCode::kInternal:
    case ErrorCode::kConflict:  // the informer's copy is old: read, decide again
      return AfterFailure(key, &SchedulerLoop::ReadBackNow);
    default: break;
  }
  // The API refuses the write for good: the workload leaves the queues until it changes, or a time.
  scheduler_.ForgetWorkload(key);
  put_aside_.insert(key);
  parts_.manager.executor().PostAfter(kPutAside, [weak = std::weak_ptr(self_), key] {
    const auto self = weak.lock();
    if (self != nullptr && (*self)->put_aside_.erase(key) > 0) (*self)->Reapply(key);
  });
}

// The next cycle decides on its preemptor again.
void SchedulerLoop::OnNotEvicted(const api::ObjectKey& key, const Error& error) {
  LogWarning("preemption not written, will be decided again",
             {{"workload", key.ToString()}, {"error", error.message}});
  switch (error.code) {
    case ErrorCode::kNotFound: return;  // the informer will deliver the deletion
    case ErrorCode::kConflict:          // the present object has just been read
      return AfterFailure(key, &SchedulerLoop::Reapply);
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kTooManyRequests:
    case ErrorCode::kInternal: return AfterFailure(key, &SchedulerLoop::ReadBackNow);
    default: break;
  }
  // The API refuses the write for good; deciding again at once would repeat the refusal.
  parts_.manager.executor().PostAfter(kPutAside, [weak = std::weak_ptr(self_), key] {
    if (const auto self = weak.lock()) (*self)->Reapply(key);
  });
}

// The first failure is read back at once; repeated failures are read back at growing intervals.
// Until then the decision stays assumed.
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

void SchedulerLoop::TellIfWritten(const api::ObjectKey& key, const Error& error, Tell tell) {
  switch (error.code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kInternal: unanswered_[key] = std::move(tell); return;
    default: return;
  }
}

void SchedulerLoop::DropRetry(const api::ObjectKey& key) {
  unanswered_.erase(key);
  if (const auto found = failures_.find(key); found != failures_.end()) found->second.retry = 0;
}

// Until the answer the workload stays assumed: it holds its quota, and no cycle decides on it.
void SchedulerLoop::ReadBack(const api::ObjectKey& key, int attempt) {
  parts_.manager.client().Get(
      api::KindOf<api::Workload>(), key,
      [weak = std::weak_ptr(self_), key, attempt](const Result<kube::JsonPtr>& answer) {
        const auto self = weak.lock();
        if (self == nullptr) return;
        SchedulerLoop& loop = **self;
        if (answer && *answer != nullptr) {
          loop.workloads_.Ingest(**answer);
          const auto fresh = loop.workloads_.Get(key);
          if (auto unanswered = loop.unanswered_.extract(key); unanswered && fresh != nullptr) {
            unanswered.mapped()(*fresh);
          }
          return loop.Reapply(key);
        }
        if (answer || answer.error().code == ErrorCode::kNotFound) {
          loop.failures_.erase(key);  // the Workload is gone
          loop.unanswered_.erase(key);
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

// Drops the assumption and applies the informer's object.
void SchedulerLoop::Reapply(const api::ObjectKey& key) {
  const WallTime now = parts_.clock.Now();
  scheduler_.Unassume(key, now);
  if (const auto object = workloads_.Get(key)) scheduler_.ApplyWorkload(object, now);
  Changed();
}

}  // namespace berth::admission
