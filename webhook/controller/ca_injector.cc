#include "webhook/controller/ca_injector.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/kinds.h"
#include "base/log/log.h"
#include "base/strings.h"
#include "kube/runtime/steps.h"

namespace berth::webhook {
namespace {

using Json = nlohmann::json;
using kube::JsonPtr;

constexpr char kRegistration[] = "admissionregistration.k8s.io";
constexpr api::ResourceKind kMutating{kRegistration, "v1", "MutatingWebhookConfiguration",
                                      "mutatingwebhookconfigurations", false};
constexpr api::ResourceKind kValidating{kRegistration, "v1", "ValidatingWebhookConfiguration",
                                        "validatingwebhookconfigurations", false};
constexpr api::ResourceKind kCrd{"apiextensions.k8s.io", "v1", "CustomResourceDefinition",
                                 "customresourcedefinitions", false};

Json Based(const Json& object, const char* member, Json value) {
  return {{"metadata", {{"resourceVersion", object["metadata"].value("resourceVersion", "")}}},
          {member, std::move(value)}};
}

// The merge patch that brings `bundle` into a webhook configuration; null: it is there.
Json ConfigurationPatch(const Json& object, const std::string& bundle) {
  Json hooks = object.value("webhooks", Json::array());
  bool changed = false;
  for (Json& hook : hooks) {
    Json& config = hook["clientConfig"];
    if (config.value("caBundle", "") == bundle) continue;
    config["caBundle"] = bundle;
    changed = true;
  }
  return changed ? Based(object, "webhooks", std::move(hooks)) : Json();
}

Json CrdPatch(const Json& object, const std::string& bundle) {
  const Json::json_pointer path("/spec/conversion/webhook/clientConfig");
  if (!object.contains(path) || object[path].value("caBundle", "") == bundle) return {};
  return Based(object, "spec",
               {{"conversion", {{"webhook", {{"clientConfig", {{"caBundle", bundle}}}}}}}});
}

}  // namespace

struct CaInjector::State : std::enable_shared_from_this<State> {
  State(kube::ApiClient& api_client, Executor& the_executor, CaInjectorOptions the_options)
      : client(api_client), executor(the_executor), options(std::move(the_options)) {}

  using MakePatch = Json (*)(const Json&, const std::string&);

  kube::Step Inject(const api::ResourceKind& kind, const std::string& name, MakePatch make) {
    return [self = shared_from_this(), &kind, name, make](std::function<void(Status)> next) {
      const api::ObjectKey key{"", name};
      self->client.Get(
          kind, key,
          [self, &kind, key, make, next = std::move(next)](const Result<JsonPtr>& object) {
            if (!object) {
              self->Miss(key.name, object.error());
              return next(OkStatus());
            }
            Json patch = make(**object, self->bundle);
            if (patch.is_null()) return next(OkStatus());
            self->client.Patch(kind, key, kube::PatchType::kMerge, std::move(patch), {},
                               [self, key, next](const Result<JsonPtr>& written) {
                                 if (!written) self->Miss(key.name, written.error());
                                 next(OkStatus());
                               });
          });
    };
  }

  void Miss(const std::string& name, const Error& error) {
    complete = false;
    if (error.code == ErrorCode::kNotFound) return;  // installed later
    LogWarning("CA bundle not written", {{"object", name}, {"error", error.message}});
  }

  void Look() {
    complete = true;
    std::vector<kube::Step> steps{Inject(kMutating, options.mutating, ConfigurationPatch),
                                  Inject(kValidating, options.validating, ConfigurationPatch)};
    for (const std::string& crd : options.crds) steps.push_back(Inject(kCrd, crd, CrdPatch));
    kube::RunSteps(std::move(steps), [self = shared_from_this()](const Status&) {
      if (auto first = std::exchange(self->first_done, nullptr)) first(self->complete);
      self->LookAfter(self->complete ? self->options.look_again : self->options.look_again_missing);
    });
  }

  void LookAfter(Duration delay) {
    executor.PostAfter(delay, [weak = weak_from_this()] {
      if (const auto self = weak.lock(); self != nullptr && !self->stopped) self->Look();
    });
  }

  kube::ApiClient& client;
  Executor& executor;
  CaInjectorOptions options;
  std::string bundle;  // base64
  std::function<void(bool)> first_done;
  bool complete = true;
  bool stopped = false;
};

CaInjector::CaInjector(kube::ApiClient& client, Executor& executor, std::string ca_pem,
                       CaInjectorOptions options)
    : state_(std::make_shared<State>(client, executor, std::move(options))) {
  SetCa(std::move(ca_pem));
}

CaInjector::~CaInjector() { state_->stopped = true; }

void CaInjector::Start(std::function<void(bool)> first_done) {
  state_->first_done = std::move(first_done);
  state_->Look();
}

void CaInjector::SetCa(std::string ca_pem) { state_->bundle = Base64Encode(ca_pem); }

}  // namespace berth::webhook
