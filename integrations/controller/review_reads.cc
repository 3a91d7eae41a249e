#include "integrations/controller/review_reads.h"

#include <nlohmann/json.hpp>

#include "integrations/controller/described_jobs.h"
#include "integrations/described_job.h"

namespace berth::integrations {
namespace {

std::string ResourceNameOf(const ReadRule& rule) {
  return std::string(rule.resource.group) + "/" + std::string(rule.resource.plural);
}

std::string NamespaceIn(const nlohmann::json& object) {
  const nlohmann::json::json_pointer place("/metadata/namespace");
  if (!object.contains(place) || !object.at(place).is_string()) return "";
  return object.at(place).get<std::string>();
}

}  // namespace

ReviewReads::ReviewReads(kube::Manager& manager, const std::vector<KindPtr>& kinds) {
  for (const KindPtr& kind : kinds) {
    for (const ReadRule& rule : kind->reads) {
      const std::string resource = ResourceNameOf(rule);
      if (JobKindOf(rule) != nullptr || !resources_.insert(resource).second) continue;
      const auto set = [this, resource](const auto& object) {
        Set(resource, object->meta.key(), object->json);
      };
      manager.OptionalInformerFor<ReadObject>(rule.resource, DecodeReadObject)
          .AddHandler({.on_add = set,
                       .on_update = [set](const auto&, const auto& now) { set(now); },
                       .on_delete =
                           [this, resource](const auto& object) {
                             Set(resource, object->meta.key(), nullptr);
                           }});
    }
  }
}

void ReviewReads::Set(const std::string& resource, const api::ObjectKey& key,
                      const ReadPtr& object) {
  const std::lock_guard lock(mutex_);
  if (object == nullptr) {
    objects_.erase({resource, key});
  } else {
    objects_[{resource, key}] = object;
  }
}

ReadObjects ReviewReads::Of(const KindDescription& kind, const nlohmann::json& object) const {
  ReadObjects reads;
  bool kept = false;
  const std::vector<std::string> names = NamesToRead(kind, object);
  for (std::size_t i = 0; i < kind.reads.size() && i < names.size(); ++i) {
    ReadPtr& read = reads.emplace_back();
    const std::string resource = ResourceNameOf(kind.reads[i]);
    if (!resources_.contains(resource)) continue;
    kept = true;
    const bool namespaced = kind.reads[i].resource.namespaced;
    const api::ObjectKey key{namespaced ? NamespaceIn(object) : std::string(), names[i]};
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find({resource, key});
    if (found != objects_.end()) read = found->second;
  }
  return kept ? reads : ReadObjects{};
}

}  // namespace berth::integrations
