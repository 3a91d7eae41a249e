#include "readapi/query.h"

#include <algorithm>
#include <functional>
#include <set>

#include "base/strings.h"
#include "readapi/cell_text.h"

namespace berth::readapi {
namespace {

Error Invalid(const std::string& name, const std::string& what) {
  return {ErrorCode::kInvalid, "query parameter " + name + ": " + what};
}

Result<std::vector<std::string>> Values(const std::string& name, const std::string& text,
                                        std::size_t most, std::size_t most_bytes = kMaxValueBytes) {
  std::set<std::string> values;
  for (const std::string_view value : berth::Split(text, ',')) {
    if (value.size() > most_bytes) {
      return Invalid(name, "a value has more than " + std::to_string(most_bytes) + " bytes");
    }
    if (!IsValidUtf8(value)) return Invalid(name, "a value is not UTF-8");
    values.emplace(value);
    if (values.size() > most) {
      return Invalid(name, "more than " + std::to_string(most) + " values");
    }
  }
  return std::vector<std::string>(values.begin(), values.end());
}

template <typename Holds>
std::string NamesWhere(const Resource& resource, Holds holds) {
  std::vector<std::string> names;
  for (const Field& field : resource.fields) {
    if (std::invoke(holds, field)) names.emplace_back(field.name);
  }
  return Join(names, ", ");
}

Status TakeSort(const Resource& resource, const std::string& text, Query& query) {
  query.order = text;
  query.descending = !text.empty() && text.front() == '-';
  const std::optional<std::size_t> field = resource.Find(text.substr(query.descending ? 1 : 0));
  if (!field || !resource.fields[*field].is_sort()) {
    return Invalid("sort", "use one of " + NamesWhere(resource, &Field::is_sort) +
                               ", with a \"-\" before it for the reverse order");
  }
  query.sort = *field;
  return OkStatus();
}

Status TakeLimit(const std::string& text, Query& query) {
  const std::optional<std::int64_t> limit = ParseInt64(text);
  if (!limit || *limit < 1 || *limit > static_cast<std::int64_t>(kMaxLimit)) {
    return Invalid("limit", "write 1 to " + std::to_string(kMaxLimit));
  }
  query.limit = static_cast<std::size_t>(*limit);
  return OkStatus();
}

Status TakeFields(const Resource& resource, const std::string& text, Query& query) {
  BERTH_TRY(const std::vector<std::string> names, Values("fields", text, resource.fields.size()));
  for (const std::string& name : names) {
    const std::optional<std::size_t> field = resource.Find(name);
    if (!field) {
      std::vector<std::string> known;
      for (const Field& each : resource.fields) known.emplace_back(each.name);
      return Invalid("fields", "use " + Join(known, ", "));
    }
    query.fields.push_back(*field);
  }
  std::sort(query.fields.begin(), query.fields.end());
  return OkStatus();
}

Status TakeCountBy(const Resource& resource, const std::string& text, Query& query) {
  query.count_by = resource.Find(text);
  if (query.count_by && resource.fields[*query.count_by].is_filter()) return OkStatus();
  return Invalid("countBy", "use one of " + NamesWhere(resource, &Field::is_filter));
}

Status TakeFilter(const Resource& resource, const std::string& name, const std::string& text,
                  Query& query) {
  const std::optional<std::size_t> field = resource.Find(name);
  if (field && resource.fields[*field].is_prefix()) {
    BERTH_TRY(const std::vector<std::string> values, Values(name, text, kMaxFilterValues));
    Filter filter{.field = *field, .cells = {}};
    for (const std::string& value : values) {
      filter.cells.push_back(QuoteJson(value));
      filter.cells.back().pop_back();
    }
    query.prefixes.push_back(std::move(filter));
    return OkStatus();
  }
  if (!field || !resource.fields[*field].is_filter()) {
    // The name is the client's: it is not repeated.
    return Error{ErrorCode::kInvalid,
                 "a query parameter of " + std::string(resource.name) +
                     " is unknown; use sort, limit, fields, cursor, countBy, or the filters " +
                     NamesWhere(resource, [](const Field& each) {
                       return each.is_filter() || each.is_prefix();
                     })};
  }
  const bool is_namespace = name == "namespace";
  BERTH_TRY(const std::vector<std::string> values,
            Values(name, text, is_namespace ? kMaxNamespaces : kMaxFilterValues));
  if (is_namespace) query.namespaces = values;
  Filter filter{.field = *field, .cells = {}};
  for (const std::string& value : values) {
    if (resource.fields[*field].type != FieldType::kNumber) {
      filter.cells.push_back(QuoteJson(value));
      continue;
    }
    const std::optional<std::int64_t> number = ParseInt64(value);
    if (!number) return Invalid(name, "write whole numbers");
    filter.cells.push_back(std::to_string(*number));
  }
  query.filters.push_back(std::move(filter));
  return OkStatus();
}

Status TakeParameter(const Resource& resource, const std::string& name, const std::string& text,
                     Query& query) {
  if (name == "sort") return TakeSort(resource, text, query);
  if (name == "limit") return TakeLimit(text, query);
  if (name == "fields") return TakeFields(resource, text, query);
  if (name == "countBy") return TakeCountBy(resource, text, query);
  if (name == "namespace" && !resource.Find(name)) {
    BERTH_TRY(query.namespaces, ParseNamespaces(text));
    return OkStatus();
  }
  if (name != "cursor") return TakeFilter(resource, name, text, query);
  BERTH_TRY(query.after, DecodePageCursor(text));
  return OkStatus();
}

Result<std::int64_t> DaysOf(const std::string& text) {
  const std::optional<std::int64_t> days = ParseInt64(text);
  if (!days || *days < 1 || *days > kMostReportDays) {
    return Invalid("days", "write 1 to " + std::to_string(kMostReportDays));
  }
  return *days;
}

}  // namespace

Status CheckParameters(const Parameters& parameters) {
  std::set<std::string> seen;
  for (const auto& [name, text] : parameters) {
    const std::string lower = ToLower(name);
    if (lower == "token" || lower == "access_token" || lower == "authorization") {
      return Error{ErrorCode::kForbidden,
                   "a token in a URL ends up in logs: send the header Authorization"};
    }
    if (!seen.insert(name).second) {
      return Error{ErrorCode::kInvalid,
                   "a query parameter is given twice; separate values by \",\""};
    }
  }
  return OkStatus();
}

Result<std::vector<std::string>> ParseNamespaces(const std::string& text) {
  return Values("namespace", text, kMaxNamespaces);
}

Result<std::vector<std::string>> ParseWorkloads(const std::string& text) {
  BERTH_TRY(const std::vector<std::string> ids,
            Values("workload", text, kMaxFilterValues, kMaxIdBytes));
  for (const std::string& id : ids) {
    const std::size_t slash = id.find('/');
    if (slash == 0 || slash == std::string::npos || slash + 1 == id.size()) {
      return Invalid("workload", "write NAMESPACE/NAME, with \",\" between");
    }
  }
  return ids;
}

Result<Query> ParseQuery(const Resource& resource, const Parameters& parameters) {
  BERTH_CHECK_OK(CheckParameters(parameters));
  Query query;
  for (const auto& [name, text] : parameters) {
    BERTH_CHECK_OK(TakeParameter(resource, name, text, query));
  }
  if (query.after && query.after->order != query.order) {
    return Invalid("cursor", "it belongs to another order: repeat `sort` of the first page");
  }
  if (query.count_by && (query.sort || query.after || !query.fields.empty())) {
    return Invalid("countBy", "it has no rows: leave sort, fields and cursor out");
  }
  return query;
}

Result<StreamQuery> ParseStreamQuery(const Parameters& parameters) {
  BERTH_CHECK_OK(CheckParameters(parameters));
  StreamQuery query;
  for (const auto& [name, text] : parameters) {
    if (name == "cursor") {
      BERTH_TRY(query.after, DecodeFeedCursor(text));
    } else if (name == "namespace") {
      BERTH_TRY(query.namespaces, ParseNamespaces(text));
    } else if (name == "resources") {
      BERTH_TRY(const std::vector<std::string> names, Values(name, text, Resources().size()));
      for (const std::string& each : names) {
        const std::optional<std::size_t> index = FindResource(each);
        if (!index)
          return Invalid(name, "use workloads, queues, localqueues, capacityrequests, cohorts");
        query.resources.push_back(*index);
      }
    } else {
      return Error{ErrorCode::kInvalid,
                   "a query parameter of events is unknown; use resources, namespace, cursor"};
    }
  }
  if (query.resources.empty()) {
    for (std::size_t i = 0; i < Resources().size(); ++i) query.resources.push_back(i);
  }
  return query;
}

namespace {

// Reads the query for the history of the object whose name the parameter `subject` has.
Result<ReportQuery> ParseHistoryOf(const Parameters& parameters, ReportQuery::Of of,
                                   const std::string& subject, const std::string& kind) {
  BERTH_CHECK_OK(CheckParameters(parameters));
  ReportQuery query;
  query.of = of;
  for (const auto& [name, text] : parameters) {
    if (name == subject) {
      query.name = text;
    } else if (name == "days") {
      BERTH_TRY(query.days, DaysOf(text));
    } else if (name == "namespace") {
      BERTH_TRY(query.namespaces, ParseNamespaces(text));
    } else {
      return Error{ErrorCode::kInvalid, "a query parameter of the history is unknown; use " +
                                            subject + ", days, namespace"};
    }
  }
  if (query.name.empty()) return Invalid(subject, "name a " + kind);
  return query;
}

// Reads a query of `days` and `namespace` alone; `subject` is a word for errors.
Result<ReportQuery> ParseDaysOf(const Parameters& parameters, ReportQuery::Of of,
                                const std::string& subject) {
  BERTH_CHECK_OK(CheckParameters(parameters));
  ReportQuery query;
  query.of = of;
  for (const auto& [name, text] : parameters) {
    if (name == "days") {
      BERTH_TRY(query.days, DaysOf(text));
    } else if (name == "namespace") {
      BERTH_TRY(query.namespaces, ParseNamespaces(text));
    } else {
      return Error{ErrorCode::kInvalid, "a query parameter of the history of " + subject +
                                            " is unknown; use days, namespace"};
    }
  }
  return query;
}

}  // namespace

Result<ReportQuery> ParseHistoryQuery(const Parameters& parameters) {
  return ParseHistoryOf(parameters, ReportQuery::Of::kQueue, "clusterQueue", "ClusterQueue");
}

Result<ReportQuery> ParseCohortHistoryQuery(const Parameters& parameters) {
  return ParseHistoryOf(parameters, ReportQuery::Of::kCohort, "cohort", "Cohort");
}

Result<ReportQuery> ParseCapacityHistoryQuery(const Parameters& parameters) {
  return ParseDaysOf(parameters, ReportQuery::Of::kCapacity, "capacity");
}

Result<ReportQuery> ParseStatesHistoryQuery(const Parameters& parameters) {
  return ParseDaysOf(parameters, ReportQuery::Of::kStates, "workloads");
}

Result<ReportQuery> ParseReportQuery(const Parameters& parameters) {
  BERTH_CHECK_OK(CheckParameters(parameters));
  ReportQuery query;
  for (const auto& [name, text] : parameters) {
    if (name == "by") {
      const auto known = std::find(std::begin(kReportGroups), std::end(kReportGroups), text);
      if (known == std::end(kReportGroups)) {
        return Invalid(name,
                       "use queue, clusterqueue, namespace, priority, cause, user, pool or team");
      }
      query.by = text;
    } else if (name == "days") {
      BERTH_TRY(query.days, DaysOf(text));
    } else if (name == "namespace") {
      BERTH_TRY(query.namespaces, ParseNamespaces(text));
    } else if (name == "format") {
      if (text != "json" && text != "csv") return Invalid(name, "use json or csv");
      query.csv = text == "csv";
    } else {
      return Error{ErrorCode::kInvalid,
                   "a query parameter of reports is unknown; use by, days, namespace, format"};
    }
  }
  return query;
}

Result<ReportQuery> ParseReportHistoryQuery(const Parameters& parameters) {
  for (const auto& [name, text] : parameters) {
    if (name == "format") return Invalid(name, "a report over time is JSON");
    if (name == "by" && text == "cause") {
      return Invalid(name, "a report over time has no lines for causes");
    }
  }
  BERTH_TRY(ReportQuery query, ParseReportQuery(parameters));
  query.of = ReportQuery::Of::kOverTime;
  return query;
}

}  // namespace berth::readapi
