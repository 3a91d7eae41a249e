// cli/remote_api.h — an API server elsewhere in the shape of the embedded one, for programs of
// `local/` that act on any Kubernetes: the emulated cloud beside a real control plane.
//
// Threads: as local::Api; calls block for at most 30 s. Its own two threads carry the bytes.
// Errors: the server's Status; reason "ServiceUnavailable" where no answer came, then a write may
// or may not have happened.
#pragma once

#include <memory>

#include "base/result.h"
#include "kube/client/kubeconfig.h"
#include "local/apiserver/api.h"

namespace berth::cli {

// Watches go on by themselves after a lost connection: an object that went meanwhile is told as
// deleted with its last known state. The returned object must outlive its watches.
Result<std::unique_ptr<local::Api>> ConnectRemoteApi(const kube::KubeConfig& config);

}  // namespace berth::cli
