// webhook/controller/ca_injector.h — writes the CA of Berth's webhook server into the two webhook
// configurations, into the CRDs that are converted, and into the APIServices of the visibility API
// that name a Service.
//
// A missing registration is read again later. Each registration is watched: an overwritten CA
// (kubectl apply of the manifests) is restored at once, and by the next pass where a watch is down.
// A bundle that contains Berth's certificates and others does not change: another replica, which
// has a newer CA, has written it.
//
// Threads: one Executor, that of the client; destroy it there.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kube/client/api_client.h"

namespace berth::webhook {

// An empty name: no such registration.
struct CaInjectorOptions {
  std::string mutating = "kueue-mutating-webhook-configuration";
  std::string validating = "kueue-validating-webhook-configuration";
  std::vector<std::string> crds{"clusterqueues.kueue.x-k8s.io", "cohorts.kueue.x-k8s.io",
                                "localqueues.kueue.x-k8s.io", "multikueueclusters.kueue.x-k8s.io",
                                "workloads.kueue.x-k8s.io"};
  // A cluster may lack these APIServices.
  std::vector<std::string> api_services{"v1beta1.visibility.kueue.x-k8s.io",
                                        "v1beta2.visibility.kueue.x-k8s.io"};
  Duration look_again_missing = std::chrono::seconds(5);
  // The interval of passes while an APIService lacks the bundle.
  Duration look_again_api_services = std::chrono::seconds(30);
  Duration look_again = std::chrono::minutes(5);
};

class CaInjector {
 public:
  CaInjector(kube::ApiClient& client, Executor& executor, std::string ca_pem,
             CaInjectorOptions options);
  ~CaInjector();
  CaInjector(const CaInjector&) = delete;
  CaInjector& operator=(const CaInjector&) = delete;

  // Calls `first_done` once, after the first pass. `complete`: every registration existed.
  void Start(std::function<void(bool complete)> first_done);
  // Writes another bundle at once. `trusted`: every existing registration has the bundle.
  void SetCa(std::string ca_pem, std::function<void(bool trusted)> done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace berth::webhook
