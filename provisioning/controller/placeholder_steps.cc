#include "provisioning/controller/placeholder_steps.h"

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/labels.h"
#include "api/provisioning_labels.h"
#include "checks/controller_names.h"
#include "kube/runtime/refused_write.h"

namespace berth::provisioning {
namespace {

using kube::Json;

constexpr char kPlaceholderRefusedReason[] = "PlaceholderRefused";

// Where the pod may run is that of the pod that it stands for; the rest of its spec only waits.
Json SpecOf(const CreatePlaceholder& action) {
  const Json whole = api::Encode(action.pod_template)["spec"];
  Json spec;
  for (const char* field : {"nodeSelector", "tolerations", "affinity", "schedulerName",
                            "topologySpreadConstraints", "runtimeClassName"}) {
    if (whole.contains(field)) spec[field] = whole[field];
  }
  Json amounts = Json::object();
  for (const auto& [resource, amount] : api::PodRequests(action.pod_template.spec)) {
    amounts[resource] = api::FormatAmount(resource, amount);
  }
  spec["containers"] = {{{"name", "hold"},
                         {"image", action.image},
                         {"resources", {{"requests", amounts}, {"limits", amounts}}}}};
  spec["priorityClassName"] = action.priority_class;
  spec["terminationGracePeriodSeconds"] = 0;
  spec["automountServiceAccountToken"] = false;
  return spec;
}

}  // namespace

kube::Step PlaceholderSteps::Create(std::shared_ptr<const api::Workload> workload,
                                    const CreatePlaceholder& action) {
  api::ObjectMeta meta;
  meta.namespace_name = workload->meta.namespace_name;
  meta.name = action.name;
  meta.annotations = {{api::kPlaceholderAnnotation, workload->meta.name},
                      {api::kSafeToEvictAnnotation, "false"},
                      {api::kDoNotDisruptAnnotation, "true"}};
  meta.owner_references = {{.api_version = api::KindOf<api::Workload>().api_version(),
                            .kind = "Workload",
                            .name = workload->meta.name,
                            .uid = workload->meta.uid,
                            .controller = true,
                            .block_owner_deletion = true}};
  Json pod = {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata", api::Encode(meta)},
              {"spec", SpecOf(action)}};
  return [this, workload = std::move(workload), name = action.name,
          pod = std::move(pod)](std::function<void(Status)> next) {
    manager_.client().Create(
        api::KindOf<api::Pod>(), workload->meta.namespace_name, pod,
        {.field_manager = checks::kReactiveCheckController},
        [this, workload, name, next = std::move(next)](const Result<kube::JsonPtr>& made) {
          if (made || made.error().code == ErrorCode::kAlreadyExists) return next(OkStatus());
          if (kube::IsRefusal(made.error())) {
            events_.Record(kube::ReferenceTo(*workload), kube::EventType::kWarning,
                           kPlaceholderRefusedReason, "",
                           "no pod holds nodes for the workload: " + made.error().message +
                               "; apply role.yaml and priority_class.yaml of "
                               "manifests/components/placeholders");
          }
          next(Annotate(made.error(), "creating placeholder " + name));
        });
  };
}

kube::Step PlaceholderSteps::Delete(const std::shared_ptr<const api::Workload>& workload,
                                    const DeletePlaceholder& action) {
  const api::ObjectKey key{workload->meta.namespace_name, action.name};
  return [this, key](std::function<void(Status)> next) {
    manager_.client().Delete(api::KindOf<api::Pod>(), key, {.propagation_policy = "Background"},
                             [key, next = std::move(next)](const Status& gone) {
                               if (gone || gone.error().code == ErrorCode::kNotFound)
                                 return next(OkStatus());
                               next(Annotate(gone.error(), "deleting placeholder " + key.name));
                             });
  };
}

}  // namespace berth::provisioning
