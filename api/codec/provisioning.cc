#include "api/codec/codec.h"
#include "api/codec/parts.h"

namespace berth::api {

template <>
Result<ProvisioningRequest> Decode<ProvisioningRequest>(const JsonSource& object) {
  return ReadAs<ProvisioningRequest>(object, [](const Reader& in, ProvisioningRequest& out) {
    Read(in.Field("metadata"), out.meta);
    const Reader spec = in.Field("spec");
    spec.Field("provisioningClassName").Get(out.provisioning_class_name);
    spec.Field("parameters").Get(out.parameters);
    spec.Field("podSets").List(out.pod_sets, [](const Reader& item, ProvisioningPodSet& pod_set) {
      const Reader reference = item.Field("podTemplateRef");
      reference.Field("name").Get(pod_set.pod_template_name);
      item.Field("count").Get(pod_set.count);
    });
    const Reader status = in.Field("status");
    ReadConditions(status.Field("conditions"), out.conditions);
    status.Field("provisioningClassDetails").Get(out.provisioning_class_details);
  });
}

Json Encode(const ProvisioningRequest& request) {
  const ResourceKind& kind = KindOf<ProvisioningRequest>();
  Json spec = {{"provisioningClassName", request.provisioning_class_name},
               {"podSets", Json::array()}};
  SetUnlessEmpty(spec, "parameters", request.parameters);
  for (const ProvisioningPodSet& pod_set : request.pod_sets) {
    spec["podSets"].push_back(
        {{"podTemplateRef", {{"name", pod_set.pod_template_name}}}, {"count", pod_set.count}});
  }
  return {{"apiVersion", kind.api_version()},
          {"kind", kind.kind},
          {"metadata", Encode(request.meta)},
          {"spec", std::move(spec)}};
}

}  // namespace berth::api
