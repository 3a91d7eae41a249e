// program/version.h — the program's version, equal to project() in CMakeLists.txt.
#pragma once

namespace berth::program {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace berth::program
