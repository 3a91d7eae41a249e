#include "webhook/controller/ca_injector.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/kinds.h"
#include "base/log/log.h"
#include "base/strings.h"
#include "kube/runtime/write_steps.h"

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

constexpr api::ResourceKind kApiService{"apiregistration.k8s.io", "v1", "APIService", "apiservices",
                                        false};

// The certificates of a bundle, without surrounding blanks.
std::vector<std::string_view> CertificatesOf(std::string_view pem) {
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  std::vector<std::string_view> certificates;
  while (!TrimSpace(pem).empty()) {
    const std::size_t end = pem.find(kEnd);
    const std::size_t size = end == std::string_view::npos ? pem.size() : end + kEnd.size();
    certificates.push_back(TrimSpace(pem.substr(0, size)));
    pem.remove_prefix(size);
  }
  return certificates;
}

// Whether `bundle` has all certificates of `ours` (both in base64).
bool Covers(const std::string& bundle, const std::string& ours) {
  if (bundle == ours) return true;
  const std::string there = Base64Decode(bundle).value_or("");
  const std::string wanted = Base64Decode(ours).value_or("");
  const std::vector<std::string_view> all = CertificatesOf(there);
  const std::vector<std::string_view> needed = CertificatesOf(wanted);
  return std::all_of(needed.begin(), needed.end(), [&](std::string_view certificate) {
    return std::find(all.begin(), all.end(), certificate) != all.end();
  });
}

Json Based(const Json& object, const char* member, Json value) {
  return {{"metadata", {{"resourceVersion", object["metadata"].value("resourceVersion", "")}}},
          {member, std::move(value)}};
}

// The merge patch that writes `bundle` to a webhook configuration; null: it has the bundle.
Json ConfigurationPatch(const Json& object, const std::string& bundle) {
  Json hooks = object.value("webhooks", Json::array());
  bool changed = false;
  for (Json& hook : hooks) {
    Json& config = hook["clientConfig"];
    if (Covers(config.value("caBundle", ""), bundle)) continue;
    config["caBundle"] = bundle;
    changed = true;
  }
  return changed ? Based(object, "webhooks", std::move(hooks)) : Json();
}

Json CrdPatch(const Json& object, const std::string& bundle) {
  const Json::json_pointer path("/spec/conversion/webhook/clientConfig");
  if (!object.contains(path) || Covers(object[path].value("caBundle", ""), bundle)) return {};
  return Based(object, "spec",
               {{"conversion", {{"webhook", {{"clientConfig", {{"caBundle", bundle}}}}}}}});
}

// An APIService that is not to be verified keeps that: both fields exclude each other.
Json ApiServicePatch(const Json& object, const std::string& bundle) {
  const Json spec = object.value("spec", Json::object());
  if (!spec.contains("service") || spec.value("insecureSkipTLSVerify", false)) return {};
  if (Covers(spec.value("caBundle", ""), bundle)) return {};
  return Based(object, "spec", {{"caBundle", bundle}});
}

constexpr Duration kFirstPause = std::chrono::seconds(1);
constexpr Duration kRestoreAfter = std::chrono::milliseconds(500);

}  // namespace

struct CaInjector::State : std::enable_shared_from_this<State> {
  State(kube::ApiClient& api_client, Executor& the_executor, CaInjectorOptions the_options)
      : client(api_client), executor(the_executor), options(std::move(the_options)) {}

  using MakePatch = Json (*)(const Json&, const std::string&);

  // One pass over all registrations.
  struct Pass {
    std::string bundle;
    bool complete = true;      // all but APIServices exist and have the bundle
    bool trusted = true;       // existing ones, but for APIServices, have the bundle
    bool api_services = true;  // all exist and have the bundle

    void Miss(const api::ResourceKind& kind, const std::string& name, const Error& error) {
      const bool is_missing = error.code == ErrorCode::kNotFound;
      if (&kind == &kApiService) {
        api_services = false;
        // The webhooks work without the APIService.
        if (is_missing) return;
      } else {
        complete = false;
        if (is_missing) return;  // not installed yet
        trusted = false;
      }
      LogWarning("CA bundle not written", {{"object", name}, {"error", error.message}});
    }
  };

  kube::Step Inject(const std::shared_ptr<Pass>& pass, const api::ResourceKind& kind,
                    const std::string& name, MakePatch make) {
    return [self = shared_from_this(), pass, &kind, name, make](std::function<void(Status)> next) {
      const api::ObjectKey key{"", name};
      self->client.Get(
          kind, key,
          [self, pass, &kind, key, make, next = std::move(next)](const Result<JsonPtr>& object) {
            if (!object) {
              pass->Miss(kind, key.name, object.error());
              return next(OkStatus());
            }
            Json patch = make(**object, pass->bundle);
            if (patch.is_null()) return next(OkStatus());
            self->client.Patch(kind, key, kube::PatchType::kMerge, std::move(patch), {},
                               [pass, &kind, key, next](const Result<JsonPtr>& written) {
                                 if (!written) pass->Miss(kind, key.name, written.error());
                                 next(OkStatus());
                               });
          });
    };
  }

  void RunPass(std::function<void(const Pass&)> done) {
    auto pass = std::make_shared<Pass>();
    pass->bundle = bundle;
    std::vector<kube::Step> steps;
    for (const auto& each : registrations) {
      steps.push_back(Inject(pass, each->kind, each->name, each->make));
    }
    kube::RunSteps(std::move(steps),
                   [pass, done = std::move(done)](const Status&) { done(*pass); });
  }

  // One registration, whose changes are watched.
  struct Registration {
    const api::ResourceKind& kind;
    std::string name;
    MakePatch make;
    std::unique_ptr<kube::WatchHandle> watch;
    Duration pause{};  // before the next watch
    bool is_due = false;
  };

  void AddRegistrations() {
    const auto add = [this](const api::ResourceKind& kind, const std::string& name,
                            MakePatch make) {
      if (name.empty()) return;
      registrations.push_back(std::make_unique<Registration>(Registration{kind, name, make}));
    };
    add(kMutating, options.mutating, ConfigurationPatch);
    add(kValidating, options.validating, ConfigurationPatch);
    for (const std::string& crd : options.crds) add(kCrd, crd, CrdPatch);
    for (const std::string& name : options.api_services) add(kApiService, name, ApiServicePatch);
  }

  void Watch(Registration& each) {
    kube::WatchCallbacks callbacks;
    callbacks.on_event = [weak = weak_from_this(), &each](const kube::WatchEvent&) {
      const auto self = weak.lock();
      if (self == nullptr || self->stopped) return;
      each.pause = kFirstPause;
      self->RestoreSoon(each);
    };
    callbacks.on_end = [weak = weak_from_this(), &each](const Status&) {
      const auto self = weak.lock();
      if (self == nullptr || self->stopped) return;
      each.pause = std::min(std::max(each.pause * 2, kFirstPause), self->options.look_again);
      self->executor.PostAfter(each.pause, [weak, &each] {
        if (const auto still = weak.lock(); still != nullptr && !still->stopped) still->Watch(each);
      });
    };
    each.watch = client.Watch(each.kind, "", {.field_selector = "metadata.name=" + each.name},
                              std::move(callbacks));
  }

  // One write answers the events of kRestoreAfter: another program may insist on its own bundle.
  void RestoreSoon(Registration& each) {
    if (std::exchange(each.is_due, true)) return;
    executor.PostAfter(kRestoreAfter, [weak = weak_from_this(), &each] {
      const auto self = weak.lock();
      if (self == nullptr || self->stopped) return;
      each.is_due = false;
      auto pass = std::make_shared<Pass>();
      pass->bundle = self->bundle;
      self->Inject(pass, each.kind, each.name, each.make)([](const Status&) {});
    });
  }

  void Look() {
    RunPass([self = shared_from_this()](const Pass& pass) {
      if (auto first = std::exchange(self->first_done, nullptr)) first(pass.complete);
      const CaInjectorOptions& often = self->options;
      self->LookAfter(!pass.complete       ? often.look_again_missing
                      : !pass.api_services ? often.look_again_api_services
                                           : often.look_again);
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
  std::vector<std::unique_ptr<Registration>> registrations;
  std::function<void(bool)> first_done;
  bool stopped = false;
};

CaInjector::CaInjector(kube::ApiClient& client, Executor& executor, std::string ca_pem,
                       CaInjectorOptions options)
    : state_(std::make_shared<State>(client, executor, std::move(options))) {
  state_->bundle = Base64Encode(ca_pem);
  state_->AddRegistrations();
}

CaInjector::~CaInjector() { state_->stopped = true; }

void CaInjector::Start(std::function<void(bool)> first_done) {
  state_->first_done = std::move(first_done);
  state_->Look();
  for (const auto& each : state_->registrations) state_->Watch(*each);
}

void CaInjector::SetCa(std::string ca_pem, std::function<void(bool)> done) {
  state_->bundle = Base64Encode(ca_pem);
  state_->RunPass([self = state_, done = std::move(done)](const State::Pass& pass) {
    if (!self->stopped) done(pass.trusted);
  });
}

}  // namespace berth::webhook
