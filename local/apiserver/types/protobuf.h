// local/apiserver/types/protobuf.h — decodes protobuf request bodies to JSON, by the type table.
// There is no encoder: replies are JSON.
//
// Limits: nesting 100, the body's own size; every length is checked before it is used.
// Errors: 400 BadRequest. Source: Kubernetes protobuf encoding (magic 6b 38 73 00, Unknown).
#pragma once

#include <string_view>

#include "local/apiserver/api.h"
#include "local/apiserver/types/type_table.h"

namespace berth::local {

// True when `body` begins with the magic number.
bool IsProtobufBody(std::string_view body);

// Returns the object with apiVersion and kind (from the envelope); zero values are left out, as in
// JSON. `default_group_version`/`default_kind`: those of the URL, used if the envelope names none
// ("v1", "batch/v1").
ApiResult<Json> DecodeProtobuf(const TypeTable& types, std::string_view body,
                               std::string_view default_group_version = "",
                               std::string_view default_kind = "");

}  // namespace berth::local
