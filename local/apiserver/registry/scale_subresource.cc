#include "local/apiserver/registry/scale_subresource.h"

#include <string>
#include <utility>
#include <vector>

#include "local/apiserver/patch/json_patch.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/schema/selector.h"

namespace berth::local {
namespace {

std::vector<std::string> PathParts(const std::string& dotted) {
  std::vector<std::string> parts;
  std::size_t start = dotted.empty() || dotted.front() != '.' ? 0 : 1;
  while (start <= dotted.size()) {
    const std::size_t dot = dotted.find('.', start);
    parts.push_back(dotted.substr(start, dot == std::string::npos ? dot : dot - start));
    if (dot == std::string::npos) break;
    start = dot + 1;
  }
  return parts;
}

const Json* ValueAt(const Json& object, const std::string& dotted) {
  const Json* here = &object;
  for (const std::string& part : PathParts(dotted)) {
    here = Member(*here, part);
    if (here == nullptr) return nullptr;
  }
  return here;
}

Json ScaleOf(const Json& object, const CrdScale& paths) {
  Json metadata = Json::object();
  for (const char* field : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const Json* value = At(object, {"metadata", field})) metadata[field] = *value;
  }
  const Json* replicas = ValueAt(object, paths.spec_replicas_path);
  const Json* current = ValueAt(object, paths.status_replicas_path);
  Json scale{{"kind", "Scale"},
             {"apiVersion", "autoscaling/v1"},
             {"metadata", std::move(metadata)},
             {"spec", Json::object()},
             {"status", {{"replicas", current == nullptr ? Json(0) : *current}}}};
  if (replicas != nullptr) scale["spec"]["replicas"] = *replicas;
  const Json* selector =
      paths.label_selector_path.empty() ? nullptr : ValueAt(object, paths.label_selector_path);
  if (selector == nullptr) return scale;
  const bool is_map = selector->is_object() && TextAt(object, {"kind"}) == "ReplicationController";
  if (!selector->is_object()) {
    scale["status"]["selector"] = *selector;
  } else if (const auto map = LabelSelectorFromJson({{"matchLabels", *selector}}); is_map && map) {
    scale["status"]["selector"] = FormatLabelSelector(*map);
  } else if (const auto parsed = LabelSelectorFromJson(*selector); parsed) {
    scale["status"]["selector"] = FormatLabelSelector(*parsed);  // a built-in kind
  }
  return scale;
}

const CrdScale* ScaleOf(const ResourceInfo& resource) {
  static const CrdScale kBuiltin{".spec.replicas", ".status.replicas", ".spec.selector"};
  if (resource.crd_version != nullptr) return resource.crd_version->scale.get();
  return resource.FindSubresource("scale") == nullptr ? nullptr : &kBuiltin;
}

}  // namespace

ApiResult<Json> ScaleSubresource::Get(const RequestContext& context) const {
  const CrdScale* paths = ScaleOf(*context.resource);
  if (paths == nullptr) return UnknownPathStatus();
  auto stored = reader_.Get(context);
  if (!stored) return stored.error();
  const Object object = (*stored)->json();
  if (object == nullptr) return InternalStatus("the stored object cannot be read");
  return ScaleOf(*object, *paths);
}

ApiResult<Json> ScaleSubresource::Update(RequestContext& context, Body body) {
  const CrdScale* paths = ScaleOf(*context.resource);
  if (paths == nullptr) return UnknownPathStatus();
  const Json* replicas = At(body.object, {"spec", "replicas"});
  if (replicas == nullptr || !replicas->is_number_integer() || *replicas < 0) {
    return InvalidStatus("autoscaling", "Scale", context.name,
                         {InvalidError("spec.replicas", replicas == nullptr ? Json() : *replicas,
                                       "must be greater than or equal to 0")});
  }
  const ObjectUpdater::Change set = [&](const Json& current) -> ApiResult<Json> {
    Json next = current;
    Json* here = &next;
    for (const std::string& part : PathParts(paths->spec_replicas_path)) here = &(*here)[part];
    *here = *replicas;
    const std::string revision = TextAt(body.object, {"metadata", "resourceVersion"});
    if (!revision.empty()) next["metadata"]["resourceVersion"] = revision;
    return next;
  };
  auto done = updater_.Modify(context, set, Tracking::kUpdate);
  if (!done) return done.error();
  return ScaleOf(*done->object, *paths);
}

ApiResult<Json> ScaleSubresource::Patch(RequestContext& context, PatchRequest patch) {
  auto current = Get(context);
  if (!current) return current.error();
  auto next = patch.type == PatchType::kJson ? ApplyJsonPatch(*current, patch.body.object)
                                             : ApplyMergePatch(*current, patch.body.object);
  if (!next) return next.error();
  // Only a client that names a revision depends on it.
  if (At(patch.body.object, {"metadata", "resourceVersion"}) == nullptr && next->is_object()) {
    (*next)["metadata"].erase("resourceVersion");
  }
  return Update(context, {std::move(*next), {}});
}

}  // namespace berth::local
