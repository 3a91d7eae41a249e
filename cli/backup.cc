// berth backup: the running server writes the copy to its data directory; the command moves the
// file to the requested path.
#include <cstdio>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/client_flags.h"
#include "cli/completion.h"
#include "view/output.h"
#include "view/session.h"

namespace berth::cli {
namespace {

// The target name appears when the whole file exists.
Status MoveTo(const std::string& from, const std::string& to) {
  std::error_code failed;
  std::filesystem::rename(from, to, failed);
  if (!failed) return OkStatus();
  // The target is on another file system, or the move is not permitted.
  const std::string part = to + ".part";
  std::filesystem::copy_file(from, part, std::filesystem::copy_options::overwrite_existing, failed);
  if (!failed) std::filesystem::rename(part, to, failed);
  if (failed) {
    return Error{ErrorCode::kUnavailable, "the backup lies in " + from +
                                              " on the server\'s machine; it cannot be moved to " +
                                              to + ": " + failed.message()};
  }
  std::filesystem::remove(from, failed);
  return OkStatus();
}

int RunBackup(const ClientFlags& client, const std::string& file) {
  const std::string path = std::filesystem::absolute(file).string();
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    return view::Complain(Error{ErrorCode::kAlreadyExists, path + " exists: choose another name"});
  }
  const auto session = view::Session::Open(client);
  if (!session) return view::Complain(session.error());
  const auto made = (*session)->Post("/debug/berth/backup");
  if (!made) {
    if (made.error().code != ErrorCode::kNotFound) return view::Complain(made.error());
    return view::Complain(
        Error{ErrorCode::kNotFound,
              (*session)->server_url() +
                  " is not a cluster of `berth up`: only such a cluster can be backed up"});
  }
  if (const Status moved = MoveTo(made->value("path", ""), path); !moved) {
    return view::Complain(moved.error());
  }
  view::Print(path + ": " + std::to_string(made->value("objects", 0)) +
              " objects, as of revision " + made->value("resourceVersion", "?") + "\n");
  return view::kExitAnswered;
}

}  // namespace

void AddBackup(CLI::App& app, int& exit_code) {
  const auto client = std::make_shared<ClientFlags>();
  const auto file = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("backup", "Backs up the cluster of `berth up` while it runs");
  AddServerFlags(*command, *client);
  command->add_option("FILE", *file, "file to write; must not exist")
      ->required()
      ->type_name(kFileValue);
  command->footer(
      "Examples:\n"
      "  berth backup monday.db\n"
      "Back again, in an empty data directory:\n"
      "  berth up --data-dir restored --restore monday.db");
  command->callback([client, file, &exit_code] { exit_code = RunBackup(*client, *file); });
}

}  // namespace berth::cli
