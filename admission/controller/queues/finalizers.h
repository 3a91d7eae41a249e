// admission/controller/queues/finalizers.h — the finalizer kueue.x-k8s.io/resource-in-use, which
// keeps an object until no other object uses it.
//
// Threads: one Executor.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "api/object_meta.h"
#include "kube/client/informer.h"
#include "kube/runtime/reconciler.h"

namespace berth::admission {

// The finalizers to write; nullopt: no change needed. An object has the finalizer, and keeps it
// under deletion while the object is in use.
std::optional<std::vector<std::string>> FinalizersAsTheyShouldBe(const api::ObjectMeta& meta,
                                                                 bool in_use);

// A merge patch that the API server refuses if the object has changed since it was read.
nlohmann::json FinalizersPatch(const api::ObjectMeta& meta,
                               const std::vector<std::string>& finalizers);

void SendFinalizers(kube::ApiClient& client, const api::ResourceKind& kind,
                    const api::ObjectMeta& meta, const std::vector<std::string>& finalizers,
                    std::function<void(Result<kube::JsonPtr>)> done);

template <typename T>
void WriteFinalizers(kube::ApiClient& client, kube::Informer<T>& informer,
                     const api::ObjectMeta& meta, const std::vector<std::string>& finalizers,
                     kube::Reconciler::Done done) {
  SendFinalizers(client, api::KindOf<T>(), meta, finalizers,
                 [&informer, done = std::move(done)](const Result<kube::JsonPtr>& answer) {
                   if (!answer && answer.error().code != ErrorCode::kNotFound) {
                     return done(answer.error());
                   }
                   if (answer && *answer != nullptr) informer.Ingest(**answer);
                   done(kube::NextLook{});
                 });
}

// Reconciles flavors, checks and topologies, of which only the finalizer is written here.
template <typename T>
class InUseReconciler final : public kube::Reconciler {
 public:
  InUseReconciler(kube::ApiClient& client, kube::Informer<T>& informer,
                  std::function<bool(const std::string& name)> in_use)
      : client_(client),
        informer_(informer),
        in_use_(std::move(in_use)),
        name_(api::KindOf<T>().plural) {}

  std::string_view name() const override { return name_; }

  void Reconcile(const api::ObjectKey& key, Done done) override {
    const auto object = informer_.Get(key);
    if (object == nullptr) return done(kube::NextLook{});
    const auto finalizers = FinalizersAsTheyShouldBe(object->meta, in_use_(key.name));
    if (!finalizers) return done(kube::NextLook{});
    WriteFinalizers(client_, informer_, object->meta, *finalizers, std::move(done));
  }

 private:
  kube::ApiClient& client_;
  kube::Informer<T>& informer_;
  std::function<bool(const std::string&)> in_use_;
  std::string name_;
};

}  // namespace berth::admission
