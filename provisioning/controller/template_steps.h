// provisioning/controller/template_steps.h — the writes of the PodTemplates of
// ProvisioningRequests, and deletions.
//
// Threads: one Executor, that of the manager. Errors: of the API, prefixed with the action. A step
// that finds its work done succeeds.
#pragma once

#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "api/workload.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/write_steps.h"
#include "provisioning/decide.h"

namespace berth::provisioning {

class TemplateSteps {
 public:
  explicit TemplateSteps(kube::Manager& manager);

  // Without an owner in `action`, the step deletes a PodTemplate of the name that exists without
  // its request, and creates the template anew.
  kube::Step Create(const api::Workload& workload, const CreateTemplate& action);
  kube::Step Own(const api::Workload& workload, const OwnTemplate& action);
  // `resource_version`: the version of the object that may be deleted; empty: any version.
  kube::Step Delete(const api::ResourceKind& kind, api::ObjectKey key,
                    std::string resource_version = "");

 private:
  kube::Step Post(const api::PodTemplateObject& object, bool may_exist);
  kube::Step Replace(const api::PodTemplateObject& object, const std::string& request);
  kube::Step IfThere(const std::string& space, const api::OwnerReference& request, kube::Step step);

  void NoteWritten(const nlohmann::json& stored);

  kube::Manager& manager_;
  // The resourceVersion of templates that this process wrote and whose requests are not made yet: a
  // template that still has it is as Berth wrote it.
  std::map<api::ObjectKey, std::string> written_;
  kube::Informer<api::PodTemplateObject>& templates_;
};

}  // namespace berth::provisioning
