// kube/runtime/function_controller.h — a Controller that calls one function for each key.
//
//     FunctionController jobs(executor, "job", [](const api::ObjectKey& job) { … }, {});
//     jobs.Start();
//     jobs.Add({"team", "train"});
//
// Threads, errors: as Controller and Reconciler.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kube/runtime/controller.h"

namespace berth::kube {

class FunctionController {
 public:
  // The reconcile ends with the call; it may block where the Executor allows blocking.
  using Look = std::function<Result<NextLook>(const api::ObjectKey& key)>;

  FunctionController(Executor& executor, std::string name, Look look,
                     const ControllerOptions& options)
      : reconciler_(std::move(name), std::move(look)),
        controller_(executor, reconciler_, options) {}

  void Add(const api::ObjectKey& key) { controller_.Add(key); }
  void AddAfter(const api::ObjectKey& key, Duration delay) { controller_.AddAfter(key, delay); }
  void Start() { controller_.Start(); }

 private:
  class FunctionReconciler final : public Reconciler {
   public:
    FunctionReconciler(std::string name, Look look)
        : name_(std::move(name)), look_(std::move(look)) {}
    std::string_view name() const override { return name_; }
    void Reconcile(const api::ObjectKey& key, Done done) override { done(look_(key)); }

   private:
    const std::string name_;
    const Look look_;
  };

  FunctionReconciler reconciler_;
  Controller controller_;
};

// Converts the wall-clock instant of the next reconcile, which plans contain; nullopt: no reconcile
// without a change.
inline NextLook LookAt(std::optional<WallTime> at, WallTime now) {
  if (!at) return {};
  return {*at - now};
}

}  // namespace berth::kube
