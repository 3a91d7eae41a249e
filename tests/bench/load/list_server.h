// tests/bench/load/list_server.h — the part of an API server that a controller's start needs: lists
// (with limit and continue) of generated objects, and silent watches, over HTTPS.
//
// Writes get no answer. The server reports two events through a pipe, a byte each:
//     'w'  the Workloads have been listed and their watch is open
//     'd'  the first admission has been written
//
// Threads: the server's own.
#pragma once

#include <string>

#include "tests/bench/load/workload_text.h"

namespace berth::bench {

// Serves until SIGTERM; for Child::Fork. Writes a kubeconfig for itself to
// `kubeconfig` when it is ready (renamed into place), and news to the file descriptor `news`.
int ServeLists(const LoadSize& size, const std::string& kubeconfig, int news);

}  // namespace berth::bench
