// readapi/controller/read_route.h — a request for /api/v1, checked: the answer that it asks for,
// and the rights that it needs.
//
// Pure: the request in, the route out. Errors: kInvalid, kForbidden, kNotFound, for the client.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http.h"
#include "readapi/caller.h"
#include "readapi/controller/sight_reviews.h"
#include "readapi/query.h"
#include "readapi/schema.h"

namespace berth::readapi {

struct ReadRoute {
  enum class Kind : std::uint8_t { kList, kWorkload, kEvents, kReport, kCaller };
  Kind kind = Kind::kList;
  std::size_t resource = kWorkloads;  // set for a list
  Query query;                        // set for a list
  StreamQuery stream;                 // set for events
  ReportQuery report;
  CallerRequest caller;        // without token and user
  std::string namespace_name;  // set for a Workload
  std::string name;
};

// Returns the route of a GET request.
Result<ReadRoute> RouteOf(const net::Request& request);
// Returns the route of a POST request. kNotFound: the path takes no POST.
Result<ReadRoute> PostRouteOf(const net::Request& request);

// The reviews that the route needs. None for an action: the API server reviews the write itself.
SightRequest SightsFor(const ReadRoute& route, Caller caller);

Result<Parameters> ParametersOf(std::string_view query);
int StatusOf(ErrorCode code);

}  // namespace berth::readapi
