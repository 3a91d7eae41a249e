// local/apiserver/http/server_metrics.h — /metrics of the API server: requests and watches
// (request_metrics.h), stored objects, calls of webhooks, the process.
//
// Threads: any. Source: the names of kube-apiserver and of Prometheus' process collector.
#pragma once

#include <string>

#include "local/apiserver/http/request_metrics.h"
#include "local/apiserver/registry/registry.h"

namespace berth::local {

// `version`: "v1.36.3+berth".
std::string ServerMetrics(const RequestMetrics& requests, const Registry& registry,
                          const std::string& version);

}  // namespace berth::local
