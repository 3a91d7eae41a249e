// cli/version.h — the version of this program; CMakeLists.txt's project() has the same.
#pragma once

namespace berth::cli {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace berth::cli
