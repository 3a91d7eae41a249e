// The list of the commands: a new one is a source that defines its Add…, and a line here.
#include "cli/commands.h"

namespace berth::cli {

void AddStatus(CLI::App& app, int& exit_code);      // cli/status.cc
void AddList(CLI::App& app, int& exit_code);        // cli/list.cc
void AddWhy(CLI::App& app, int& exit_code);         // cli/why.cc
void AddTrace(CLI::App& app, int& exit_code);       // cli/trace.cc
void AddCapacity(CLI::App& app, int& exit_code);    // cli/capacity.cc
void AddPlan(CLI::App& app, int& exit_code);        // cli/plan.cc
void AddLint(CLI::App& app, int& exit_code);        // cli/lint_parser.cc
void AddSimulate(CLI::App& app, int& exit_code);    // cli/simulate_parser.cc
void AddTune(CLI::App& app, int& exit_code);        // cli/tune.cc
void AddEta(CLI::App& app, int& exit_code);         // cli/forecast_parser.cc
void AddWhatIf(CLI::App& app, int& exit_code);      // cli/forecast_parser.cc
void AddTest(CLI::App& app, int& exit_code);        // cli/test.cc
void AddHistory(CLI::App& app, int& exit_code);     // cli/ledger_parser.cc
void AddReport(CLI::App& app, int& exit_code);      // cli/ledger_parser.cc
void AddUp(CLI::App& app, int& exit_code);          // cli/up.cc
void AddInit(CLI::App& app, int& exit_code);        // cli/init.cc
void AddUser(CLI::App& app, int& exit_code);        // cli/user.cc
void AddController(CLI::App& app, int& exit_code);  // cli/controller.cc
void AddCloud(CLI::App& app, int& exit_code);       // cli/cloud.cc
void AddBackup(CLI::App& app, int& exit_code);      // cli/backup.cc
void AddAdopt(CLI::App& app, int& exit_code);       // cli/adopt.cc
void AddDoctor(CLI::App& app, int& exit_code);      // cli/doctor.cc
void AddKinds(CLI::App& app, int& exit_code);       // cli/kinds.cc
void AddKueueVerbs(CLI::App& app, int& exit_code);  // cli/kueue_parser.cc
void AddVersion(CLI::App& app, int& exit_code);     // cli/version.cc
void AddCompletion(CLI::App& app, int& exit_code);  // cli/completion_command.cc

namespace {

// In the order of the help. The verbs of kueuectl extend the command `list`.
constexpr void (*kCommands[])(CLI::App& app, int& exit_code) = {
    AddStatus,   AddList,  AddWhy,        AddTrace,      AddCapacity,  AddPlan,    AddLint,
    AddSimulate, AddTune,  AddEta,        AddWhatIf,     AddTest,      AddHistory, AddReport,
    AddUp,       AddInit,  AddUser,       AddController, AddCloud,     AddBackup,  AddAdopt,
    AddDoctor,   AddKinds, AddKueueVerbs, AddVersion,    AddCompletion};

}  // namespace

void AddCommands(CLI::App& app, int& exit_code) {
  for (const auto add : kCommands) add(app, exit_code);
}

}  // namespace berth::cli
