#include "kube/runtime/manager.h"

#include <algorithm>
#include <utility>

namespace berth::kube {

Manager::Manager(ApiClient& client, Executor& executor, RuntimeStats* stats)
    : client_(client),
      executor_(executor),
      stats_(stats),
      self_(std::make_shared<Manager*>(this)) {}

Manager::~Manager() { Stop(); }

Controller& Manager::AddController(Reconciler& reconciler, ControllerOptions options,
                                   std::vector<const InformerBase*> needs) {
  if (stats_ != nullptr && options.enabled) options.stats = &stats_->Of(reconciler.name());
  Managed& managed = controllers_.emplace_back();
  managed.controller = std::make_unique<Controller>(executor_, reconciler, options);
  managed.needs = std::move(needs);
  if (running_) StartReady();
  return *controllers_.back().controller;
}

void Manager::StartInformers() {
  if (std::exchange(informers_started_, true)) return;
  for (const auto& [name, informer] : informers_) StartInformer(*informer);
}

void Manager::StartInformer(InformerBase& informer) {
  const auto start = [weak = std::weak_ptr(self_)] {
    if (const auto self = weak.lock()) (*self)->StartWhenSynced();
  };
  informer.OnSynced(start);
  // An informer that is made after the start is known to be optional a moment later.
  informer.OnMissing(start);
  informer.Start();
}

void Manager::StartControllers() {
  wanted_ = true;
  StartWhenSynced();
}

// An informer that has not synced lists now. The first place of `missing` is for the loop itself.
void Manager::TakeOver() {
  const auto missing = std::make_shared<std::size_t>(1);
  const auto caught_up = [weak = std::weak_ptr(self_), missing] {
    const auto self = weak.lock();
    if (--*missing == 0 && self != nullptr && !(*self)->stopped_) (*self)->StartControllers();
  };
  for (const auto& [name, informer] : informers_) {
    if (!informer->has_synced()) continue;
    ++*missing;
    informer->CatchUp(caught_up);
  }
  caught_up();
}

void Manager::StartWhenSynced() {
  // A kind that is added later must not hold up the others.
  if (!running_ && !has_synced()) return;
  for (const auto& synced : std::exchange(on_synced_, {})) synced();
  if (!wanted_) return;
  const bool is_first = !std::exchange(running_, true);
  // Posted, because handlers of the informer that synced last may not have finished.
  executor_.Post([weak = std::weak_ptr(self_), is_first] {
    const auto self = weak.lock();
    if (self == nullptr || !(*self)->running_) return;
    if (is_first) {
      for (const auto& start : (*self)->starters_) start();
    }
    (*self)->StartReady();
  });
}

void Manager::StartReady() {
  for (Managed& each : controllers_) {
    const bool ready = std::all_of(each.needs.begin(), each.needs.end(),
                                   [](const InformerBase* need) { return need->has_synced(); });
    if (!ready || std::exchange(each.started, true)) continue;
    each.controller->Start();
  }
}

void Manager::Stop() {
  wanted_ = false;
  stopped_ = true;
  if (!std::exchange(running_, false)) return;
  for (auto it = controllers_.rbegin(); it != controllers_.rend(); ++it) it->controller->Stop();
  for (auto it = stoppers_.rbegin(); it != stoppers_.rend(); ++it) (*it)();
}

bool Manager::has_synced() const {
  return informers_started_ &&
         std::all_of(informers_.begin(), informers_.end(),
                     [this](const auto& entry) { return IsReady(*entry.second); });
}

bool Manager::IsReady(const InformerBase& informer) const {
  return informer.has_synced() || (informer.is_missing() && optional_.contains(&informer));
}

std::vector<std::string> Manager::NotSynced() const {
  std::vector<std::string> names;
  for (const auto& [name, informer] : informers_) {
    if (!IsReady(*informer)) names.emplace_back(informer->kind().plural);
  }
  return names;
}

}  // namespace berth::kube
