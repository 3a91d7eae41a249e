#include "local/apiserver/policies/policy_dispatch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/codec/json_write.h"
#include "local/apiserver/policies/policy_params.h"
#include "local/apiserver/registry/admission.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/webhooks/admission_review.h"
#include "local/apiserver/webhooks/match_input.h"

namespace berth::local {
namespace {

constexpr std::size_t kMaxAnnotationBytes = 10 * 1024;
constexpr std::size_t kMaxFailuresShown = 50;
constexpr const char* kFailureAnnotation = "validation.policy.admission.k8s.io/validation_failure";

int CodeOf(const std::string& reason) {
  if (reason == "Forbidden") return 403;
  if (reason == "RequestEntityTooLarge") return 413;
  return 422;
}

}  // namespace

// One request and the policies that it meets.
class PolicyRound {
 public:
  PolicyRound(const PolicyDispatch& dispatch, const AdmissionRequest& request, const Json* object)
      : dispatch_(dispatch),
        request_(request),
        object_(object),
        match_(MakeMatchInput(dispatch.store_, request, object)) {}

  void Meet(const StoredObject& stored, const Json& policy, const std::vector<Object>& bindings);
  std::optional<ApiError> Refusal();

 private:
  struct Pair {
    std::string policy;
    std::string binding;  // empty: the policy itself is wrong
    bool ignores_failures = false;
  };
  struct Versioned {
    Json converted[2];  // objects in another version
    const Json* object = nullptr;
    const Json* old_object = nullptr;
    Json request;  // null: not made yet
  };

  void Deny(const Pair& pair, const std::string& message, const std::string& reason);
  void DenyWrongConfiguration(const Pair& pair, const std::string& why);
  // null, with `why`: the objects cannot be converted.
  Versioned* InVersion(const std::string& version, std::string& why);
  void Evaluate(const PolicyProgram& program, const Pair& pair, const Json& binding,
                Versioned& versioned, const std::string& version, const Json* params);
  void TakeDecision(const Pair& pair, const Json& binding, const PolicyDecision& decision,
                    std::size_t index);
  void Annotate(const std::string& key, const std::string& value) const;

  const PolicyDispatch& dispatch_;
  const AdmissionRequest& request_;
  const Json* object_;
  const MatchInput match_;
  std::map<std::string, Versioned> versioned_;
  std::optional<Object> namespace_;
  std::optional<ApiError> refusal_;
  Json failures_ = Json::array();  // failures of validationActions Audit
  // Annotations of the present policy, by key.
  std::map<std::string, std::vector<std::string>> annotations_;
};

void PolicyRound::Deny(const Pair& pair, const std::string& message, const std::string& reason) {
  if (refusal_) return;
  std::string text = "ValidatingAdmissionPolicy '" + pair.policy + "'";
  if (!pair.binding.empty()) text += " with binding '" + pair.binding + "'";
  text += " denied request: " + message;
  refusal_ = ForbiddenStatus(request_.context->resource->id, request_.name, text);
  refusal_->reason = reason.empty() ? "Invalid" : reason;
  refusal_->code = CodeOf(refusal_->reason);
  refusal_->details["causes"] = Json::array({{{"message", std::move(text)}}});
}

void PolicyRound::DenyWrongConfiguration(const Pair& pair, const std::string& why) {
  if (pair.ignores_failures) return;
  Deny(pair,
       (pair.binding.empty() ? "failed to configure policy: " : "failed to configure binding: ") +
           why,
       "");
}

PolicyRound::Versioned* PolicyRound::InVersion(const std::string& version, std::string& why) {
  const auto [known, is_new] = versioned_.try_emplace(version);
  Versioned& versioned = known->second;
  if (!is_new) return &versioned;
  const ResourceInfo& resource = *request_.context->resource;
  const std::string api_version = ApiVersion(resource.id.group, version);
  const Json* given[2] = {object_, request_.old_object};
  for (int i = 0; i < 2; ++i) {
    if (given[i] == nullptr || TextAt(*given[i], {"apiVersion"}) == api_version) continue;
    auto converted = dispatch_.converter_.ConvertOne(resource, *given[i], api_version);
    if (!converted) {
      why = "failed to convert object version: " + converted.error().message;
      versioned_.erase(known);
      return nullptr;
    }
    versioned.converted[i] = std::move(*converted);
    given[i] = &versioned.converted[i];
  }
  versioned.object = given[0];
  versioned.old_object = given[1];
  return &versioned;
}

void PolicyRound::Annotate(const std::string& key, const std::string& value) const {
  RequestContext& context = *request_.context;
  if (context.audit != nullptr) context.audit->values.emplace(key, value);
}

void PolicyRound::TakeDecision(const Pair& pair, const Json& binding,
                               const PolicyDecision& decision, std::size_t index) {
  for (const Json& action : ArrayAt(binding, {"spec", "validationActions"})) {
    if (action == "Deny") {
      Deny(pair, decision.message, decision.reason);
    } else if (action == "Warn") {
      request_.context->warnings.push_back("Validation failed for ValidatingAdmissionPolicy '" +
                                           pair.policy + "' with binding '" + pair.binding +
                                           "': " + decision.message);
    } else if (action == "Audit" && failures_.size() < kMaxFailuresShown) {
      failures_.push_back({{"message", decision.message},
                           {"policy", pair.policy},
                           {"binding", pair.binding},
                           {"expressionIndex", index},
                           {"validationActions", ArrayAt(binding, {"spec", "validationActions"})}});
    }
  }
}

void PolicyRound::Evaluate(const PolicyProgram& program, const Pair& pair, const Json& binding,
                           Versioned& versioned, const std::string& version, const Json* params) {
  if (!namespace_) namespace_ = NamespaceOfRequest(dispatch_.store_, request_);
  AdmissionVariables variables;
  variables.object = versioned.object;
  variables.old_object = versioned.old_object;
  variables.request = [&]() -> const Json* {
    if (versioned.request.is_null()) {
      const WebhookQuestion review = MakeReview(
          request_, {.uid = "", .version = version, .object = nullptr, .old_object = nullptr});
      versioned.request = review.envelope.at("request");
    }
    return &versioned.request;
  };
  variables.params = params;
  variables.namespace_object = namespace_->get();
  variables.roles = &dispatch_.roles_;
  variables.user = &request_.context->user;
  variables.resource = ResourceOfRequest(request_);
  const PolicyAnswer answer = program.Evaluate(variables);
  for (std::size_t i = 0; i < answer.decisions.size(); ++i) {
    if (answer.decisions[i].denies) TakeDecision(pair, binding, answer.decisions[i], i);
  }
  for (const PolicyAnnotation& annotation : answer.annotations) {
    if (!annotation.error.empty()) Deny(pair, annotation.error, "");
    if (annotation.value.empty()) continue;
    const std::string value = annotation.value.substr(0, kMaxAnnotationBytes);
    std::vector<std::string>& known = annotations_[annotation.key];
    if (std::find(known.begin(), known.end(), value) == known.end()) known.push_back(value);
  }
}

void PolicyRound::Meet(const StoredObject& stored, const Json& policy,
                       const std::vector<Object>& bindings) {
  const Json* constraints = At(policy, {"spec", "matchConstraints"});
  if (constraints == nullptr) return;
  const auto version = MatchResources(*constraints, match_);
  if (!version) return;
  annotations_.clear();
  Pair pair{.policy = NameOf(policy),
            .binding = "",
            .ignores_failures = TextAt(policy, {"spec", "failurePolicy"}) == "Ignore"};
  std::shared_ptr<const PolicyProgram> program;
  for (const Object& binding : bindings) {
    if (TextAt(*binding, {"spec", "policyName"}) != pair.policy) continue;
    const Json* resources = At(*binding, {"spec", "matchResources"});
    if (resources != nullptr && !MatchResources(*resources, match_)) continue;
    pair.binding = NameOf(*binding);
    const PolicyParams params = ParamsOfBinding(dispatch_.store_, dispatch_.converter_,
                                                *request_.context, policy, *binding);
    if (!params.error.empty()) {
      if (params.of_policy) pair.binding.clear();
      DenyWrongConfiguration(pair, params.error);
      continue;
    }
    if (!params.none && params.objects.empty()) continue;
    std::string why;
    Versioned* versioned = InVersion(*version, why);
    if (versioned == nullptr) {
      DenyWrongConfiguration(pair, why);
      continue;
    }
    if (program == nullptr) program = dispatch_.programs_.Of(stored);
    if (params.none) Evaluate(*program, pair, *binding, *versioned, *version, nullptr);
    for (const Json& one : params.objects) {
      Evaluate(*program, pair, *binding, *versioned, *version, &one);
    }
  }
  for (const auto& [key, values] : annotations_) {
    std::string joined;
    for (const std::string& value : values) joined += (joined.empty() ? "" : ", ") + value;
    Annotate(pair.policy + "/" + key, joined);
  }
}

std::optional<ApiError> PolicyRound::Refusal() {
  if (!failures_.empty()) Annotate(kFailureAnnotation, api::FormatJson(failures_));
  return std::move(refusal_);
}

std::optional<ApiError> PolicyDispatch::Validate(const AdmissionRequest& request,
                                                 const Json* object) const {
  const std::vector<StoredPtr> policies = store_.cache().List(kValidatingPolicies, "").objects;
  if (policies.empty() || IsAdmissionPolicy(*request.context->resource)) return std::nullopt;
  std::vector<Object> bindings;
  for (const StoredPtr& stored : store_.cache().List(kValidatingPolicyBindings, "").objects) {
    if (Object json = stored->json()) bindings.push_back(std::move(json));
  }
  if (bindings.empty()) return std::nullopt;
  PolicyRound round(*this, request, object);
  for (const StoredPtr& stored : policies) {
    if (const Object policy = stored->json()) round.Meet(*stored, *policy, bindings);
  }
  return round.Refusal();
}

}  // namespace berth::local
