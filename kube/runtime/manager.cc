#include "kube/runtime/manager.h"

#include <algorithm>
#include <utility>

namespace berth::kube {

Manager::Manager(ApiClient& client, Executor& executor)
    : client_(client), executor_(executor), self_(std::make_shared<Manager*>(this)) {}

Manager::~Manager() { Stop(); }

Controller& Manager::AddController(Reconciler& reconciler, ControllerOptions options) {
  controllers_.push_back(std::make_unique<Controller>(executor_, reconciler, options));
  if (running_) controllers_.back()->Start();
  return *controllers_.back();
}

void Manager::StartInformers() {
  if (std::exchange(informers_started_, true)) return;
  for (const auto& [name, informer] : informers_) StartInformer(*informer);
}

void Manager::StartInformer(InformerBase& informer) {
  informer.OnSynced([weak = std::weak_ptr(self_)] {
    if (const auto self = weak.lock()) (*self)->StartWhenSynced();
  });
  informer.Start();
}

void Manager::StartControllers() {
  wanted_ = true;
  StartWhenSynced();
}

void Manager::StartWhenSynced() {
  if (!wanted_ || running_ || !has_synced()) return;
  running_ = true;
  // Posted: handlers of the informer that synced last may still be at work.
  executor_.Post([weak = std::weak_ptr(self_)] {
    const auto self = weak.lock();
    if (self == nullptr || !(*self)->running_) return;
    for (const auto& start : (*self)->starters_) start();
    for (const auto& controller : (*self)->controllers_) controller->Start();
  });
}

void Manager::Stop() {
  wanted_ = false;
  if (!std::exchange(running_, false)) return;
  for (auto it = controllers_.rbegin(); it != controllers_.rend(); ++it) (*it)->Stop();
  for (auto it = stoppers_.rbegin(); it != stoppers_.rend(); ++it) (*it)();
}

bool Manager::has_synced() const {
  return informers_started_ &&
         std::all_of(informers_.begin(), informers_.end(),
                     [](const auto& entry) { return entry.second->has_synced(); });
}

std::vector<std::string> Manager::NotSynced() const {
  std::vector<std::string> names;
  for (const auto& [name, informer] : informers_) {
    if (!informer->has_synced()) names.emplace_back(informer->kind().plural);
  }
  return names;
}

}  // namespace berth::kube
