#include "tests/local/apiserver/store/fault_vfs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>
#include <random>

namespace berth::local {
namespace {

struct ShimFile {
  sqlite3_file base;  // first: SQLite sees this alone
  FaultVfs* owner;
  std::string* name;
  sqlite3_file* real;  // behind this struct
};

ShimFile* Shim(sqlite3_file* file) { return reinterpret_cast<ShimFile*>(file); }
sqlite3_file* Real(sqlite3_file* file) { return Shim(file)->real; }
FaultVfs* Owner(sqlite3_vfs* vfs) { return static_cast<FaultVfs*>(vfs->pAppData); }

int CloseFile(sqlite3_file* file) {
  ShimFile* shim = Shim(file);
  delete shim->name;
  shim->name = nullptr;
  return shim->real->pMethods == nullptr ? SQLITE_OK : shim->real->pMethods->xClose(shim->real);
}

const sqlite3_io_methods kMethods = {
    2,
    CloseFile,
    [](sqlite3_file* f, void* data, int size, sqlite3_int64 offset) {
      return Real(f)->pMethods->xRead(Real(f), data, size, offset);
    },
    [](sqlite3_file* f, const void* data, int size, sqlite3_int64 offset) {
      return Shim(f)->owner->Write(*Shim(f)->name, Real(f), data, size, offset);
    },
    [](sqlite3_file* f, sqlite3_int64 size) {
      return Shim(f)->owner->Truncate(*Shim(f)->name, Real(f), size);
    },
    [](sqlite3_file* f, int flags) { return Shim(f)->owner->Sync(*Shim(f)->name, Real(f), flags); },
    [](sqlite3_file* f, sqlite3_int64* size) {
      return Real(f)->pMethods->xFileSize(Real(f), size);
    },
    [](sqlite3_file* f, int level) { return Real(f)->pMethods->xLock(Real(f), level); },
    [](sqlite3_file* f, int level) { return Real(f)->pMethods->xUnlock(Real(f), level); },
    [](sqlite3_file* f, int* out) { return Real(f)->pMethods->xCheckReservedLock(Real(f), out); },
    [](sqlite3_file* f, int op, void* argument) {
      // A size hint would change the file past Truncate.
      if (op == SQLITE_FCNTL_SIZE_HINT) return SQLITE_OK;
      if (op == SQLITE_FCNTL_LAST_ERRNO && Shim(f)->owner->last_errno() != 0) {
        *static_cast<int*>(argument) = Shim(f)->owner->last_errno();
        return SQLITE_OK;
      }
      return Real(f)->pMethods->xFileControl(Real(f), op, argument);
    },
    [](sqlite3_file* f) { return Real(f)->pMethods->xSectorSize(Real(f)); },
    [](sqlite3_file* f) { return Real(f)->pMethods->xDeviceCharacteristics(Real(f)); },
    [](sqlite3_file* f, int region, int size, int extend, void volatile** memory) {
      return Real(f)->pMethods->xShmMap(Real(f), region, size, extend, memory);
    },
    [](sqlite3_file* f, int offset, int count, int flags) {
      return Real(f)->pMethods->xShmLock(Real(f), offset, count, flags);
    },
    [](sqlite3_file* f) { Real(f)->pMethods->xShmBarrier(Real(f)); },
    [](sqlite3_file* f, int remove) { return Real(f)->pMethods->xShmUnmap(Real(f), remove); },
    nullptr,
    nullptr};

std::string ReadWhole(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

FaultVfs::FaultVfs() : real_(sqlite3_vfs_find(nullptr)), vfs_(*real_) {
  vfs_.zName = "fault";
  vfs_.pAppData = this;
  vfs_.pNext = nullptr;
  vfs_.szOsFile = static_cast<int>(sizeof(ShimFile)) + real_->szOsFile;
  vfs_.xOpen = [](sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
    return Owner(vfs)->Open(name, file, flags, out);
  };
  vfs_.xDelete = [](sqlite3_vfs* vfs, const char* name, int sync_folder) {
    return Owner(vfs)->Delete(name, sync_folder);
  };
  sqlite3_vfs_register(&vfs_, 1);
}

FaultVfs::~FaultVfs() {
  sqlite3_vfs_unregister(&vfs_);
  sqlite3_vfs_register(real_, 1);
}

bool FaultVfs::Fault::Strikes(std::string_view name) {
  return countdown >= 0 && name.ends_with(suffix) && countdown-- == 0;
}

void FaultVfs::FailWrite(int nth, WriteFault fault, std::string suffix) {
  const std::lock_guard lock(mutex_);
  write_fault_ = {nth, std::move(suffix)};
  write_fault_kind_ = fault;
}

void FaultVfs::FailSync(int nth, std::string suffix) {
  const std::lock_guard lock(mutex_);
  sync_fault_ = {nth, std::move(suffix)};
}

int FaultVfs::Open(const char* name, sqlite3_file* file, int flags, int* out_flags) {
  ShimFile* shim = Shim(file);
  shim->base.pMethods = nullptr;
  shim->owner = this;
  shim->name = nullptr;
  shim->real = reinterpret_cast<sqlite3_file*>(shim + 1);
  const int opened = real_->xOpen(real_, name, shim->real, flags, out_flags);
  if (opened != SQLITE_OK) return opened;
  shim->name = new std::string(name == nullptr ? "" : name);
  shim->base.pMethods = &kMethods;
  const std::lock_guard lock(mutex_);
  if (name != nullptr && !files_.contains(name)) files_[name].durable = ReadWhole(name);
  return SQLITE_OK;
}

int FaultVfs::Delete(const char* name, int sync_folder) {
  {
    const std::lock_guard lock(mutex_);
    if (is_off_) return SQLITE_IOERR_DELETE;
    files_.erase(name);
  }
  return real_->xDelete(real_, name, sync_folder);
}

int FaultVfs::FailOne(const std::string& name, sqlite3_file* real, const void* data, int size,
                      sqlite3_int64 offset) {
  has_failed_ = true;
  const bool no_space =
      write_fault_kind_ == WriteFault::kNoSpace || write_fault_kind_ == WriteFault::kShort;
  last_errno_ = no_space ? ENOSPC : EIO;
  int written = 0;
  if (write_fault_kind_ == WriteFault::kShort) written = size / 2;
  if (write_fault_kind_ == WriteFault::kFalseError) written = size;
  if (write_fault_kind_ == WriteFault::kPowerOff) is_off_ = true;
  if (written > 0) {
    real->pMethods->xWrite(real, data, written, offset);
    files_[name].since.push_back(
        {false, offset,
         std::string(static_cast<const char*>(data), static_cast<std::size_t>(written)), false});
  }
  return no_space ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

int FaultVfs::Write(const std::string& name, sqlite3_file* real, const void* data, int size,
                    sqlite3_int64 offset) {
  const std::lock_guard lock(mutex_);
  if (is_off_) return SQLITE_IOERR_WRITE;
  if (write_fault_.Strikes(name)) return FailOne(name, real, data, size, offset);
  files_[name].since.push_back(
      {false, offset, std::string(static_cast<const char*>(data), static_cast<std::size_t>(size)),
       false});
  return real->pMethods->xWrite(real, data, size, offset);
}

int FaultVfs::Truncate(const std::string& name, sqlite3_file* real, sqlite3_int64 size) {
  const std::lock_guard lock(mutex_);
  if (is_off_) return SQLITE_IOERR_TRUNCATE;
  files_[name].since.push_back({true, size, "", false});
  return real->pMethods->xTruncate(real, size);
}

int FaultVfs::Sync(const std::string& name, sqlite3_file* real, int flags) {
  const std::lock_guard lock(mutex_);
  if (is_off_) return SQLITE_IOERR_FSYNC;
  File& file = files_[name];
  if (sync_fault_.Strikes(name)) {
    has_failed_ = true;
    last_errno_ = EIO;
    for (Change& change : file.since) change.is_doomed = true;
    return SQLITE_IOERR_FSYNC;
  }
  if (ignore_syncs_) return SQLITE_OK;
  std::vector<Change> doomed;
  for (Change& change : file.since) {
    if (change.is_doomed) {
      doomed.push_back(std::move(change));
    } else {
      Apply(change, file.durable);
    }
  }
  file.since = std::move(doomed);
  return real->pMethods->xSync(real, flags);
}

void FaultVfs::Apply(const Change& change, std::string& content) {
  const auto offset = static_cast<std::size_t>(change.offset);
  if (change.is_truncation) return content.resize(offset);
  content.resize(std::max(content.size(), offset + change.data.size()));
  std::copy(change.data.begin(), change.data.end(),
            content.begin() + static_cast<std::ptrdiff_t>(offset));
}

void FaultVfs::Lose(std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  std::mt19937_64 random(seed);
  const std::uint64_t kept_of_four = seed % 5;  // none … all
  for (auto& [name, file] : files_) {
    if (name.empty()) continue;
    for (Change& change : file.since) {
      if (random() % 4 >= kept_of_four) continue;
      if (!change.is_truncation && random() % 8 == 0) change.data.resize(change.data.size() / 2);
      Apply(change, file.durable);
    }
    std::ofstream(name, std::ios::binary | std::ios::trunc) << file.durable;
  }
  files_.clear();
  write_fault_ = {};
  sync_fault_ = {};
  is_off_ = false;
  ignore_syncs_ = false;
  has_failed_ = false;
  last_errno_ = 0;
}

}  // namespace berth::local
