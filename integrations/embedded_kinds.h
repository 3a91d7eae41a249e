// integrations/embedded_kinds.h — the text of kinds/*.yaml, one YAML document each.
//
// Threads: a constant.
#pragma once

#include <string_view>

namespace berth::integrations {

std::string_view EmbeddedKinds();

}  // namespace berth::integrations
