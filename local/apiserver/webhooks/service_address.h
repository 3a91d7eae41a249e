// local/apiserver/webhooks/service_address.h — the address that a webhook's Service stands for.
//
//   ClusterIP, NodePort, LoadBalancer: spec.clusterIP, with the port that the webhook names
//   ExternalName: spec.externalName, with the port that the webhook names
//   headless (clusterIP None): none, as in kube-apiserver
//
// Threads: pure function. Errors: kNotFound (no such Service, no such port) and kUnavailable
// (headless), in the words of k8s.io/apiserver's proxy, which are the text behind `Post "URL": `.
// Source: k8s.io/apiserver pkg/util/proxy (ResolveCluster), restated.
#pragma once

#include <string>

#include "base/result.h"
#include "local/apiserver/api.h"

namespace berth::local {

// "HOST:PORT". `service`: the Service `name`; null: there is none.
Result<std::string> AddressOfService(const Json* service, const std::string& name, int port);

}  // namespace berth::local
