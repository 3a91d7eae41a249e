// admission/controller/configuration/configuration_parts.h — readers for parts of a Configuration
// file. Only for .cc files of this folder: the header includes the JSON library.
//
// Threads: pure functions. Errors: reported to the Reader, with the path of the field.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "admission/controller/configuration/configuration.h"
#include "api/codec/reader.h"

namespace berth::admission {

// Reads a metav1.Duration that is not negative. An absent value leaves `out` unchanged.
void ReadDuration(const api::Reader& in, Duration& out);
void ReadDuration(const api::Reader& in, std::optional<Duration>& out);
// A Go program writes the zero value of an unset field, and Kueue takes a zero for the default:
// "" and 0s leave `out` unchanged.
void ReadUnlessZero(const api::Reader& in, std::string& out);
void ReadUnlessZero(const api::Reader& in, Duration& out);
void ReadCount(const api::Reader& in, std::int32_t& out);  // not negative

// Reads and validates a label selector: known fields, keys, operators, and the operators' values.
void ReadSelector(const api::Reader& in, api::LabelSelector& out);

// Notes the fields of `in` that are in `others` as ignored; refuses those in neither list.
void CheckFields(const api::Reader& in, const std::string& path,
                 std::initializer_list<std::string_view> known,
                 std::initializer_list<std::string_view> others, Configuration& out);

// Whether a field that Berth lacks has no value, so that no warning is due.
bool IsUnset(const nlohmann::json& value);

bool IsLabelKey(std::string_view key);

// Whether "Kind.group" is the kind of a framework that Kueue or Berth knows:
// "JobSet.jobset.x-k8s.io".
bool IsKindOfFramework(std::string_view kind_and_group);

// resources.deviceClassMappings.
void ReadDeviceClasses(const api::Reader& in, Configuration& out);

// Parts of Configuration::program, and metrics.customLabels (configuration_program.cc).
void ReadCustomLabels(const api::Reader& in, Configuration& out);
void ReadWebhook(const api::Reader& in, Configuration& out);
// `webhook`: the block `webhook` of the same file.
void ReadInternalCertManagement(const api::Reader& in, const api::Reader& webhook,
                                Configuration& out);
void ReadVisibilityServer(const api::Reader& in, Configuration& out);
void ReadHealth(const api::Reader& in, Configuration& out);
void ReadClientConnection(const api::Reader& in, Configuration& out);
void ReadController(const api::Reader& in, Configuration& out);
void ReadLeaderElection(const api::Reader& in, Configuration& out);

}  // namespace berth::admission
