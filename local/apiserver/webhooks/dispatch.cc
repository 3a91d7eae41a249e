#include "local/apiserver/webhooks/dispatch.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <future>

#include "base/log/log.h"
#include "base/random.h"
#include "base/seconds.h"
#include "local/apiserver/blocking.h"
#include "local/apiserver/patch/json_patch.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/registry/uuid.h"
#include "local/apiserver/webhooks/match_conditions.h"
#include "local/apiserver/webhooks/match_input.h"

namespace berth::local {
namespace {

constexpr const char* kMutating = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
constexpr const char* kValidating = "validatingwebhookconfigurations.admissionregistration.k8s.io";
constexpr std::int64_t kDefaultTimeoutSeconds = 10;
constexpr const char* kAdmit = "admit";
constexpr const char* kValidate = "validating";
// What counts as the code of a call without an HTTP answer, or with one that is no review.
constexpr int kNoAnswerCode = 503;

// Unique in this process; webhooks only echo it.
std::string NewReviewUid() {
  static std::atomic<std::uint64_t> count{0};
  Random random(count.fetch_add(1));
  return MakeUuid(random);
}

bool IsExempt(const ResourceInfo& resource) {
  return resource.id.group == "admissionregistration.k8s.io" ||
         resource.id.group == "authentication.k8s.io" ||
         resource.id.group == "authorization.k8s.io";
}

}  // namespace

WebhookDispatch::Outcome WebhookDispatch::Failure(const Hook& hook, const std::string& why,
                                                  int code) {
  Outcome outcome;
  outcome.code = code;
  if (TextAt(*hook.webhook, {"failurePolicy"}) == "Ignore") {
    outcome.ending = WebhookCall::Ending::kFailedOpen;
    LogWarning("webhook failed and is ignored", {{"webhook", hook.name}, {"error", why}});
  } else {
    outcome.ending = WebhookCall::Ending::kFailed;
    outcome.error = InternalStatus("failed calling webhook \"" + hook.name + "\": " + why);
  }
  return outcome;
}

std::vector<WebhookDispatch::Hook> WebhookDispatch::Concerned(const char* configurations,
                                                              const AdmissionRequest& request,
                                                              const Json* object) const {
  std::vector<Hook> hooks;
  if (IsExempt(*request.context->resource)) return hooks;
  const WatchCache::Snapshot snapshot = store_.cache().List(configurations, "");
  if (snapshot.objects.empty()) return hooks;
  const MatchInput input = MakeMatchInput(store_, request, object);
  for (const StoredPtr& stored : snapshot.objects) {
    const Object configuration = stored->json();
    if (configuration == nullptr) continue;
    for (const Json& webhook : ArrayAt(*configuration, {"webhooks"})) {
      if (auto version = MatchWebhook(webhook, input)) {
        hooks.push_back({configuration, &webhook, TextAt(webhook, {"name"}), std::move(*version)});
      }
    }
  }
  return hooks;
}

void WebhookDispatch::Ask(const Hook& hook, const AdmissionRequest& request, const Json* object,
                          Question& question) const {
  if (caller_ == nullptr) {
    question.outcome =
        Failure(hook, "failed to call webhook: webhooks are not called here", kNoAnswerCode);
    return;
  }
  const ResourceInfo& resource = *request.context->resource;
  const std::string api_version = ApiVersion(resource.id.group, hook.version);
  const Json* given[2] = {object, request.old_object};
  for (int i = 0; i < 2; ++i) {
    if (given[i] == nullptr || TextAt(*given[i], {"apiVersion"}) == api_version) continue;
    auto converted = converter_.ConvertOne(resource, *given[i], api_version);
    if (!converted) {
      question.outcome = Failure(hook, converted.error().message, kNoAnswerCode);
      return;
    }
    question.converted[i] = std::move(*converted);
    given[i] = &question.converted[i];
  }
  question.review = {NewReviewUid(), hook.version, given[0], given[1]};
  AdmissionVariables variables;
  variables.object = given[0];
  variables.old_object = given[1];
  variables.request = [&] {
    question.asked = MakeReview(request, question.review);
    return Member(question.asked->envelope, "request");
  };
  variables.roles = &roles_;
  variables.user = &request.context->user;
  variables.resource = ResourceOfRequest(request);
  const ConditionVerdict verdict = EvaluateConditions(*hook.webhook, variables);
  question.call = verdict.kind == ConditionVerdict::Kind::kCall;
  if (question.call && !question.asked) question.asked = MakeReview(request, question.review);
  if (verdict.kind == ConditionVerdict::Kind::kRefuse) {
    question.outcome.error = ForbiddenStatus(resource.id, request.name, verdict.error);
  }
}

WebhookDispatch::Outcome WebhookDispatch::Call(const Hook& hook, const Question& question) const {
  if (!question.call) return question.outcome;
  const Json* config = Member(*hook.webhook, "clientConfig");
  const auto timeout =
      BoundedSeconds(IntAt(*hook.webhook, {"timeoutSeconds"}, kDefaultTimeoutSeconds));
  int code = kNoAnswerCode;
  const auto review = caller_->Call(ReadClientConfig(config == nullptr ? Json() : *config),
                                    *question.asked, timeout, &code);
  if (!review) return Failure(hook, "failed to call webhook: " + review.error().message, code);
  ReviewAnswer answer = ReadReview(*review, question.review.uid, hook.name);
  if (!answer.invalid.empty()) {
    return Failure(hook, "received invalid webhook response: " + answer.invalid, kNoAnswerCode);
  }
  Outcome outcome;
  outcome.warnings = std::move(answer.warnings);
  outcome.annotations = std::move(answer.annotations);
  if (!answer.allowed) {
    outcome.ending = WebhookCall::Ending::kRejected;
    outcome.code = answer.denial.code;
    outcome.error = std::move(answer.denial);
  } else {
    outcome.patch = std::move(answer.patch);
  }
  return outcome;
}

void WebhookDispatch::Count(const Hook& hook, const char* type, const AdmissionRequest& request,
                            const Outcome& outcome, Instant begin) const {
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  metrics_.Count({.ending = outcome.ending,
                  .webhook = hook.name,
                  .type = type,
                  .operation = OperationName(request.operation),
                  .code = outcome.code,
                  .seconds = took.count()});
}

WebhookDispatch::Outcome WebhookDispatch::CallToValidate(const Hook& hook,
                                                         const AdmissionRequest& request,
                                                         const Question& question) const {
  const Instant begin = std::chrono::steady_clock::now();
  Outcome outcome = Call(hook, question);
  if (question.call) Count(hook, kValidate, request, outcome, begin);
  return outcome;
}

void WebhookDispatch::Note(const Hook& hook, const AdmissionRequest& request, Outcome& outcome) {
  RequestContext& context = *request.context;
  for (std::string& warning : outcome.warnings) context.warnings.push_back(std::move(warning));
  if (context.audit == nullptr) return;
  for (auto& [key, value] : outcome.annotations) {
    context.audit->values.emplace(hook.name + "/" + key, std::move(value));
  }
}

std::optional<ApiError> WebhookDispatch::MutateOnce(const Hook& hook,
                                                    const AdmissionRequest& request, Json& object,
                                                    const AdmissionChain::Accept& accept) const {
  if (auto error = CheckCancellation()) return error;
  Question question;
  Ask(hook, request, &object, question);
  const Instant begin = std::chrono::steady_clock::now();
  Outcome outcome = Call(hook, question);
  Note(hook, request, outcome);
  if (!outcome.error && !outcome.patch.is_null() && !outcome.patch.empty()) {
    outcome.error = ApplyPatch(hook, request, outcome.patch, object, accept);
    if (outcome.error) {
      outcome.ending = WebhookCall::Ending::kServerFailed;
      outcome.code = 0;
    }
  }
  if (question.call) Count(hook, kAdmit, request, outcome, begin);
  return outcome.error;
}

std::optional<ApiError> WebhookDispatch::ApplyPatch(const Hook& hook,
                                                    const AdmissionRequest& request,
                                                    const Json& patch, Json& object,
                                                    const AdmissionChain::Accept& accept) const {
  const ResourceInfo& resource = *request.context->resource;
  auto before =
      converter_.ConvertOne(resource, object, ApiVersion(resource.id.group, hook.version));
  if (!before) return before.error();
  auto patched = ApplyJsonPatch(*before, patch);
  if (!patched) {
    return InternalStatus("applying the patch of webhook \"" + hook.name +
                          "\": " + patched.error().message);
  }
  auto after = converter_.ConvertOne(resource, std::move(*patched), resource.api_version());
  if (!after) return after.error();
  object = std::move(*after);
  return accept(object);
}

std::optional<ApiError> WebhookDispatch::Mutate(const AdmissionRequest& request, Json& object,
                                                const AdmissionChain::Accept& accept) const {
  const std::vector<Hook> hooks = Concerned(kMutating, request, &object);
  // The object as last seen by each hook that may be called again.
  std::vector<std::pair<const Hook*, Json>> again;
  for (const Hook& hook : hooks) {
    if (auto error = MutateOnce(hook, request, object, accept)) return error;
    if (TextAt(*hook.webhook, {"reinvocationPolicy"}) == "IfNeeded")
      again.emplace_back(&hook, object);
  }
  for (const auto& [hook, seen] : again) {
    if (seen == object) continue;
    if (auto error = MutateOnce(*hook, request, object, accept)) return error;
  }
  return std::nullopt;
}

std::optional<ApiError> WebhookDispatch::Validate(const AdmissionRequest& request,
                                                  const Json* object) const {
  const std::vector<Hook> hooks = Concerned(kValidating, request, object);
  if (hooks.empty()) return std::nullopt;
  std::deque<Question> questions;
  for (const Hook& hook : hooks) Ask(hook, request, object, questions.emplace_back());
  const auto is_called = [](const Question& each) { return each.call; };
  const auto last = std::find_if(questions.rbegin(), questions.rend(), is_called);
  const std::ptrdiff_t here = last == questions.rend() ? -1 : questions.rend() - last - 1;
  // All calls but the last get a thread. What such a thread throws comes out of get().
  std::vector<std::future<Outcome>> others(hooks.size());
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    if (!questions[i].call || static_cast<std::ptrdiff_t>(i) == here) continue;
    others[i] = std::async(std::launch::async,
                           [&, i] { return CallToValidate(hooks[i], request, questions[i]); });
  }
  std::vector<Outcome> outcomes(hooks.size());
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    if (!others[i].valid()) outcomes[i] = CallToValidate(hooks[i], request, questions[i]);
  }
  const BlockingScope blocking;
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    if (others[i].valid()) outcomes[i] = others[i].get();
  }
  std::optional<ApiError> refusal;
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    Note(hooks[i], request, outcomes[i]);
    if (outcomes[i].error && !refusal) refusal = std::move(outcomes[i].error);
  }
  return refusal;
}

}  // namespace berth::local
