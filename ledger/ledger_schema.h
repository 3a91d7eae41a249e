// ledger/ledger_schema.h — the tables of the ledger's file, version by version.
//
// Version 1 has attempts, waits and requests for capacity. Version 2 adds nodes, prices and users.
// Version 3 adds images and the declared longest run times, version 4 the claimed checkpoints. A
// version that files may have is never changed: tests/ledger/schemas has a file of each version.
//
// Threads: those of the connection. Errors: as the functions of base/sqlite.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/sqlite/sqlite.h"

namespace berth::ledger {

// SQL that leads from the version, 0 to kSchemaVersion - 1, to the next one; 0: an empty file.
const char* MigrationFrom(std::int64_t version);

// kInvalid: a table of the version, 1 to kSchemaVersion, is missing.
Status CheckTables(Sqlite& sqlite, std::int64_t version);

}  // namespace berth::ledger
