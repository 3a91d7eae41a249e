// readapi/query.h — the query of a list, checked against the table of resources.
//
//     ?namespace=a,b&state=waiting&sort=-createdAt&limit=100&fields=name,state&cursor=…
//     ?countBy=cause
//
// A parameter that the table does not have is refused, as is one that is given twice: a misspelt
// filter must not return everything. Filters compare whole values, of Use::kPrefix their beginning;
// several values are alternatives.
//
// Threads: pure functions. Errors: kInvalid names the parameter and what would be accepted;
// kForbidden for a token in the URL.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "readapi/cursor.h"
#include "readapi/schema.h"

namespace berth::readapi {

inline constexpr std::size_t kMaxQueryBytes = 8 * 1024;  // the part of the URL behind "?"
inline constexpr std::size_t kMaxFilterValues = 32;
inline constexpr std::size_t kMaxNamespaces = 16;  // each costs a review of rights
inline constexpr std::size_t kMaxValueBytes = 256;
inline constexpr std::size_t kMaxIdBytes = 63 + 1 + 253;  // NAMESPACE/NAME
inline constexpr std::size_t kUsualLimit = 100;
inline constexpr std::size_t kMaxLimit = 1000;

// Names and values in the order of the URL, without escapes.
using Parameters = std::vector<std::pair<std::string, std::string>>;

struct Filter {
  std::size_t field = 0;           // index in Resource::fields
  std::vector<std::string> cells;  // JSON texts; a row matches that has one of them
  friend auto operator<=>(const Filter&, const Filter&) = default;
};

struct Query {
  std::vector<Filter> filters;
  std::vector<Filter> prefixes;         // cells without their last quote: a row begins with one
  std::vector<std::string> namespaces;  // the values of the parameter `namespace`
  std::optional<std::size_t> sort;      // index of a field; nullopt: by id
  bool descending = false;
  std::string order;  // the parameter `sort`
  std::size_t limit = kUsualLimit;
  std::vector<std::size_t> fields;  // in the order of the table; empty: all
  std::optional<PageCursor> after;
  std::optional<std::size_t> count_by;  // index of a field: numbers of rows in place of rows
  friend auto operator<=>(const Query&, const Query&) = default;
};

Result<Query> ParseQuery(const Resource& resource, const Parameters& parameters);

// The query of the event stream: `resources`, `namespace`, `cursor`.
struct StreamQuery {
  std::vector<std::size_t> resources;  // the named resources; all resources if none is named
  std::vector<std::string> namespaces;
  std::optional<FeedCursor> after;
};
Result<StreamQuery> ParseStreamQuery(const Parameters& parameters);

// The query of a report: `by`, `days`, `namespace`, `format`.
struct ReportQuery {
  enum class Of : std::uint8_t {
    kAccounts,
    kQueue,     // usage and waits of the ClusterQueue `name` over time
    kWorkload,  // the turns of the Workload `name` in the only one of `namespaces`
    kCohort,    // the usage of the ClusterQueues below the Cohort `name`, over time
    kCapacity,  // the requests to clouds, and the nodes of pools, over time
    kOverTime,  // kAccounts for each part of the days
    kStates,    // how many workloads waited, by cause, and ran, over time
  };
  std::string by = "clusterqueue";      // one of kReportGroups
  std::int64_t days = 7;                // until now; 1 to kMostReportDays
  std::vector<std::string> namespaces;  // kMaxNamespaces at most; empty: all
  bool csv = false;                     // else JSON
  Of of = Of::kAccounts;
  std::string name;
  std::vector<std::string> queues;  // kCohort: the ClusterQueues; not set by the client
  bool names_all = false;           // the caller may know the names of all namespaces
  friend auto operator<=>(const ReportQuery&, const ReportQuery&) = default;
};
inline constexpr char kHistoryPath[] = "/api/v1/history";
inline constexpr char kCohortHistoryPath[] = "/api/v1/history/cohort";
inline constexpr char kStatesHistoryPath[] = "/api/v1/history/workloads";
inline constexpr char kCapacityHistoryPath[] = "/api/v1/capacity/history";
inline constexpr char kReportHistoryPath[] = "/api/v1/reports/history";
inline constexpr std::int64_t kMostReportDays = 366;
// The groups of reports; their keys name no namespaces but those of the attempts.
inline constexpr const char* kReportGroups[] = {"queue", "clusterqueue", "namespace", "priority",
                                                "cause", "user",         "pool",      "team"};
Result<ReportQuery> ParseReportQuery(const Parameters& parameters);
// The query of a report over time: `by`, `days`, `namespace`.
Result<ReportQuery> ParseReportHistoryQuery(const Parameters& parameters);
// The query of a queue's history: `clusterQueue`, `days`, `namespace`.
Result<ReportQuery> ParseHistoryQuery(const Parameters& parameters);
// The query of the history of a Cohort: `cohort`, `days`, `namespace`.
Result<ReportQuery> ParseCohortHistoryQuery(const Parameters& parameters);
// The query of the history of capacity: `days`, `namespace`.
Result<ReportQuery> ParseCapacityHistoryQuery(const Parameters& parameters);
// The query of the states of workloads over time: `days`, `namespace`.
Result<ReportQuery> ParseStatesHistoryQuery(const Parameters& parameters);

// The values of the parameter `namespace`.
Result<std::vector<std::string>> ParseNamespaces(const std::string& text);

// Refuses tokens in a URL, and parameters that are given twice.
Status CheckParameters(const Parameters& parameters);
// NAMESPACE/NAME of kMaxFilterValues Workloads at most, sorted.
Result<std::vector<std::string>> ParseWorkloads(const std::string& text);

}  // namespace berth::readapi
