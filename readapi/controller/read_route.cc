#include "readapi/controller/read_route.h"

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "net/escapes.h"
#include "readapi/openapi.h"

namespace berth::readapi {
namespace {

constexpr std::size_t kMaxNameBytes = 253;

using ParseReport = Result<ReportQuery> (*)(const Parameters&);
constexpr std::pair<std::string_view, ParseReport> kReports[] = {
    {kReportsPath, ParseReportQuery},
    {kReportHistoryPath, ParseReportHistoryQuery},
    {kHistoryPath, ParseHistoryQuery},
    {kCohortHistoryPath, ParseCohortHistoryQuery},
    {kCapacityHistoryPath, ParseCapacityHistoryQuery},
    {kStatesHistoryPath, ParseStatesHistoryQuery}};

Error NoSuchPath() {
  return {ErrorCode::kNotFound, std::string("no such path: see ") + kDocumentPath};
}

Result<std::string> NameOf(std::string_view segment) {
  const auto name = net::Unescape(segment, net::Plus::kLiteral);
  if (!name || name->empty() || name->size() > kMaxNameBytes || !IsValidUtf8(*name) ||
      name->find('/') != std::string::npos) {
    return NoSuchPath();
  }
  return *name;
}

// Reads the parameters of capacity and topology: namespaces alone.
Result<ReadRoute> CallerRouteOf(CallerRequest::Kind kind, const Parameters& parameters) {
  ReadRoute route;
  route.kind = ReadRoute::Kind::kCaller;
  route.caller.kind = kind;
  for (const auto& [name, value] : parameters) {
    if (name != "namespace") {
      return Error{ErrorCode::kInvalid, "a query parameter is unknown; use namespace"};
    }
    BERTH_TRY(route.caller.namespaces, ParseNamespaces(value));
  }
  return route;
}

Result<ReadRoute> LocationsRouteOf(const Parameters& parameters) {
  ReadRoute route;
  route.kind = ReadRoute::Kind::kCaller;
  route.caller.kind = CallerRequest::Kind::kLocations;
  for (const auto& [name, value] : parameters) {
    if (name != "namespace" && name != "workload") {
      return Error{ErrorCode::kInvalid, "a query parameter is unknown; use namespace and workload"};
    }
    BERTH_TRY((name == "workload" ? route.caller.workloads : route.caller.namespaces),
              name == "workload" ? ParseWorkloads(value) : ParseNamespaces(value));
  }
  if (route.caller.workloads.empty()) {
    return Error{ErrorCode::kInvalid, "name Workloads: ?workload=NAMESPACE/NAME,…"};
  }
  return route;
}

// Reads the parameters of a log: the pod, and a container.
Status ReadLogParameters(const Parameters& parameters, CallerRequest& caller) {
  for (const auto& [name, value] : parameters) {
    if (name != "pod" && name != "container") {
      return Error{ErrorCode::kInvalid, "a query parameter is unknown; use pod and container"};
    }
    BERTH_TRY((name == "pod" ? caller.pod : caller.container), NameOf(value));
  }
  if (caller.pod.empty()) return Error{ErrorCode::kInvalid, "name the pod: ?pod=NAME"};
  return OkStatus();
}

// /api/v1/workloads/NAMESPACE/NAME, or with a part of it behind.
Result<ReadRoute> WorkloadRouteOf(const std::vector<std::string_view>& segments,
                                  const Parameters& parameters) {
  static const std::map<std::string_view, CallerRequest::Kind> parts{
      {"cost", CallerRequest::Kind::kCost},
      {"objects", CallerRequest::Kind::kObjects},
      {"log", CallerRequest::Kind::kLog}};
  constexpr std::size_t kSegments = 3;
  const bool has_part = segments.size() == kSegments + 1;
  const std::string_view word = has_part ? segments[kSegments] : "";
  const auto part = parts.find(word);
  const bool is_history = word == "history";
  if (segments.size() != kSegments && part == parts.end() && !is_history) return NoSuchPath();
  ReadRoute route;
  route.kind = part == parts.end() ? ReadRoute::Kind::kWorkload : ReadRoute::Kind::kCaller;
  route.caller.kind = part == parts.end() ? CallerRequest::Kind::kStory : part->second;
  BERTH_TRY(route.namespace_name, NameOf(segments[1]));
  BERTH_TRY(route.name, NameOf(segments[2]));
  if (route.caller.kind == CallerRequest::Kind::kLog) {
    BERTH_CHECK_OK(ReadLogParameters(parameters, route.caller));
  } else if (!parameters.empty()) {
    return Error{ErrorCode::kInvalid, "one Workload takes no query parameter"};
  }
  if (is_history) {
    route.kind = ReadRoute::Kind::kReport;
    route.report.of = ReportQuery::Of::kWorkload;
    route.report.namespaces = {route.namespace_name};
    route.report.name = route.name;
  }
  route.caller.namespaces = {route.namespace_name};
  route.caller.namespace_name = route.namespace_name;
  route.caller.name = route.name;
  return route;
}

}  // namespace

int StatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kForbidden: return 403;
    case ErrorCode::kNotFound: return 404;
    case ErrorCode::kAlreadyExists:
    case ErrorCode::kConflict: return 409;
    case ErrorCode::kInternal: return 500;
    case ErrorCode::kTooManyRequests:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kUnavailable: return 503;
    default: return 400;
  }
}

Result<Parameters> ParametersOf(std::string_view query) {
  if (query.size() > kMaxQueryBytes) {
    return Error{ErrorCode::kInvalid,
                 "the query has more than " + std::to_string(kMaxQueryBytes) + " bytes"};
  }
  Parameters parameters;
  if (query.empty()) return parameters;
  for (const std::string_view part : Split(query, '&')) {
    const std::size_t equals = part.find('=');
    const auto name = net::Unescape(part.substr(0, equals), net::Plus::kBlank);
    const auto value = net::Unescape(
        equals == std::string_view::npos ? "" : part.substr(equals + 1), net::Plus::kBlank);
    if (!name || !value || name->empty()) {
      return Error{ErrorCode::kInvalid,
                   "the query is malformed: write NAME=VALUE, with \"&\" between"};
    }
    if (!IsValidUtf8(*name) || !IsValidUtf8(*value)) {
      return Error{ErrorCode::kInvalid,
                   "the query is not UTF-8: write each other byte as a percent escape of UTF-8"};
    }
    parameters.emplace_back(*name, *value);
  }
  return parameters;
}

Result<ReadRoute> RouteOf(const net::Request& request) {
  const std::string_view target = request.target;
  const std::size_t mark = target.find('?');
  const std::string_view path = target.substr(0, mark);
  const std::string_view query = mark == std::string_view::npos ? "" : target.substr(mark + 1);
  BERTH_TRY(const Parameters parameters, ParametersOf(query));
  BERTH_CHECK_OK(CheckParameters(parameters));
  ReadRoute route;
  if (path == kEventsPath) {
    route.kind = ReadRoute::Kind::kEvents;
    BERTH_TRY(route.stream, ParseStreamQuery(parameters));
    const std::string_view last = request.headers.Find("Last-Event-ID");
    if (!last.empty()) {
      BERTH_TRY(route.stream.after, DecodeFeedCursor(last));
    }
    return route;
  }
  for (const auto& [of, parse] : kReports) {
    if (path != of) continue;
    route.kind = ReadRoute::Kind::kReport;
    BERTH_TRY(route.report, parse(parameters));
    return route;
  }
  if (path == kCapacityPath) return CallerRouteOf(CallerRequest::Kind::kCapacity, parameters);
  if (path == kTopologyPath) return CallerRouteOf(CallerRequest::Kind::kTopology, parameters);
  if (path == kLocationsPath) return LocationsRouteOf(parameters);
  const std::string root = std::string(kRoot) + "/";
  if (!path.starts_with(root)) return NoSuchPath();
  const std::vector<std::string_view> segments = Split(path.substr(root.size()), '/');
  const std::optional<std::size_t> resource = FindResource(segments[0]);
  if (!resource) return NoSuchPath();
  route.resource = *resource;
  if (segments.size() == 1) {
    BERTH_TRY(route.query, ParseQuery(Resources()[*resource], parameters));
    return route;
  }
  return *resource == kWorkloads ? WorkloadRouteOf(segments, parameters) : NoSuchPath();
}

Result<ReadRoute> PostRouteOf(const net::Request& request) {
  const bool is_what_if = request.target == kWhatIfPath;
  if (!is_what_if && request.target != kActionsPath) return NoSuchPath();
  ReadRoute route;
  route.kind = ReadRoute::Kind::kCaller;
  route.caller.kind = is_what_if ? CallerRequest::Kind::kWhatIf : CallerRequest::Kind::kAction;
  route.caller.body = request.body;
  return route;
}

SightRequest SightsFor(const ReadRoute& route, Caller caller) {
  switch (route.kind) {
    case ReadRoute::Kind::kEvents:
      return {std::move(caller), route.stream.resources, route.stream.namespaces};
    case ReadRoute::Kind::kWorkload:
      return {std::move(caller), {kWorkloads}, {route.namespace_name}};
    case ReadRoute::Kind::kReport: {
      std::vector<std::size_t> resources{kWorkloads};
      if (route.report.of == ReportQuery::Of::kCapacity) resources.push_back(kCapacityRequests);
      return {std::move(caller), std::move(resources), route.report.namespaces};
    }
    case ReadRoute::Kind::kList:
      return {std::move(caller), {route.resource}, route.query.namespaces};
    case ReadRoute::Kind::kCaller: break;
  }
  switch (route.caller.kind) {
    case CallerRequest::Kind::kCapacity:
      return {std::move(caller), {kWorkloads, kCapacityRequests}, route.caller.namespaces};
    case CallerRequest::Kind::kTopology:
    case CallerRequest::Kind::kLocations:
      return {std::move(caller), {kWorkloads}, route.caller.namespaces};
    case CallerRequest::Kind::kCost:
    case CallerRequest::Kind::kStory:
    case CallerRequest::Kind::kObjects:
    case CallerRequest::Kind::kLog:
      return {std::move(caller), {kWorkloads}, {route.namespace_name}};
    // A forecast tells of the jobs of all namespaces and of all queues.
    case CallerRequest::Kind::kWhatIf: return {std::move(caller), {kWorkloads, kQueues}, {}};
    case CallerRequest::Kind::kAction: break;
  }
  return {std::move(caller), {}, {}};
}

}  // namespace berth::readapi
