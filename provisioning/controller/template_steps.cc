#include "provisioning/controller/template_steps.h"

#include <functional>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/labels.h"
#include "checks/controller_names.h"

namespace berth::provisioning {
namespace {

using Json = nlohmann::json;
using kube::PatchType;

Status Gone(Status status) {
  if (!status && status.error().code == ErrorCode::kNotFound) return OkStatus();
  return status;
}

}  // namespace

TemplateSteps::TemplateSteps(kube::Manager& manager)
    : manager_(manager), templates_(manager.InformerFor<api::PodTemplateObject>()) {}

kube::Step TemplateSteps::Create(const api::Workload& workload, const CreateTemplate& action) {
  api::PodTemplateObject object;
  object.meta.namespace_name = workload.meta.namespace_name;
  object.meta.name = action.name;
  object.meta.labels = {{api::kManagedLabel, "true"}};
  object.meta.owner_references = {
      action.owner ? *action.owner
                   : api::OwnerReference{.api_version = api::KindOf<api::Workload>().api_version(),
                                         .kind = "Workload",
                                         .name = workload.meta.name,
                                         .uid = workload.meta.uid,
                                         .controller = true,
                                         .block_owner_deletion = true}};
  object.pod_template = action.pod_template;
  if (action.owner) {
    return IfThere(workload.meta.namespace_name, *action.owner, Post(object, /*may_exist=*/true));
  }
  return [this, post = Post(object, /*may_exist=*/false), object,
          request = action.request](std::function<void(Status)> next) {
    const auto known = written_.find(object.meta.key());
    const auto shown = templates_.Get(object.meta.key());
    if (known != written_.end() && shown != nullptr &&
        shown->meta.resource_version == known->second) {
      return next(OkStatus());
    }
    post([this, object, request, next = std::move(next)](const Status& done) {
      if (done || done.error().code != ErrorCode::kAlreadyExists) return next(done);
      Replace(object, request)(next);
    });
  };
}

// `may_exist`: a template of the name counts as created.
kube::Step TemplateSteps::Post(const api::PodTemplateObject& object, bool may_exist) {
  return [this, object, may_exist](std::function<void(Status)> next) {
    manager_.client().Create(
        api::KindOf<api::PodTemplateObject>(), object.meta.namespace_name, api::Encode(object),
        {.field_manager = checks::kProvisioningCheckController},
        [this, name = object.meta.name, may_exist,
         next = std::move(next)](const Result<kube::JsonPtr>& done) {
          if (done) NoteWritten(**done);
          if (done || (may_exist && done.error().code == ErrorCode::kAlreadyExists)) {
            return next(OkStatus());
          }
          next(Annotate(done.error(), "creating PodTemplate " + name));
        });
  };
}

void TemplateSteps::NoteWritten(const Json& stored) {
  templates_.Ingest(stored);
  if (const auto meta = api::Decode<api::ObjectMeta>(stored)) {
    written_[meta->key()] = meta->resource_version;
  }
}

// The template of a request that exists stays: the answer of the request's creation was lost.
kube::Step TemplateSteps::Replace(const api::PodTemplateObject& object,
                                  const std::string& request) {
  const std::string& space = object.meta.namespace_name;
  kube::Step drop = Delete(api::KindOf<api::PodTemplateObject>(), object.meta.key());
  return [this, key = api::ObjectKey{space, request}, drop = std::move(drop),
          post = Post(object, /*may_exist=*/false)](std::function<void(Status)> next) {
    manager_.client().Get(
        api::KindOf<api::ProvisioningRequest>(), key,
        [name = key.name, drop, post, next = std::move(next)](const Result<kube::JsonPtr>& found) {
          if (found) return next(OkStatus());
          if (found.error().code != ErrorCode::kNotFound) {
            return next(Annotate(found.error(), "reading ProvisioningRequest " + name));
          }
          kube::RunSteps({drop, post}, next);
        });
  };
}

// A waiting request whose template is gone gets a new one. But where the request is gone too, and
// its watch has not shown that, the garbage collector would delete each new template.
kube::Step TemplateSteps::IfThere(const std::string& space, const api::OwnerReference& request,
                                  kube::Step step) {
  return [this, key = api::ObjectKey{space, request.name}, uid = request.uid,
          step = std::move(step)](std::function<void(Status)> next) {
    manager_.client().Get(
        api::KindOf<api::ProvisioningRequest>(), key,
        [name = key.name, uid, step, next = std::move(next)](const Result<kube::JsonPtr>& answer) {
          if (!answer && answer.error().code != ErrorCode::kNotFound) {
            return next(Annotate(answer.error(), "reading ProvisioningRequest " + name));
          }
          const auto meta = answer ? api::Decode<api::ObjectMeta>(**answer)
                                   : Result<api::ObjectMeta>(answer.error());
          if (meta && meta->uid == uid) return step(next);
          next(Error{ErrorCode::kUnavailable, "ProvisioningRequest " + name + " has gone"});
        });
  };
}

kube::Step TemplateSteps::Own(const api::Workload& workload, const OwnTemplate& action) {
  const api::ObjectKey key{workload.meta.namespace_name, action.name};
  return [this, key, owner = action.owner](std::function<void(Status)> next) {
    written_.erase(key);
    const auto now = templates_.Get(key);
    if (now == nullptr) return next(OkStatus());
    api::ObjectMeta meta = now->meta;
    meta.owner_references = {owner};
    const Json patch = {{"metadata",
                         {{"ownerReferences", api::Encode(meta)["ownerReferences"]},
                          {"resourceVersion", meta.resource_version}}}};
    manager_.client().Patch(
        api::KindOf<api::PodTemplateObject>(), key, PatchType::kMerge, patch,
        {.field_manager = checks::kProvisioningCheckController},
        [this, next = std::move(next)](const Result<kube::JsonPtr>& done) {
          if (!done) return next(Gone(Annotate(done.error(), "giving a PodTemplate its owner")));
          templates_.Ingest(**done);
          next(OkStatus());
        });
  };
}

kube::Step TemplateSteps::Delete(const api::ResourceKind& kind, api::ObjectKey key,
                                 std::string resource_version) {
  kube::DeleteOptions options{.propagation_policy = "Background"};
  options.precondition_resource_version = std::move(resource_version);
  return [this, &kind, key = std::move(key),
          options = std::move(options)](std::function<void(Status)> next) {
    written_.erase(key);
    manager_.client().Delete(
        kind, key, options, [next = std::move(next)](Status done) { next(Gone(std::move(done))); });
  };
}

}  // namespace berth::provisioning
