#include "webhook/controller/kind_webhooks.h"

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

constexpr char kGroup[] = "admissionregistration.k8s.io";
constexpr api::ResourceKind kMutatingKind{kGroup, "v1", "MutatingWebhookConfiguration",
                                          "mutatingwebhookconfigurations", false};
constexpr api::ResourceKind kValidatingKind{kGroup, "v1", "ValidatingWebhookConfiguration",
                                            "validatingwebhookconfigurations", false};
constexpr int kTimeoutSeconds = 5;

// Null: the configuration has no entry.
const Json* ModelOf(const Json& configuration, const char* name) {
  const auto hooks = configuration.find("webhooks");
  if (hooks == configuration.end() || !hooks->is_array() || hooks->empty()) return nullptr;
  const auto found = std::find_if(hooks->begin(), hooks->end(), [name](const Json& hook) {
    return hook.value("name", Json()) == name;
  });
  return found == hooks->end() ? &hooks->front() : &*found;
}

// The address of the model with another path.
Json ClientConfigFor(const Json& model, const std::string& path) {
  Json config = model.value("clientConfig", Json::object());
  if (config.contains("url") && config["url"].is_string()) {
    const std::string url = config["url"];
    config["url"] = url.substr(0, url.rfind('/')) + path;
  } else {
    config["service"]["path"] = path;
  }
  return config;
}

Json EntryFor(ReviewVerb verb, const Json& model, const DeclaredWebhook& kind) {
  const bool mutates = verb == ReviewVerb::kMutate;
  const bool of_updates = !mutates || kind.mutates_updates;
  Json entry = {
      {"name", (mutates ? "m" : "v") + ToLower(kind.kind) + "." + kind.group + ".kinds.berth.dev"},
      {"admissionReviewVersions", {"v1"}},
      {"clientConfig", ClientConfigFor(model, (mutates ? "/mutate-" : "/validate-") + kind.path)},
      {"failurePolicy", "Ignore"},
      {"sideEffects", "None"},
      {"timeoutSeconds", kTimeoutSeconds},
      {"rules",
       Json::array({{{"apiGroups", {kind.group}},
                     {"apiVersions", {kind.version}},
                     {"operations", of_updates ? Json{"CREATE", "UPDATE"} : Json{"CREATE"}},
                     {"resources", {kind.plural}}}})}};
  if (const auto selector = model.find("namespaceSelector"); selector != model.end()) {
    entry["namespaceSelector"] = *selector;
  }
  return entry;
}

// Whether `there` has all that `wanted` has; the API server adds defaults.
bool Includes(const Json& there, const Json& wanted) {
  if (wanted.is_object()) {
    return there.is_object() &&
           std::all_of(wanted.items().begin(), wanted.items().end(), [&there](const auto& item) {
             const auto found = there.find(item.key());
             return found != there.end() && Includes(*found, item.value());
           });
  }
  if (wanted.is_array()) {
    return there.is_array() &&
           std::equal(there.begin(), there.end(), wanted.begin(), wanted.end(), Includes);
  }
  return there == wanted;
}

}  // namespace

Result<Json> KindWebhooksPatch(ReviewVerb verb, const Json& built_in, const Json& configuration,
                               const std::vector<DeclaredWebhook>& kinds) {
  Json wanted = Json::array();
  const Json* model = ModelOf(built_in, verb == ReviewVerb::kMutate ? "mjob.kb.io" : "vjob.kb.io");
  if (model == nullptr && !kinds.empty()) {
    return Error{ErrorCode::kInvalid, "the configuration of the built-in kinds has no entry"};
  }
  for (const DeclaredWebhook& kind : kinds) {
    if (model != nullptr) wanted.push_back(EntryFor(verb, *model, kind));
  }
  if (Includes(configuration.value("webhooks", Json::array()), wanted)) return Json();
  return Json{{"metadata",
               {{"resourceVersion", configuration.at("metadata").value("resourceVersion", "")}}},
              {"webhooks", std::move(wanted)}};
}

struct KindWebhooks::State : std::enable_shared_from_this<State> {
  State(kube::ApiClient& api_client, Executor& the_executor, Kinds the_kinds,
        KindWebhooksOptions the_options)
      : client(api_client),
        executor(the_executor),
        kinds(std::move(the_kinds)),
        options(std::move(the_options)) {}

  using Next = std::function<void(Status)>;

  kube::Step Update(ReviewVerb verb) {
    return [self = shared_from_this(), verb](Next next) {
      const bool mutates = verb == ReviewVerb::kMutate;
      const api::ResourceKind& kind = mutates ? kMutatingKind : kValidatingKind;
      const KindWebhooksOptions& names = self->options;
      const api::ObjectKey own{"", mutates ? names.kinds_mutating : names.kinds_validating};
      const api::ObjectKey built_in{"", mutates ? names.mutating : names.validating};
      self->client.Get(kind, own,
                       [self, verb, &kind, own, built_in,
                        next = std::move(next)](const Result<JsonPtr>& configuration) {
                         if (!configuration) return next(configuration.error());
                         self->client.Get(
                             kind, built_in,
                             [self, verb, &kind, own, configuration = *configuration,
                              next](const Result<JsonPtr>& model) {
                               if (!model) return next(model.error());
                               Result<Json> patch =
                                   KindWebhooksPatch(verb, **model, *configuration, self->kinds());
                               if (!patch) return next(patch.error());
                               if (patch->is_null()) return next(OkStatus());
                               self->client.Patch(kind, own, kube::PatchType::kMerge,
                                                  *std::move(patch), {},
                                                  [next](const Result<JsonPtr>& written) {
                                                    next(written ? OkStatus() : written.error());
                                                  });
                             });
                       });
    };
  }

  void Look() {
    if (std::exchange(running, true)) {
      again = true;
      return;
    }
    std::vector<kube::Step> steps{Update(ReviewVerb::kMutate), Update(ReviewVerb::kValidate)};
    kube::RunSteps(std::move(steps),
                   [self = shared_from_this()](const Status& done) { self->End(done); });
  }

  void End(const Status& done) {
    running = false;
    if (stopped) return;
    if (std::exchange(again, false)) return Look();
    const bool declared = !kinds().empty();
    const std::string trouble = done ? "" : done.error().message;
    if (declared && !trouble.empty() && trouble != last_trouble) {
      LogWarning("the webhooks do not review the declared kinds", {{"error", trouble}});
    }
    last_trouble = trouble;
    if (declared || !done) LookLater();
  }

  void LookLater() {
    if (std::exchange(waiting, true)) return;
    executor.PostAfter(options.look_again, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self == nullptr || self->stopped) return;
      self->waiting = false;
      self->Look();
    });
  }

  kube::ApiClient& client;
  Executor& executor;
  Kinds kinds;
  KindWebhooksOptions options;
  std::string last_trouble;
  bool started = false;
  bool stopped = false;
  bool running = false;
  bool again = false;
  bool waiting = false;
};

KindWebhooks::KindWebhooks(kube::ApiClient& client, Executor& executor, Kinds kinds,
                           KindWebhooksOptions options)
    : state_(std::make_shared<State>(client, executor, std::move(kinds), std::move(options))) {}

KindWebhooks::~KindWebhooks() { state_->stopped = true; }

void KindWebhooks::Start() {
  state_->started = true;
  state_->Look();
}

void KindWebhooks::Refresh() {
  if (state_->started) state_->Look();
}

}  // namespace berth::webhook
