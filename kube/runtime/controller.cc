#include "kube/runtime/controller.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log/log.h"

namespace berth::kube {

namespace {

constexpr Duration kShortestRest = std::chrono::milliseconds(2);  // shorter rests are skipped
constexpr Duration kLongestRest = std::chrono::seconds(1);

}  // namespace

// One call of Reconcile; reports once: by Complete, or when the last reference is dropped.
class Controller::OpenLook {
 public:
  OpenLook(std::weak_ptr<Controller*> controller, api::ObjectKey key, SteadyTime begin)
      : controller_(std::move(controller)), key_(std::move(key)), begin_(begin) {}
  ~OpenLook() { Complete(Error{ErrorCode::kInternal, "the reconciler dropped its callback"}); }
  OpenLook(const OpenLook&) = delete;
  OpenLook& operator=(const OpenLook&) = delete;

  void Complete(const Result<NextLook>& result) {
    if (std::exchange(complete_, true)) return;
    if (const auto controller = controller_.lock()) (*controller)->Finish(key_, begin_, result);
  }

 private:
  std::weak_ptr<Controller*> controller_;
  api::ObjectKey key_;
  SteadyTime begin_;
  bool complete_ = false;
};

Controller::Controller(Executor& executor, Reconciler& reconciler, ControllerOptions options)
    : executor_(executor),
      reconciler_(reconciler),
      options_(options),
      self_(std::make_shared<Controller*>(this)),
      queue_(
          executor, options.queue, [this] { WakeUp(); }, options.stats) {
  if (options.stats != nullptr && options.enabled) {
    options.stats->AllowConcurrent(options.max_concurrent);
  }
}

void Controller::AddSweep(Sweep sweep) {
  sweeps_.push_back(std::move(sweep));
  WakeUp();
}

void Controller::Add(const api::ObjectKey& key) {
  if (!options_.enabled) return;
  const bool comes_by_itself =
      !running_ && std::any_of(sweeps_.begin(), sweeps_.end(),
                               [&key](const Sweep& sweep) { return sweep.covers(key); });
  if (!comes_by_itself) queue_.Add(key);
}

void Controller::Start() {
  if (!options_.enabled) return;
  running_ = true;
  sweeps_done_ = 0;
  place_ = {};
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
  for (int turn = 0; running_ && in_flight_ < options_.max_concurrent; ++turn) {
    if (turn == options_.looks_in_a_row) return WakeUp();
    // Each turn adds one key of the sweep and takes one key, so that swept and added keys do not
    // starve each other.
    const Left left = SweepOn();
    if (const std::optional<api::ObjectKey> key = queue_.Take()) {
      Look(*key);
    } else if (left == Left::kNone) {
      return;
    }
  }
}

Controller::Left Controller::SweepOn() {
  if (sweeps_done_ == sweeps_.size()) return Left::kNone;
  if (const std::optional<Sweep::Step> step = sweeps_[sweeps_done_].next(place_)) {
    place_ = step->place;
    if (step->key) queue_.Add(*step->key);
  } else {
    ++sweeps_done_;
    place_ = {};
  }
  return Left::kSome;
}

void Controller::Look(const api::ObjectKey& key) {
  ++in_flight_;
  const SteadyTime begin = Now();
  if (options_.stats != nullptr) options_.stats->OnBegun(begin);
  auto look = std::make_shared<OpenLook>(self_, key, begin);
  reconciler_.Reconcile(key, [look](const Result<NextLook>& result) { look->Complete(result); });
}

SteadyTime Controller::Now() const {
  if (options_.stats != nullptr) return options_.stats->Now();
  return options_.rest_clock == nullptr ? SteadyTime{} : options_.rest_clock->SteadyNow();
}

void Controller::Finish(const api::ObjectKey& key, SteadyTime begin,
                        const Result<NextLook>& result) {
  --in_flight_;
  if (options_.stats != nullptr) {
    options_.stats->OnLooked(begin, !result         ? LookResult::kError
                                    : result->after ? LookResult::kRequeueAfter
                                                    : LookResult::kSuccess);
  }
  if (result) {
    queue_.Forget(key);
    if (result->after) queue_.AddAfter(key, std::min(*result->after, options_.longest_sleep));
  } else {
    const Error& error = result.error();
    const bool refused = error.code == ErrorCode::kInvalid || error.code == ErrorCode::kForbidden;
    // A conflict is frequent and harmless: another client wrote between this read and write.
    const LogLevel level =
        error.code == ErrorCode::kConflict ? LogLevel::kDebug : LogLevel::kWarning;
    Log(level, refused ? "reconcile refused, will retry" : "reconcile failed, will retry",
        {{"controller", std::string(reconciler_.name())},
         {"key", key.ToString()},
         {"code", std::string(ErrorCodeName(error.code))},
         {"error", error.message}});
    queue_.AddRateLimited(key);
  }
  Duration rest{};
  if (options_.rest_clock != nullptr) rest = std::min<Duration>(Now() - begin, kLongestRest);
  if (rest < kShortestRest) {
    queue_.Done(key);
  } else {
    executor_.PostAfter(rest, [weak = std::weak_ptr(self_), key] {
      if (const auto self = weak.lock()) (*self)->queue_.Done(key);
    });
  }
  WakeUp();
}

}  // namespace berth::kube
