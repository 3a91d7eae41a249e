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
#include "local/apiserver/registry/errors.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/uuid.h"
#include "local/apiserver/webhooks/match_conditions.h"
#include "local/apiserver/webhooks/match_input.h"

namespace berth::local {
namespace {

constexpr const char* kMutating = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
constexpr const char* kValidating = "validatingwebhookconfigurations.admissionregistration.k8s.io";
constexpr std::int64_t kDefaultTimeoutSeconds = 10;

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

WebhookDispatch::Outcome WebhookDispatch::Failure(const Hook& hook, const std::string& why) {
  Outcome outcome;
  if (TextAt(*hook.webhook, {"failurePolicy"}) == "Ignore") {
    LogWarning("webhook failed and is ignored", {{"webhook", hook.name}, {"error", why}});
  } else {
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
    question.outcome = Failure(hook, "failed to call webhook: webhooks are not called here");
    return;
  }
  const ResourceInfo& resource = *request.context->resource;
  const std::string api_version = ApiVersion(resource.id.group, hook.version);
  const Json* given[2] = {object, request.old_object};
  for (int i = 0; i < 2; ++i) {
    if (given[i] == nullptr || TextAt(*given[i], {"apiVersion"}) == api_version) continue;
    auto converted = converter_.ConvertOne(resource, *given[i], api_version);
    if (!converted) {
      question.outcome = Failure(hook, converted.error().message);
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
  const auto review = caller_->Call(ReadClientConfig(config == nullptr ? Json() : *config),
                                    *question.asked, timeout);
  if (!review) return Failure(hook, "failed to call webhook: " + review.error().message);
  ReviewAnswer answer = ReadReview(*review, question.review.uid, hook.name);
  if (!answer.invalid.empty()) {
    return Failure(hook, "received invalid webhook response: " + answer.invalid);
  }
  Outcome outcome;
  outcome.warnings = std::move(answer.warnings);
  if (!answer.allowed) {
    outcome.error = std::move(answer.denial);
  } else {
    outcome.patch = std::move(answer.patch);
  }
  return outcome;
}

std::optional<ApiError> WebhookDispatch::MutateOnce(const Hook& hook,
                                                    const AdmissionRequest& request, Json& object,
                                                    const AdmissionChain::Accept& accept) const {
  Question question;
  Ask(hook, request, &object, question);
  Outcome outcome = Call(hook, question);
  for (std::string& warning : outcome.warnings) {
    request.context->warnings.push_back(std::move(warning));
  }
  if (outcome.error) return outcome.error;
  if (outcome.patch.is_null() || outcome.patch.empty()) return std::nullopt;
  const ResourceInfo& resource = *request.context->resource;
  auto before =
      converter_.ConvertOne(resource, object, ApiVersion(resource.id.group, hook.version));
  if (!before) return before.error();
  auto patched = ApplyJsonPatch(*before, outcome.patch);
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
  // All calls but the last get a thread.
  std::vector<std::future<Outcome>> others(hooks.size());
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    if (!questions[i].call || static_cast<std::ptrdiff_t>(i) == here) continue;
    others[i] = std::async(std::launch::async, [&, i] { return Call(hooks[i], questions[i]); });
  }
  std::vector<Outcome> outcomes(hooks.size());
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    if (!others[i].valid()) outcomes[i] = Call(hooks[i], questions[i]);
  }
  const BlockingScope blocking;
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    if (others[i].valid()) outcomes[i] = others[i].get();
  }
  std::optional<ApiError> refusal;
  for (Outcome& outcome : outcomes) {
    for (std::string& warning : outcome.warnings) {
      request.context->warnings.push_back(std::move(warning));
    }
    if (outcome.error && !refusal) refusal = std::move(outcome.error);
  }
  return refusal;
}

}  // namespace berth::local
