// local/cluster/kubelet/pod_account.h — gives the programs of a pod the identity of its
// ServiceAccount: a kubeconfig with a token for a year that is bound to the pod, at the place where
// clients look for it, HOME/.kube/config, and tokens for projected volumes.
//
// Threads: as the Api's.
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "local/apiserver/api.h"

namespace berth::local::cluster {

// The text of a kubeconfig.
using MakeAccountKubeconfig =
    std::function<std::string(const std::string& token, const std::string& namespace_name)>;

// A token of the pod's ServiceAccount for `audience`; an empty one stands for the API. Valid for
// `seconds`, at least ten minutes and at most a year; ends with the pod. Errors: kUnavailable with
// the answer of the API.
Result<std::string> TokenOfPod(Api& api, const Json& pod, const std::string& audience,
                               std::int64_t seconds);

// The time after which kubelet replaces a token with a life of `seconds`: 80 % of the life, a day
// at most.
Duration TokenRenewalDelay(std::int64_t seconds);

// The kubeconfig of the pod's ServiceAccount; empty: the pod or the account wants none
// (automountServiceAccountToken). Errors: as TokenOfPod.
Result<std::string> KubeconfigOfPod(Api& api, const Json& pod, const MakeAccountKubeconfig& make);

}  // namespace berth::local::cluster
