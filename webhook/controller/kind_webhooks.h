// webhook/controller/kind_webhooks.h — the registrations of reviews for kinds that users declare:
// two webhook configurations, which the manifests create empty, get an entry for each such kind.
//
//     mjob.kb.io of kueue-mutating-webhook-configuration ─clientConfig, namespaceSelector─▶
//         one entry for each declared kind of kueue-job-kinds-mutating-webhook-configuration
//
// The entry names the path of the kind at the same server, with the CA of the built-in entry: the
// program that writes that CA (ca_injector.h, cert-manager) thereby serves declared kinds, too. The
// policy is Ignore: objects of other operators can be written while Berth is away, and the
// controller holds them when it is back.
//
// Threads: one Executor, that of the client; destroy it there. Errors: a failed pass is logged once
// for each cause, and repeated.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "kube/client/api_client.h"

namespace berth::webhook {

struct DeclaredWebhook {
  std::string group;
  std::string version;
  std::string kind;
  std::string plural;
  std::string path;              // ReviewedKind::path
  bool mutates_updates = false;  // ReviewedKind::hold_again
  friend bool operator==(const DeclaredWebhook&, const DeclaredWebhook&) = default;
};

struct KindWebhooksOptions {
  std::string mutating = "kueue-mutating-webhook-configuration";
  std::string validating = "kueue-validating-webhook-configuration";
  std::string kinds_mutating = "kueue-job-kinds-mutating-webhook-configuration";
  std::string kinds_validating = "kueue-job-kinds-validating-webhook-configuration";
  Duration look_again = std::chrono::minutes(1);  // while a kind is declared
};

// The merge patch that gives `configuration` the entries of `kinds` alone; null: it has them
// already. `built_in`: the configuration whose entry is the model for the entries. kInvalid:
// `built_in` has no such entry.
enum class ReviewVerb { kMutate, kValidate };
Result<nlohmann::json> KindWebhooksPatch(ReviewVerb verb, const nlohmann::json& built_in,
                                         const nlohmann::json& configuration,
                                         const std::vector<DeclaredWebhook>& kinds);

class KindWebhooks {
 public:
  using Kinds = std::function<std::vector<DeclaredWebhook>()>;

  KindWebhooks(kube::ApiClient& client, Executor& executor, Kinds kinds,
               KindWebhooksOptions options = {});
  ~KindWebhooks();
  KindWebhooks(const KindWebhooks&) = delete;
  KindWebhooks& operator=(const KindWebhooks&) = delete;

  void Start();    // on the leader
  void Refresh();  // call when the kinds have changed; no effect before Start

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace berth::webhook
