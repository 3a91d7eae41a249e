// admission/controller/configuration_parts.h — small readers for parts of a Configuration file. For
// the .cc files of this folder: it brings the JSON library.
//
// Threads: pure functions. Errors: told to the Reader, with the path of the field.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "admission/controller/configuration.h"
#include "api/codec/reader.h"

namespace berth::admission {

// metav1.Duration, not negative. What is absent leaves `out` as it is.
void ReadDuration(const api::Reader& in, Duration& out);
void ReadDuration(const api::Reader& in, std::optional<Duration>& out);
void ReadSeconds(const api::Reader& in, std::chrono::seconds& out);
void ReadCount(const api::Reader& in, std::int32_t& out);  // not negative

// A label selector that can be meant: known fields, keys, operators with the values they need.
void ReadSelector(const api::Reader& in, api::LabelSelector& out);

// Refuses fields of `in` that are neither `known` nor `others`, which are noted as ignored.
void CheckFields(const api::Reader& in, const std::string& path,
                 std::initializer_list<std::string_view> known,
                 std::initializer_list<std::string_view> others, Configuration& out);

}  // namespace berth::admission
