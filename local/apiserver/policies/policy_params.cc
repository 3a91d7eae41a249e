#include "local/apiserver/policies/policy_params.h"

#include <utility>

#include "api/api_version.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/schema/selector.h"

namespace berth::local {
namespace {

class ParamSearch {
 public:
  ParamSearch(const Store& store, const Converter& converter, const RequestContext& context)
      : store_(store), converter_(converter), context_(context) {}

  void Select(const ResourceInfo& resource, const std::string& api_version, const Json& reference) {
    const std::string name = TextAt(reference, {"name"});
    std::string namespace_name = TextAt(reference, {"namespace"});
    if (!resource.namespaced && !namespace_name.empty()) {
      params_.error = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`";
      return;
    }
    if (resource.namespaced && namespace_name.empty()) {
      namespace_name = context_.namespace_name;
      if (namespace_name.empty()) {
        params_.error =
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped "
            "resources";
        return;
      }
    }
    for (const StoredPtr& stored : Find(resource, namespace_name, name, reference)) {
      const Object json = stored->json();
      if (json == nullptr) continue;
      auto converted = converter_.ConvertOne(resource, *json, api_version);
      if (!converted) {
        params_.error = converted.error().message;
        return;
      }
      params_.objects.push_back(std::move(*converted));
    }
  }

  PolicyParams Run(const Json& policy, const Json& binding) {
    const Json* kind = At(policy, {"spec", "paramKind"});
    const Json* reference = At(binding, {"spec", "paramRef"});
    params_.none = kind == nullptr || kind->is_null();
    if (!params_.none) {
      const std::string api_version = TextAt(*kind, {"apiVersion"});
      const std::string group(api::GroupOf(api_version));
      const std::string version(api::VersionOf(api_version));
      const ResourcePtr resource =
          context_.table->FindKind(group, version, TextAt(*kind, {"kind"}));
      if (resource == nullptr) {
        params_.of_policy = true;
        params_.error = "failed to find resource referenced by paramKind: '" + group + "/" +
                        version + ", Kind=" + TextAt(*kind, {"kind"}) + "'";
        return std::move(params_);
      }
      params_.none = reference == nullptr || reference->is_null();
      if (!params_.none) Select(*resource, api_version, *reference);
    }
    if (!params_.none && params_.error.empty() && params_.objects.empty() &&
        TextAt(*reference, {"parameterNotFoundAction"}) == "Deny") {
      params_.error = "no params found for policy binding with `Deny` parameterNotFoundAction";
    }
    return std::move(params_);
  }

 private:
  std::vector<StoredPtr> Find(const ResourceInfo& resource, const std::string& namespace_name,
                              const std::string& name, const Json& reference) {
    std::vector<StoredPtr> found;
    const WatchCache& cache = store_.cache();
    if (!name.empty()) {
      const StoredPtr one = cache.Get({resource.storage, namespace_name, name});
      if (one != nullptr) found.push_back(one);
      return found;
    }
    const Json* selector = Member(reference, "selector");
    const auto parsed = LabelSelectorFromJson(selector == nullptr ? Json() : *selector);
    if (!parsed) {
      params_.error = parsed.error().message;
      return found;
    }
    for (const StoredPtr& stored : cache.List(resource.storage, namespace_name).objects) {
      const Object json = stored->json();
      if (json == nullptr) continue;
      const Json* labels = At(*json, {"metadata", "labels"});
      if (Matches(*parsed, labels == nullptr ? Json() : *labels)) found.push_back(stored);
    }
    return found;
  }

  const Store& store_;
  const Converter& converter_;
  const RequestContext& context_;
  PolicyParams params_;
};

}  // namespace

PolicyParams ParamsOfBinding(const Store& store, const Converter& converter,
                             const RequestContext& context, const Json& policy,
                             const Json& binding) {
  return ParamSearch(store, converter, context).Run(policy, binding);
}

bool IsAdmissionPolicy(const ResourceInfo& resource) {
  return resource.id.group == "admissionregistration.k8s.io" &&
         resource.id.resource.find("admissionpolic") != std::string::npos;
}

}  // namespace berth::local
