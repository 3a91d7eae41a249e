#include "admission/controller/queues/finalizers.h"

#include <nlohmann/json.hpp>

#include "api/labels.h"

namespace berth::admission {

std::optional<std::vector<std::string>> FinalizersAsTheyShouldBe(const api::ObjectMeta& meta,
                                                                 bool in_use) {
  const bool has = api::HasFinalizer(meta, api::kResourceInUseFinalizer);
  std::vector<std::string> finalizers = meta.finalizers;
  if (!meta.deletion_timestamp) {
    if (has) return std::nullopt;
    finalizers.emplace_back(api::kResourceInUseFinalizer);
    return finalizers;
  }
  if (!has || in_use) return std::nullopt;
  std::erase(finalizers, api::kResourceInUseFinalizer);
  return finalizers;
}

nlohmann::json FinalizersPatch(const api::ObjectMeta& meta,
                               const std::vector<std::string>& finalizers) {
  return {{"metadata",
           {{"uid", meta.uid},
            {"resourceVersion", meta.resource_version},
            {"finalizers", finalizers}}}};
}

void SendFinalizers(kube::ApiClient& client, const api::ResourceKind& kind,
                    const api::ObjectMeta& meta, const std::vector<std::string>& finalizers,
                    std::function<void(Result<kube::JsonPtr>)> done) {
  client.Patch(kind, meta.key(), kube::PatchType::kMerge, FinalizersPatch(meta, finalizers),
               {.field_manager = "kueue"}, std::move(done));
}

}  // namespace berth::admission
