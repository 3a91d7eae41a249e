// webhook/controller/ca_injector.h — writes the CA of our webhook server where API servers look for
// it: the two webhook configurations, and the CRDs that are converted.
//
// What is not there yet is looked for again; what somebody overwrites (kubectl apply of the
// manifests) is put right at the next look. A bundle that has our certificates and others is left:
// another replica, which knows of a newer CA, has written it.
//
// Threads: one Executor, that of the client; destroy it there.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kube/client/api_client.h"

namespace berth::webhook {

// An empty name: there is no such registration.
struct CaInjectorOptions {
  std::string mutating = "kueue-mutating-webhook-configuration";
  std::string validating = "kueue-validating-webhook-configuration";
  std::vector<std::string> crds{"clusterqueues.kueue.x-k8s.io", "cohorts.kueue.x-k8s.io",
                                "localqueues.kueue.x-k8s.io", "workloads.kueue.x-k8s.io"};
  Duration look_again_missing = std::chrono::seconds(5);
  Duration look_again = std::chrono::minutes(5);
};

class CaInjector {
 public:
  CaInjector(kube::ApiClient& client, Executor& executor, std::string ca_pem,
             CaInjectorOptions options);
  ~CaInjector();
  CaInjector(const CaInjector&) = delete;
  CaInjector& operator=(const CaInjector&) = delete;

  // `first_done` is called once, after the first pass, with whether everything was there.
  void Start(std::function<void(bool complete)> first_done);
  // Writes another bundle at once. `done` hears whether every registration that is there has it.
  void SetCa(std::string ca_pem, std::function<void(bool trusted)> done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace berth::webhook
