// api/api_version.h — the parts of an apiVersion.
#pragma once

#include <string_view>

namespace berth::api {

// "batch" of "batch/v1"; empty for the core group ("v1"). A view into the argument.
inline std::string_view GroupOf(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

// "v1" of "batch/v1" and of "v1". A view into the argument.
inline std::string_view VersionOf(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? api_version : api_version.substr(slash + 1);
}

}  // namespace berth::api
