// local/apiserver/types/builtin_types.h — the text of builtin_types.txt, compiled in.
#pragma once

#include <string_view>

namespace berth::local {

std::string_view BuiltinTypesText();

}  // namespace berth::local
