#include "integrations/controller/pod_owners.h"

#include <cstddef>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "integrations/controller/pod_steps.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

}  // namespace

kube::Step PodOwners::Add(const AddOwners& action) {
  return [this, action](std::function<void(Status)> next) {
    auto found = std::make_shared<AddOwners>(action);
    if (found->owners.size() > kPodsAtOnce) found->owners.resize(kPodsAtOnce);
    Read(found, 0, std::move(next));
  };
}

void PodOwners::Read(const std::shared_ptr<AddOwners>& owners, std::size_t at,
                     std::function<void(Status)> next) {
  while (at < owners->owners.size() && owners->owners[at].kind != "Pod") ++at;
  if (at == owners->owners.size()) return Write(*owners, std::move(next));
  const api::ObjectKey pod{owners->key.namespace_name, owners->owners[at].name};
  client_.Get(source_.pod_resource(), pod,
              [this, owners, at, pod, next = std::move(next)](const Result<kube::JsonPtr>& answer) {
                if (!answer && answer.error().code != ErrorCode::kNotFound) {
                  return next(Annotate(answer.error(), "reading pod " + pod.ToString()));
                }
                const auto meta = answer ? api::Decode<api::ObjectMeta>(**answer)
                                         : Result<api::ObjectMeta>(answer.error());
                const bool there = meta && meta->uid == owners->owners[at].uid;
                if (!there)
                  owners->owners.erase(owners->owners.begin() + static_cast<std::ptrdiff_t>(at));
                Read(owners, there ? at + 1 : at, next);
              });
}

// The list of owners is written whole, on the state that it extends.
void PodOwners::Write(const AddOwners& action, std::function<void(Status)> next) {
  const auto workload = workloads_.Get(action.key);
  if (workload == nullptr || action.owners.empty()) return next(OkStatus());
  api::ObjectMeta meta;
  meta.name = action.key.name;
  meta.owner_references = workload->meta.owner_references;
  for (const api::OwnerReference& owner : action.owners) meta.owner_references.push_back(owner);
  Json patch = {{"metadata",
                 {{"ownerReferences", api::Encode(meta)["ownerReferences"]},
                  {"resourceVersion", workload->meta.resource_version}}}};
  events_.Record({"kueue.x-k8s.io/v1beta2", "Workload", action.key, workload->meta.uid,
                  workload->meta.resource_version},
                 kube::EventType::kNormal, "OwnerReferencesAdded", "",
                 "Added " + std::to_string(action.owners.size()) + " owner reference(s)");
  writes_.Patch("adding owners", action.key, kube::PatchType::kMerge, std::move(patch),
                {})(std::move(next));
}

}  // namespace berth::integrations
