#include "ledger/ledger_reader.h"

#include <array>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "ledger/ledger_file.h"
#include "ledger/ledger_rows.h"

namespace berth::ledger {
namespace {

// ?1 since (NULL: all), ?2 namespaces as a JSON array, ?3 owner kind, ?4 name, ?5 queue; '' selects
// everything.
constexpr char kSelected[] =
    " WHERE (?1 IS NULL OR ended IS NULL OR ended>=?1) AND (?2='' OR namespace IN "
    "(SELECT value FROM json_each(?2)))"
    " AND (?3='' OR ?3='workload' OR lower(owner_kind)=?3)"
    " AND (?4='' OR (?3<>'workload' AND owner_name=?4) OR (?3 IN ('', 'workload') AND name=?4))"
    " AND (?5='' OR local_queue=?5 OR cluster_queue=?5)";

// The columns of ReadAttempt.
std::string ColumnsOf(std::int64_t version) {
  struct Added {
    std::int64_t version;
    std::string_view columns;
    std::string_view values;  // in a file of an earlier version
  };
  constexpr std::array<Added, 3> kAdded{{{4, ",checkpoint", ",NULL"},
                                         {3, ",image,declared", ",'',NULL"},
                                         {2, ",user,hourly_nano", ",'',NULL"}}};
  std::string columns(kAttemptColumns);
  std::string values;
  for (const Added& added : kAdded) {
    if (version >= added.version) break;
    columns.resize(columns.size() - added.columns.size());
    values.insert(0, added.values);
  }
  return columns + values;
}

// The texts of a filter's statements, which outlive these.
struct FilterTexts {
  explicit FilterTexts(const HistoryFilter& filter) : kind(ToLower(filter.owner_kind)) {
    if (filter.namespaces.empty()) return;
    // Names of namespaces need no escapes; other texts name none.
    for (const std::string& each : filter.namespaces) {
      if (each.find_first_of("\"\\") != std::string::npos) continue;
      namespaces += (namespaces.empty() ? "[\"" : ",\"") + each + "\"";
    }
    namespaces += namespaces.empty() ? "[]" : "]";
  }
  std::string kind;
  std::string namespaces;  // a JSON array; empty: all
};

void BindFilter(const HistoryFilter& filter, const FilterTexts& texts, Statement& statement) {
  statement.Bind(1, filter.since).Bind(2, std::string_view(texts.namespaces));
  statement.Bind(3, std::string_view(texts.kind)).Bind(4, std::string_view(filter.name));
  statement.Bind(5, std::string_view(filter.queue));
}

}  // namespace

Result<LedgerReader> LedgerReader::Open(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return Error{ErrorCode::kNotFound, "there is no ledger at " + path};
  }
  BERTH_TRY(Sqlite sqlite, Sqlite::OpenForReading(path));
  // A container may have no folder for the temporary files of large sorts.
  BERTH_CHECK_OK(sqlite.Execute("PRAGMA temp_store=MEMORY"));
  BERTH_TRY(const std::int64_t application, sqlite.QueryInt("PRAGMA application_id"));
  if (application != kApplicationId) {
    return Error{ErrorCode::kForbidden, path + " is not a ledger of berth"};
  }
  BERTH_TRY(const std::int64_t version, sqlite.QueryInt("PRAGMA user_version"));
  if (version > kSchemaVersion) {
    return Error{ErrorCode::kForbidden, "the ledger " + path + " has schema version " +
                                            std::to_string(version) +
                                            ", this program knows versions up to " +
                                            std::to_string(kSchemaVersion) + ": use a newer berth"};
  }
  return LedgerReader(std::move(sqlite), version);
}

Result<std::vector<AttemptRecord>> LedgerReader::Attempts(const HistoryFilter& filter) {
  // One transaction: all tables show the same moment.
  BERTH_CHECK_OK(sqlite_.Execute("BEGIN"));
  std::vector<AttemptRecord> out;
  std::map<std::pair<std::string, std::int64_t>, std::size_t> places;
  const FilterTexts texts(filter);
  const std::string selected = std::string("SELECT uid, attempt FROM attempt") + kSelected;
  BERTH_TRY(Statement rows,
            sqlite_.Prepare(("SELECT " + ColumnsOf(version_) + " FROM attempt" + kSelected +
                             " ORDER BY queued, namespace, name, attempt")
                                .c_str()));
  BindFilter(filter, texts, rows);
  while (true) {
    BERTH_TRY(const bool row, rows.Step());
    if (!row) break;
    out.push_back(ReadAttempt(rows));
    places[{out.back().uid, out.back().attempt}] = out.size() - 1;
  }
  BERTH_TRY(Statement uses, sqlite_.Prepare(("SELECT uid, attempt, flavor, resource, amount FROM "
                                             "resource WHERE (uid, attempt) IN (" +
                                             selected + ") ORDER BY uid, attempt, flavor, resource")
                                                .c_str()));
  BindFilter(filter, texts, uses);
  while (true) {
    BERTH_TRY(const bool row, uses.Step());
    if (!row) break;
    out[places.at({std::string(uses.Text(0)), uses.Int(1)})].resources.push_back(
        {std::string(uses.Text(2)), std::string(uses.Text(3)), uses.Int(4)});
  }
  BERTH_TRY(Statement waits,
            sqlite_.Prepare(("SELECT uid, attempt, since, cause FROM wait WHERE (uid, attempt) IN "
                             "(" +
                             selected + ") ORDER BY uid, attempt, since")
                                .c_str()));
  BindFilter(filter, texts, waits);
  while (true) {
    BERTH_TRY(const bool row, waits.Step());
    if (!row) break;
    out[places.at({std::string(waits.Text(0)), waits.Int(1)})].waits.push_back(
        {waits.Int(2), std::string(waits.Text(3))});
  }
  BERTH_CHECK_OK(sqlite_.Execute("COMMIT"));
  return out;
}

Status LedgerReader::EachAttempt(const HistoryFilter& filter,
                                 const std::function<void(const AttemptRecord&)>& visit) {
  BERTH_CHECK_OK(sqlite_.Execute("BEGIN"));
  const FilterTexts texts(filter);
  BERTH_TRY(Statement rows, sqlite_.Prepare(("SELECT " + ColumnsOf(version_) + " FROM attempt" +
                                             kSelected + " ORDER BY uid, attempt")
                                                .c_str()));
  BindFilter(filter, texts, rows);
  BERTH_TRY(Statement uses,
            sqlite_.Prepare("SELECT flavor, resource, amount FROM resource WHERE uid=?1 AND "
                            "attempt=?2 ORDER BY flavor, resource"));
  BERTH_TRY(Statement waits, sqlite_.Prepare("SELECT since, cause FROM wait WHERE uid=?1 AND "
                                             "attempt=?2 ORDER BY since"));
  while (true) {
    BERTH_TRY(const bool row, rows.Step());
    if (!row) break;
    AttemptRecord attempt = ReadAttempt(rows);
    uses.Bind(1, std::string_view(attempt.uid)).Bind(2, attempt.attempt);
    while (true) {
      BERTH_TRY(const bool use, uses.Step());
      if (!use) break;
      attempt.resources.push_back(
          {std::string(uses.Text(0)), std::string(uses.Text(1)), uses.Int(2)});
    }
    waits.Bind(1, std::string_view(attempt.uid)).Bind(2, attempt.attempt);
    while (true) {
      BERTH_TRY(const bool wait, waits.Step());
      if (!wait) break;
      attempt.waits.push_back({waits.Int(0), std::string(waits.Text(1))});
    }
    visit(attempt);
  }
  return sqlite_.Execute("COMMIT");
}

Result<std::int64_t> LedgerReader::CountAttempts(const HistoryFilter& filter) {
  const FilterTexts texts(filter);
  BERTH_TRY(Statement rows,
            sqlite_.Prepare((std::string("SELECT COUNT(*) FROM attempt") + kSelected).c_str()));
  BindFilter(filter, texts, rows);
  BERTH_TRY(const bool row, rows.Step());
  return row ? rows.Int(0) : 0;
}

Result<std::vector<CapacityRecord>> LedgerReader::Requests(const HistoryFilter& filter) {
  std::vector<CapacityRecord> out;
  const FilterTexts texts(filter);
  BERTH_TRY(Statement rows,
            sqlite_.Prepare((std::string("SELECT ") + kRequestColumns +
                             " FROM capacity_request WHERE (?1 IS NULL OR ended IS NULL OR "
                             "ended>=?1) AND (?2='' OR namespace IN (SELECT value FROM "
                             "json_each(?2))) AND (?3='' OR workload=?3) ORDER BY created, name")
                                .c_str()));
  rows.Bind(1, filter.since).Bind(2, std::string_view(texts.namespaces));
  rows.Bind(3, std::string_view(filter.workload));
  while (true) {
    BERTH_TRY(const bool row, rows.Step());
    if (!row) return out;
    out.push_back(ReadRequest(rows));
  }
}

Result<std::vector<NodeTimeRecord>> LedgerReader::NodeTimes(const HistoryFilter& filter) {
  std::vector<NodeTimeRecord> out;
  const FilterTexts texts(filter);
  if (version_ == 1) return out;
  BERTH_TRY(Statement rows, sqlite_.Prepare((std::string("SELECT ") + kNodeTimeColumns +
                                             " FROM node_time WHERE (?1 IS NULL OR until>=?1) AND "
                                             "(?2='' OR namespace IN (SELECT value FROM "
                                             "json_each(?2))) AND (?3='' OR workload=?3) ORDER BY "
                                             "since, id")
                                                .c_str()));
  rows.Bind(1, filter.since).Bind(2, std::string_view(texts.namespaces));
  rows.Bind(3, std::string_view(filter.workload));
  while (true) {
    BERTH_TRY(const bool row, rows.Step());
    if (!row) return out;
    out.push_back(ReadNodeTime(rows));
  }
}

Result<std::vector<PriceRecord>> LedgerReader::Prices() {
  std::vector<PriceRecord> out;
  if (version_ == 1) return out;
  BERTH_TRY(Statement rows, sqlite_.Prepare("SELECT flavor, since, hourly_nano FROM price ORDER BY "
                                            "flavor, since"));
  while (true) {
    BERTH_TRY(const bool row, rows.Step());
    if (!row) return out;
    out.push_back({std::string(rows.Text(0)), rows.Int(1), rows.MaybeInt(2)});
  }
}

Result<std::vector<QuotaRecord>> LedgerReader::Quotas(const std::string& cluster_queue) {
  constexpr std::int64_t kFirstVersion = 6;
  std::vector<QuotaRecord> out;
  if (version_ < kFirstVersion) return out;
  BERTH_TRY(Statement rows, sqlite_.Prepare((std::string("SELECT ") + kQuotaColumns +
                                             " FROM quota WHERE ?1='' OR cluster_queue=?1 "
                                             "ORDER BY cluster_queue, resource, since")
                                                .c_str()));
  rows.Bind(1, std::string_view(cluster_queue));
  while (true) {
    BERTH_TRY(const bool row, rows.Step());
    if (!row) return out;
    out.push_back(ReadQuota(rows));
  }
}

Result<std::vector<PoolSampleRecord>> LedgerReader::PoolSamples(Seconds since) {
  constexpr std::int64_t kFirstVersion = 5;
  std::vector<PoolSampleRecord> out;
  if (version_ < kFirstVersion) return out;
  BERTH_TRY(Statement rows, sqlite_.Prepare((std::string("SELECT ") + kPoolSampleColumns +
                                             " FROM pool_sample WHERE since+span>?1")
                                                .c_str()));
  rows.Bind(1, since);
  while (true) {
    BERTH_TRY(const bool row, rows.Step());
    if (!row) return out;
    out.push_back(ReadPoolSample(rows));
  }
}

Result<std::optional<std::string>> LedgerReader::NameOf(const std::string& uid) {
  BERTH_TRY(Statement rows,
            sqlite_.Prepare("SELECT namespace, name FROM attempt WHERE uid=?1 LIMIT 1"));
  rows.Bind(1, std::string_view(uid));
  BERTH_TRY(const bool row, rows.Step());
  if (!row) return std::optional<std::string>();
  return std::optional(std::string(rows.Text(0)) + "/" + std::string(rows.Text(1)));
}

}  // namespace berth::ledger
