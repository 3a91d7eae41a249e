#include "ledger/ledger_schema.h"

#include <array>

#include "ledger/ledger_file.h"

namespace berth::ledger {
namespace {

static_assert(kApplicationId == 1112295250);

constexpr const char* kVersion1 =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE attempt("
    "  uid TEXT NOT NULL, attempt INTEGER NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,"
    "  owner_kind TEXT NOT NULL, owner_name TEXT NOT NULL, local_queue TEXT NOT NULL,"
    "  cluster_queue TEXT NOT NULL, priority INTEGER NOT NULL, labels TEXT NOT NULL,"
    "  created INTEGER NOT NULL, queued INTEGER NOT NULL, reserved INTEGER, admitted INTEGER,"
    "  started INTEGER, ended INTEGER, outcome TEXT NOT NULL, reason TEXT NOT NULL,"
    "  message TEXT NOT NULL, preemptor TEXT NOT NULL, PRIMARY KEY(uid, attempt)) WITHOUT ROWID;"
    "CREATE INDEX attempt_ended ON attempt(ended) WHERE ended IS NOT NULL;"
    "CREATE INDEX attempt_open ON attempt(uid) WHERE outcome='';"
    "CREATE TABLE resource("
    "  uid TEXT NOT NULL, attempt INTEGER NOT NULL, flavor TEXT NOT NULL, resource TEXT NOT NULL,"
    "  amount INTEGER NOT NULL, PRIMARY KEY(uid, attempt, flavor, resource)) WITHOUT ROWID;"
    "CREATE TABLE wait("
    "  uid TEXT NOT NULL, attempt INTEGER NOT NULL, since INTEGER NOT NULL, cause TEXT NOT NULL,"
    "  PRIMARY KEY(uid, attempt, since)) WITHOUT ROWID;"
    "CREATE TABLE capacity_request("
    "  uid TEXT PRIMARY KEY, namespace TEXT NOT NULL, name TEXT NOT NULL, class TEXT NOT NULL,"
    "  workload TEXT NOT NULL, created INTEGER NOT NULL, provisioned INTEGER, ended INTEGER,"
    "  outcome TEXT NOT NULL, reason TEXT NOT NULL, message TEXT NOT NULL) WITHOUT ROWID;"
    "INSERT INTO meta VALUES('last_write', 0);"
    "PRAGMA application_id=1112295250;"
    "PRAGMA user_version=1;"
    "COMMIT;";

// What nodes and reservations cost, and users.
constexpr const char* kVersion2 =
    "BEGIN IMMEDIATE;"
    "ALTER TABLE attempt ADD COLUMN user TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE attempt ADD COLUMN hourly_nano INTEGER;"
    "CREATE TABLE node_time("
    "  id TEXT PRIMARY KEY, node TEXT NOT NULL, pool TEXT NOT NULL, class TEXT NOT NULL,"
    "  namespace TEXT NOT NULL, local_queue TEXT NOT NULL, cluster_queue TEXT NOT NULL,"
    "  workload TEXT NOT NULL, uid TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL,"
    "  gpus INTEGER NOT NULL, hourly_nano INTEGER, stands INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX node_time_until ON node_time(until);"
    "CREATE TABLE price("
    "  flavor TEXT NOT NULL, since INTEGER NOT NULL, hourly_nano INTEGER,"
    "  PRIMARY KEY(flavor, since)) WITHOUT ROWID;"
    "PRAGMA user_version=2;"
    "COMMIT;";

// What makes runs alike: their images, and how long they may run.
constexpr const char* kVersion3 =
    "BEGIN IMMEDIATE;"
    "ALTER TABLE attempt ADD COLUMN image TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE attempt ADD COLUMN declared INTEGER;"
    "PRAGMA user_version=3;"
    "COMMIT;";

// How often jobs claim to make checkpoints.
constexpr const char* kVersion4 =
    "BEGIN IMMEDIATE;"
    "ALTER TABLE attempt ADD COLUMN checkpoint INTEGER;"
    "PRAGMA user_version=4;"
    "COMMIT;";

// The nodes of pools over time.
constexpr const char* kVersion5 =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE pool_sample("
    "  pool TEXT NOT NULL, span INTEGER NOT NULL, since INTEGER NOT NULL,"
    "  seconds INTEGER NOT NULL, ready INTEGER NOT NULL, booting INTEGER NOT NULL,"
    "  idle INTEGER NOT NULL, idle_seconds INTEGER NOT NULL,"
    "  PRIMARY KEY(span, since, pool)) WITHOUT ROWID;"
    "PRAGMA user_version=5;"
    "COMMIT;";

// The quota of queues over time.
constexpr const char* kVersion6 =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE quota("
    "  cluster_queue TEXT NOT NULL, resource TEXT NOT NULL, since INTEGER NOT NULL,"
    "  nominal INTEGER NOT NULL, PRIMARY KEY(cluster_queue, resource, since)) WITHOUT ROWID;"
    "PRAGMA user_version=6;"
    "COMMIT;";

struct Version {
  const char* migration;  // from the version before
  std::int64_t tables;
};

constexpr std::array<Version, kSchemaVersion> kVersions{{{kVersion1, 5},
                                                         {kVersion2, 7},
                                                         {kVersion3, 7},
                                                         {kVersion4, 7},
                                                         {kVersion5, 8},
                                                         {kVersion6, 9}}};

const Version& VersionOf(std::int64_t version) {
  return kVersions.at(static_cast<std::size_t>(version - 1));
}

}  // namespace

const char* MigrationFrom(std::int64_t version) { return VersionOf(version + 1).migration; }

Status CheckTables(Sqlite& sqlite, std::int64_t version) {
  BERTH_TRY(const std::int64_t known,
            sqlite.QueryInt("SELECT count(*) FROM sqlite_master WHERE type='table' AND name IN "
                            "('meta', 'attempt', 'resource', 'wait', 'capacity_request',"
                            " 'node_time', 'price', 'pool_sample', 'quota')"));
  if (known == VersionOf(version).tables) return OkStatus();
  return Error{ErrorCode::kInvalid, "a table is missing"};
}

}  // namespace berth::ledger
