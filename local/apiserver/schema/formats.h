// local/apiserver/schema/formats.h — the string formats of CRD schemas.
#pragma once

#include <string_view>

namespace berth::local {

// False for formats that are ignored ("foo"), and for those of other types ("int32" of a string).
bool IsKnownFormat(std::string_view type, std::string_view format);

// True when `text` has the string format `format`, or when the format is not checked.
bool HasFormat(std::string_view format, std::string_view text);

}  // namespace berth::local
