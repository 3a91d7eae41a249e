// readapi/openapi.h — the OpenAPI 3.1 document of /api/v1, made from the table of resources.
//
// Threads: any. Errors: none.
#pragma once

#include <string>

namespace berth::readapi {

inline constexpr char kRoot[] = "/api/v1";
inline constexpr char kDocumentPath[] = "/api/v1/openapi.json";
inline constexpr char kEventsPath[] = "/api/v1/events";
inline constexpr char kReportsPath[] = "/api/v1/reports";
inline constexpr char kOpenIdPath[] = "/api/v1/session/openid";
inline constexpr char kSessionPath[] = "/api/v1/session";

// `version`: the version of the program.
std::string OpenApiDocument(const std::string& version);

}  // namespace berth::readapi
