// local/apiserver/registry/account_volume.h — the parts that a new pod gets from its
// ServiceAccount: the volume by which clients in a cluster find the API, and the secrets for
// pulling images.
//
//     /var/run/secrets/kubernetes.io/serviceaccount/{token, ca.crt, namespace}
//
// Pure. Source: Kubernetes "Configure Service Accounts for Pods", admission plugin ServiceAccount,
// restated.
#pragma once

#include <functional>
#include <string>

#include "local/apiserver/api.h"

namespace berth::local {

// Adds the volume, and a mount to every container without one at that path, unless the pod or, if
// the pod is silent, the account says automountServiceAccountToken: false. `suffix` makes the end
// of the volume's name; it is called at most once.
void MountAccountToken(const Json& account, const std::function<std::string()>& suffix, Json& pod);

// Gives a pod that names no imagePullSecrets those of the account.
void AddPullSecrets(const Json& account, Json& pod);

}  // namespace berth::local
