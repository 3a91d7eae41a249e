#include "kube/runtime/controller.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log/log.h"

namespace berth::kube {

// One call of Reconcile; reports once, by Complete or else when nobody holds it any more.
class Controller::Look {
 public:
  Look(std::weak_ptr<Controller*> controller, api::ObjectKey key)
      : controller_(std::move(controller)), key_(std::move(key)) {}
  ~Look() { Complete(Error{ErrorCode::kInternal, "the reconciler dropped its callback"}); }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;

  void Complete(const Result<NextLook>& result) {
    if (std::exchange(complete_, true)) return;
    if (const auto controller = controller_.lock()) (*controller)->Finish(key_, result);
  }

 private:
  std::weak_ptr<Controller*> controller_;
  api::ObjectKey key_;
  bool complete_ = false;
};

Controller::Controller(Executor& executor, Reconciler& reconciler, ControllerOptions options)
    : executor_(executor),
      reconciler_(reconciler),
      options_(options),
      self_(std::make_shared<Controller*>(this)),
      queue_(executor, options.queue, [this] { WakeUp(); }) {}

void Controller::Start() {
  running_ = true;
  WakeUp();
}

void Controller::WakeUp() {
  if (!running_ || std::exchange(woken_, true)) return;
  executor_.Post([weak = std::weak_ptr(self_)] {
    if (const auto self = weak.lock()) (*self)->Run();
  });
}

void Controller::Run() {
  woken_ = false;
  while (running_ && in_flight_ < options_.max_concurrent) {
    const std::optional<api::ObjectKey> key = queue_.Take();
    if (!key) return;
    ++in_flight_;
    auto look = std::make_shared<Look>(self_, *key);
    reconciler_.Reconcile(*key, [look](const Result<NextLook>& result) { look->Complete(result); });
  }
}

void Controller::Finish(const api::ObjectKey& key, const Result<NextLook>& result) {
  --in_flight_;
  if (result) {
    queue_.Forget(key);
    if (result->after) queue_.AddAfter(key, std::min(*result->after, options_.longest_sleep));
  } else {
    const Error& error = result.error();
    const bool refused = error.code == ErrorCode::kInvalid || error.code == ErrorCode::kForbidden;
    // A conflict is everyday life: somebody wrote between our reading and our writing.
    const LogLevel level =
        error.code == ErrorCode::kConflict ? LogLevel::kDebug : LogLevel::kWarning;
    Log(level,
        refused ? "reconcile refused, will retry much later" : "reconcile failed, will retry",
        {{"controller", std::string(reconciler_.name())},
         {"key", key.ToString()},
         {"code", std::string(ErrorCodeName(error.code))},
         {"error", error.message}});
    if (refused) {
      queue_.Forget(key);
      queue_.AddAfter(key, options_.after_refusal);
    } else {
      queue_.AddRateLimited(key);
    }
  }
  queue_.Done(key);
  WakeUp();
}

}  // namespace berth::kube
