// kube/runtime/manager.h — starts informers, waits until they have synced, starts controllers; and
// stops in reverse.
//
//     Manager manager(client, executor);
//     auto& jobs = manager.InformerFor<api::Job>();
//     manager.AddController(reconciler, {.max_concurrent = 5});
//     manager.StartInformers();          // every replica
//     manager.StartControllers();        // without election; waits for has_synced by itself
//     manager.TakeOver();                // a new leader: also waits for its predecessor's writes
//
// Threads: one Executor; destroy it there.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/executor.h"
#include "kube/client/api_client.h"
#include "kube/client/informer.h"
#include "kube/runtime/controller.h"

namespace berth::kube {

class Manager {
 public:
  // `stats` counts what the controllers do and must outlive the manager; null: nothing is counted.
  Manager(ApiClient& client, Executor& executor, RuntimeStats* stats = nullptr);
  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  // The one informer of the kind, over all namespaces. It starts with StartInformers, or at once
  // after that; indexes and handlers may be added in the same task.
  template <typename T>
  Informer<T>& InformerFor() {
    return InformerFor<T>(api::KindOf<T>(), api::Decode<T>);
  }
  // The informer of a kind that is known at run time and that the cluster may lack, like
  // OptionalInformerFor below. All callers must name the same T for one kind. `kind` must outlive
  // the manager.
  template <typename T>
  Informer<T>& OptionalInformerFor(const api::ResourceKind& kind,
                                   typename Informer<T>::Decode decode) {
    Informer<T>& informer = InformerFor<T>(kind, std::move(decode));
    optional_.insert(&informer);
    return informer;
  }

  // Whether some controller reads objects of the kind, all or some.
  bool HasInformer(const api::ResourceKind& kind) const {
    const std::string start = kind.api_version() + "/" + std::string(kind.plural) + "?";
    const auto found = informers_.lower_bound(start);
    return found != informers_.end() && found->first.starts_with(start);
  }

  // The informer over all objects of the kind; null: no controller has asked for one.
  template <typename T>
  Informer<T>* FindInformer() const {
    const api::ResourceKind& kind = api::KindOf<T>();
    const auto found = informers_.find(kind.api_version() + "/" + std::string(kind.plural) + "?");
    return found == informers_.end() ? nullptr : static_cast<Informer<T>*>(found->second.get());
  }

  // The informer of a kind that a cluster may lack. While its CRD is missing, everything else runs;
  // controllers that need the kind start when the CRD comes. Call before StartInformers.
  template <typename T>
  Informer<T>& OptionalInformerFor() {
    Informer<T>& informer = InformerFor<T>();
    optional_.insert(&informer);
    return informer;
  }

  // An informer of those objects of a kind that `label_selector` selects. All callers must name the
  // same T for one kind and selector. `kind` must outlive the manager.
  template <typename T>
  Informer<T>& SelectedInformerFor(const api::ResourceKind& kind,
                                   typename Informer<T>::Decode decode,
                                   const std::string& label_selector) {
    return InformerFor<T>(kind, std::move(decode), label_selector);
  }

  // `reconciler` must outlive the manager. The reference is valid for the manager's life. `needs`:
  // optional informers without which the controller does not start.
  Controller& AddController(Reconciler& reconciler, ControllerOptions options,
                            std::vector<const InformerBase*> needs = {});

  // Calls `start` on the leader after everything has synced, before the controllers start.
  void OnLeaderStart(std::function<void()> start) { starters_.push_back(std::move(start)); }
  void OnLeaderStop(std::function<void()> stop) { stoppers_.push_back(std::move(stop)); }

  // Calls `synced` once, when everything has synced, on every replica. Call OnSynced before that.
  void OnSynced(std::function<void()> synced) { on_synced_.push_back(std::move(synced)); }

  void StartInformers();
  void StartControllers();
  // Calls StartControllers once the informers show everything that the previous leader has written.
  void TakeOver();
  // Stops the controllers, then calls OnLeaderStop callbacks in reverse order. A stopped manager
  // cannot start again: a program that has lost its lease exits.
  void Stop();

  bool has_synced() const;  // ignores optional kinds that are missing
  bool controllers_running() const { return running_; }
  std::vector<std::string> NotSynced() const;  // plurals, for /readyz and timeouts

  ApiClient& client() { return client_; }
  Executor& executor() { return executor_; }

 private:
  struct Managed {
    std::unique_ptr<Controller> controller;
    std::vector<const InformerBase*> needs;
    bool started = false;
  };

  template <typename T>
  Informer<T>& InformerFor(const api::ResourceKind& kind, typename Informer<T>::Decode decode,
                           const std::string& label_selector = "") {
    std::unique_ptr<InformerBase>& slot =
        informers_[kind.api_version() + "/" + std::string(kind.plural) + "?" + label_selector];
    if (slot == nullptr) {
      ReflectorOptions options;
      options.label_selector = label_selector;
      options.seed = informers_.size();
      slot = std::make_unique<Informer<T>>(client_, options, kind, std::move(decode));
      if (informers_started_) StartInformer(*slot);
    }
    return static_cast<Informer<T>&>(*slot);
  }
  void StartInformer(InformerBase& informer);
  void StartWhenSynced();
  void StartReady();
  bool IsReady(const InformerBase& informer) const;

  ApiClient& client_;
  Executor& executor_;
  RuntimeStats* stats_;
  std::map<std::string, std::unique_ptr<InformerBase>> informers_;
  std::set<const InformerBase*> optional_;
  std::vector<Managed> controllers_;
  std::vector<std::function<void()>> starters_;
  std::vector<std::function<void()>> stoppers_;
  std::vector<std::function<void()>> on_synced_;
  bool informers_started_ = false;
  bool wanted_ = false;
  bool running_ = false;
  bool stopped_ = false;
  std::shared_ptr<Manager*> self_;
};

}  // namespace berth::kube
