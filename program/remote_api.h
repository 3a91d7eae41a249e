// program/remote_api.h — a remote API server behind the interface of the embedded one, for programs
// of `local/` that act on any Kubernetes: the emulated cloud beside a real control plane.
//
// Threads: as local::Api; calls block for at most 30 s. Has two I/O threads of its own. Errors: the
// server's Status; reason "ServiceUnavailable" if no answer came; a write may then have happened or
// not.
#pragma once

#include <memory>

#include "base/result.h"
#include "kube/client/kubeconfig.h"
#include "local/apiserver/api.h"

namespace berth::program {

// Watches resume after a lost connection: an object that was deleted meanwhile is reported as
// deleted with its last known state. The returned object must outlive its watches.
Result<std::unique_ptr<local::Api>> ConnectRemoteApi(const kube::KubeConfig& config);

}  // namespace berth::program
