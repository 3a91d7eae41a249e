// integrations/controller/gated_pods.h — writes that remove scheduling gates of pods, for the
// ungaters.
//
// All writes of one pass end before the next pass of the same key begins. A write with unknown
// outcome is read back first, so that a pass never counts a pod as gated that is not.
//
// Threads: the manager's Executor. Errors: those of the API; the work queue retries the key.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "api/pod.h"
#include "base/clock.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/reconciler.h"

namespace berth::integrations {

class GatedPods {
 public:
  using PodPtr = std::shared_ptr<const api::Pod>;
  using Done = kube::Reconciler::Done;
  struct Write {
    PodPtr pod;
    kube::JsonPtr patch;  // a merge patch; UngatePatch
  };
  struct Pass {
    api::ObjectKey key;
    std::function<std::vector<Write>()> plan;  // plans on the present pods
    std::function<void()> on_written;          // after each write; may be null
    Done done;
  };

  // `max_in_flight`: most writes at once for one key.
  GatedPods(kube::Manager& manager, std::size_t max_in_flight);
  GatedPods(const GatedPods&) = delete;
  GatedPods& operator=(const GatedPods&) = delete;

  // Starts the Pod informer, once. `indexes` and handlers are the caller's.
  kube::Informer<api::Pod>& Open();
  bool is_open() const { return pods_ != nullptr; }
  const kube::Informer<api::Pod>& pods() const { return *pods_; }  // open

  void Run(Pass pass);
  void Forget(const api::ObjectKey& key) { unknown_.erase(key); }

 private:
  struct Writes;

  void ReadBack(std::shared_ptr<Pass> pass, std::vector<api::ObjectKey> pods);
  void Begin(const std::shared_ptr<Pass>& pass);
  void Next(const std::shared_ptr<Writes>& writes);
  void OnWritten(const std::shared_ptr<Writes>& writes, const api::ObjectKey& pod,
                 const Result<kube::JsonPtr>& answer);

  kube::Manager& manager_;
  std::size_t max_in_flight_;
  kube::Informer<api::Pod>* pods_ = nullptr;  // null: not started yet
  // The pods whose write has an unknown outcome, by key.
  std::map<api::ObjectKey, std::set<api::ObjectKey>> unknown_;
};

// Removes `gate` from the pod, and adds node selectors and annotations. The API refuses the patch
// if the pod has changed: the next pass reads the new state.
kube::JsonPtr UngatePatch(const api::Pod& pod, const char* gate,
                          const api::StringMap& node_selector, const api::StringMap& annotations);

}  // namespace berth::integrations
