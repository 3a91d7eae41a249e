// local/apiserver/types/protobuf_internal.h — the message decoder, for protobuf.cc.
#pragma once

#include <string_view>

#include "local/apiserver/api.h"
#include "local/apiserver/schema/type_node.h"

namespace berth::local {

// Decodes one message of the table to JSON, without zero values.
ApiResult<Json> DecodeMessage(const TypeNode& type, std::string_view message);

}  // namespace berth::local
