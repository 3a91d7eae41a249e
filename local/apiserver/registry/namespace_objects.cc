#include "local/apiserver/registry/namespace_objects.h"

#include <utility>

#include "base/rfc3339.h"
#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

constexpr const char* kRootCa = "kube-root-ca.crt";

}  // namespace

bool IsRootCa(const ObjectKey& key) { return key.resource == "configmaps" && key.name == kRootCa; }

std::vector<Write> NamespaceObjects::CompanionsOf(const RequestContext& context,
                                                  const Json& object) const {
  std::vector<Write> writes;
  if (context.resource->storage != "namespaces") return writes;
  const std::string namespace_name = NameOf(object);
  const auto add = [&](const char* resource, Json companion) {
    const std::string name = NameOf(companion);
    const ObjectKey key{resource, namespace_name, name};
    if (store_.GetLatest(key) != nullptr) return;
    companion["metadata"]["namespace"] = namespace_name;
    companion["metadata"]["uid"] = identifiers_.NewUid();
    companion["metadata"]["creationTimestamp"] = FormatTime(clock_.Now());
    writes.push_back({Write::Kind::kCreate, key, std::move(companion), 0});
  };
  add("serviceaccounts",
      {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "default"}}}});
  add("configmaps", RootCa());
  return writes;
}

Json NamespaceObjects::RootCa() const {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata",
           {{"name", kRootCa},
            {"annotations",
             {{"kubernetes.io/description",
               "Contains a CA bundle that can be used to verify the kube-apiserver when using "
               "internal endpoints such as the internal service IP or kubernetes.default.svc."}}}}},
          {"data", {{"ca.crt", root_ca_pem_}}}};
}

void NamespaceObjects::RestoreRootCa(const std::string& namespace_name) const {
  const StoredPtr home = store_.GetLatest({"namespaces", "", namespace_name});
  const Object namespace_json = home == nullptr ? nullptr : home->json();
  if (namespace_json == nullptr || IsBeingDeleted(*namespace_json)) return;
  const ObjectKey key{"configmaps", namespace_name, kRootCa};
  const StoredPtr stored = store_.GetLatest(key);
  const Object known = stored == nullptr ? nullptr : stored->json();
  Json object = RootCa();
  if (known == nullptr) {
    Json& metadata = object["metadata"];
    metadata["namespace"] = namespace_name;
    metadata["uid"] = identifiers_.NewUid();
    metadata["creationTimestamp"] = FormatTime(clock_.Now());
    if (!store_.Commit({{Write::Kind::kCreate, key, std::move(object), 0}})) return;
  } else if (!SameAt(*known, object, {"data"})) {
    Json restored = *known;
    restored["data"] = object["data"];
    if (!store_.Commit({{Write::Kind::kUpdate, key, std::move(restored), stored->revision()}})) {
      return;
    }
  }
}

}  // namespace berth::local
