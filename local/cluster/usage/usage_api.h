// local/cluster/usage/usage_api.h — the API group metrics.k8s.io as metrics-server has it: its
// documents, PodMetrics and NodeMetrics.
//
//     GET /apis/metrics.k8s.io/v1beta1/nodes[/NAME]
//     GET /apis/metrics.k8s.io/v1beta1[/namespaces/NS]/pods[/NAME]
//
// A pod appears while a program of it runs. The usage of a node is the usage of its pods' programs.
// All nodes are one machine, whose other programs belong to no node.
//
// Pure. Errors: a Status in the answer (400, 404, 405).
// Source: k8s.io/metrics v1beta1; kubernetes-sigs/metrics-server pkg/api, restated.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/http/target.h"
#include "local/cluster/usage/pod_usage.h"
#include "net/http.h"

namespace berth::local::cluster {

inline constexpr char kUsageGroup[] = "metrics.k8s.io";

// The group's part of the document at `path` (/apis, /apis/metrics.k8s.io[/v1beta1]); nullopt: the
// path is not the path of a document.
std::optional<net::Response> UsageDocument(std::string_view path, std::string_view accept);

struct UsageView {
  std::vector<Object> pods;   // the pods of the request's namespace, or all pods
  std::vector<Object> nodes;  // empty in answers about pods
  std::map<std::string, PodUsage> usage_by_uid;
  WallTime now;
};

// A Status as the answer.
net::Response UsageRefusal(const ApiError& error);

net::Response UsageAnswer(const Target& target, const ApiPath& path, const UsageView& view);

}  // namespace berth::local::cluster
