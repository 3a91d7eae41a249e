// local/cluster/kubelet/data_objects.h — reads the data of ConfigMaps and Secrets for programs.
//
// Threads: any.
#pragma once

#include <string>

#include "local/apiserver/api.h"
#include "local/cluster/kubelet/container_environment.h"

namespace berth::local::cluster {

// kAll includes the entries of a ConfigMap that are no text (binaryData).
enum class Entries { kText, kAll };

// The data of a ConfigMap or (decoded) Secret, for a DataLookup; null: it cannot be read.
Json ReadData(Api& api, const std::string& namespace_name, DataKind kind, const std::string& name,
              Entries entries);

}  // namespace berth::local::cluster
