#include "local/apiserver/webhooks/admission_review.h"

#include <algorithm>

#include "api/codec/json_tree.h"
#include "base/strings.h"
#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

constexpr std::int64_t kBadRequest = 400;
constexpr std::int64_t kHighestCode = 599;

Json OptionsOf(const AdmissionRequest& request) {
  if (request.operation == AdmissionRequest::Operation::kConnect) return nullptr;
  const char* kind = "CreateOptions";
  if (request.operation == AdmissionRequest::Operation::kUpdate) kind = "UpdateOptions";
  if (request.operation == AdmissionRequest::Operation::kDelete) kind = "DeleteOptions";
  Json options{{"kind", kind}, {"apiVersion", "meta.k8s.io/v1"}};
  if (request.operation != AdmissionRequest::Operation::kDelete) {
    options["fieldManager"] = request.context->manager;
  }
  if (request.context->dry_run) options["dryRun"] = Json::array({"All"});
  return options;
}

ApiError Denial(const Json& response, const std::string& webhook) {
  const std::string denied = "admission webhook \"" + webhook + "\" denied the request";
  ApiError error;
  const Json* status = Member(response, "status");
  const std::string message = status == nullptr ? "" : TextAt(*status, {"message"});
  error.reason = status == nullptr ? "" : TextAt(*status, {"reason"});
  const std::int64_t code = status == nullptr ? 0 : IntAt(*status, {"code"}, 0);
  error.code = static_cast<int>(std::clamp<std::int64_t>(code, kBadRequest, kHighestCode));
  if (!message.empty()) {
    error.message = denied + ": " + message;
  } else if (!error.reason.empty()) {
    error.message = denied + ": " + error.reason;
  } else {
    error.message = denied + " without explanation";
  }
  if (status != nullptr && Member(*status, "details") != nullptr) {
    error.details = *Member(*status, "details");
  }
  return error;
}

}  // namespace

const char* OperationName(AdmissionRequest::Operation operation) {
  switch (operation) {
    case AdmissionRequest::Operation::kCreate: return "CREATE";
    case AdmissionRequest::Operation::kUpdate: return "UPDATE";
    case AdmissionRequest::Operation::kDelete: return "DELETE";
    case AdmissionRequest::Operation::kConnect: return "CONNECT";
  }
  return "";
}

WebhookQuestion MakeReview(const AdmissionRequest& request, const ReviewQuestion& question) {
  const RequestContext& context = *request.context;
  const ResourceInfo& resource = *context.resource;
  const auto kind = [&](const std::string& version) {
    const std::string& name = request.object_kind.empty() ? resource.kind : request.object_kind;
    return Json{{"group", resource.id.group}, {"version", version}, {"kind", name}};
  };
  const auto place = [&](const std::string& version) {
    return Json{
        {"group", resource.id.group}, {"version", version}, {"resource", resource.id.resource}};
  };
  Json user{{"username", context.user.name}, {"groups", context.user.groups}};
  if (!context.user.uid.empty()) user["uid"] = context.user.uid;
  if (!context.user.extra.empty()) user["extra"] = context.user.extra;
  Json body{{"uid", question.uid},
            {"kind", kind(question.version)},
            {"resource", place(question.version)},
            {"requestKind", kind(resource.id.version)},
            {"requestResource", place(resource.id.version)},
            {"operation", OperationName(request.operation)},
            {"userInfo", std::move(user)},
            {"dryRun", context.dry_run},
            {"options", OptionsOf(request)}};
  if (!request.name.empty()) body["name"] = request.name;
  if (!context.namespace_name.empty()) body["namespace"] = context.namespace_name;
  if (resource.storage == "namespaces") body["namespace"] = request.name;
  if (!context.subresource.empty()) {
    body["subResource"] = context.subresource;
    body["requestSubResource"] = context.subresource;
  }
  if (question.object == nullptr) body["object"] = nullptr;
  if (question.old_object == nullptr) body["oldObject"] = nullptr;
  return {.envelope = {{"kind", "AdmissionReview"},
                       {"apiVersion", "admission.k8s.io/v1"},
                       {"request", std::move(body)}},
          .object = question.object,
          .old_object = question.old_object};
}

ReviewAnswer ReadReview(const Json& review, const std::string& uid, const std::string& webhook) {
  ReviewAnswer answer;
  const std::string kind = TextAt(review, {"kind"});
  const std::string version = TextAt(review, {"apiVersion"});
  if (kind != "AdmissionReview" || version != "admission.k8s.io/v1") {
    answer.invalid =
        "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got " + version +
        ", Kind=" + kind;
    return answer;
  }
  const Json* response = Member(review, "response");
  if (response == nullptr) {
    answer.invalid = "webhook response was absent";
    return answer;
  }
  if (const std::string actual = TextAt(*response, {"uid"}); actual != uid) {
    answer.invalid = "expected response.uid=\"" + uid + "\", got \"" + actual + "\"";
    return answer;
  }
  for (const Json& warning : ArrayAt(*response, {"warnings"})) {
    if (warning.is_string()) answer.warnings.push_back(warning.get<std::string>());
  }
  const Json* annotations = Member(*response, "auditAnnotations");
  if (annotations != nullptr && annotations->is_object()) {
    for (const auto& [key, value] : annotations->items()) {
      if (value.is_string()) answer.annotations.emplace_back(key, value.get<std::string>());
    }
  }
  answer.allowed = BoolAt(*response, {"allowed"}, false);
  if (!answer.allowed) {
    answer.denial = Denial(*response, webhook);
    return answer;
  }
  const std::string patch = TextAt(*response, {"patch"});
  if (patch.empty()) return answer;
  if (TextAt(*response, {"patchType"}) != "JSONPatch") {
    answer.invalid = "webhook returned response.patch but not response.patchType";
    return answer;
  }
  const auto text = Base64Decode(patch);
  Result<Json> json = text ? api::ParseJson(*text) : Result<Json>(Json());
  if (text && json) {
    answer.patch = *std::move(json);
  } else {
    answer.invalid = "response.patch is no base64 of JSON";
    if (!json) answer.invalid += ": " + json.error().message;
  }
  return answer;
}

}  // namespace berth::local
