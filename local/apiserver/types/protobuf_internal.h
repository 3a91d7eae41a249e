// local/apiserver/types/protobuf_internal.h — between the envelope and the message decoder.
#pragma once

#include <string_view>

#include "local/apiserver/api.h"
#include "local/apiserver/schema/type_node.h"

namespace berth::local {

// One message of the table to JSON, zero values omitted as JSON would omit them.
ApiResult<Json> DecodeMessage(const TypeNode& type, std::string_view message);

}  // namespace berth::local
