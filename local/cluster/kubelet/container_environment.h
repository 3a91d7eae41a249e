// local/cluster/kubelet/container_environment.h — the environment and arguments of one container.
//
// Pure: ConfigMaps and Secrets come through a function. Source: Kubernetes "Define Environment
// Variables", downward API.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "local/apiserver/api.h"

namespace berth::local::cluster {

using Environment = std::vector<std::pair<std::string, std::string>>;  // ordered, unique names

// The data of a ConfigMap or (decoded) Secret in the pod's namespace; null: no such object.
enum class DataKind { kConfigMap, kSecret };
using DataLookup = std::function<Json(DataKind, const std::string& name)>;

// Evaluates envFrom, then env, later ones winning. kInvalid, in kubelet's words, if a source that
// is not optional is missing.
Result<Environment> MakeEnvironment(const Json& pod, const Json& container,
                                    const DataLookup& lookup);

// $(NAME) becomes its value, $$(NAME) the text $(NAME); unknown names are kept.
std::string ExpandVariables(const std::string& text, const Environment& environment);

// A field of the pod by its path ("metadata.labels": a line for each); "": unknown.
std::string DownwardField(const Json& pod, const std::string& path);
// The request or limit that a resourceFieldRef names, of the container in `reference`, else of
// `container`.
std::string DownwardResource(const Json& pod, const Json& container, const Json& reference);

}  // namespace berth::local::cluster
