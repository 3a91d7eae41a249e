// `berth history` and `berth report` on the command line.
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/client_flags.h"
#include "cli/completion.h"
#include "cli/history_commands.h"

namespace berth::cli {
namespace {

void AddPlace(CLI::App& command, LedgerPlace& place, std::string& namespace_name) {
  command
      .add_option("--ledger", place.ledger,
                  "file of the ledger (default: ledger.db in the data directory of `berth up`)")
      ->type_name(kFileValue);
  command.add_option("--data-dir", place.data_dir, "data directory of `berth up`")
      ->type_name(kDirectoryValue);
  command
      .add_option("--kubeconfig", place.kubeconfig,
                  "kubeconfig in the data directory of `berth up` (default: KUBECONFIG)")
      ->type_name(kFileValue);
  command.add_option("-n,--namespace", namespace_name, "only this namespace")
      ->type_name(kNamespaceValue);
}

}  // namespace

void AddHistory(CLI::App& app, int& exit_code) {
  const auto flags = std::make_shared<HistoryFlags>();
  CLI::App* command = app.add_subcommand(
      "history", "What happened to jobs: attempts, waits by cause, preemptions, capacity");
  command
      ->add_option("NAME", flags->reference,
                   "job/NAME, KIND/NAME, workload/NAME, queue/NAME, or a job's name; none: all")
      ->type_name("NAME");
  AddPlace(*command, flags->place, flags->namespace_name);
  command
      ->add_option("--since", flags->since,
                   "only what ran or ended in the last days or hours, such as 7d or 12h")
      ->type_name("SPAN");
  AddOutputFlag(*command, flags->output);
  AddAsciiFlag(*command, flags->ascii);
  command->footer(
      "Reads the ledger of `berth up`, or of `berth controller --ledger FILE`; needs no API "
      "server.\n"
      "Examples:\n"
      "  berth history job/train\n"
      "  berth history queue/team-a --since 7d\n"
      "  berth history --ledger /var/lib/berth/ledger.db -o json | jq '.attempts[].waits'");
  command->callback([flags, &exit_code] { exit_code = RunHistory(*flags); });
}

void AddReport(CLI::App& app, int& exit_code) {
  const auto flags = std::make_shared<ReportFlags>();
  CLI::App* command = app.add_subcommand(
      "report",
      "Usage in a period: used, waited for, destroyed, and cost, by queue or another group");
  command
      ->add_option("--by", flags->by,
                   "queue, clusterqueue, namespace, priority, user, pool, cause, preemptor, team "
                   "(the label of "
                   "that name), or label=KEY")
      ->type_name("GROUP")
      ->capture_default_str();
  command->add_option("--since", flags->since, "the period up to now, such as 7d or 12h")
      ->type_name("SPAN")
      ->capture_default_str();
  AddPlace(*command, flags->place, flags->namespace_name);
  command->add_option("-o,--output", flags->output, "table, json, csv, or html: a page with bars")
      ->check(CLI::IsMember({"table", "json", "csv", "html"}).description(""))
      ->type_name("table|json|csv|html");
  command->footer(
      "Used: amount × time from the admission to the end. Destroyed: used by attempts that were\n"
      "preempted or evicted. Charged and cost: of measured nodes; where none is measured, of one\n"
      "node for each pod at the price of its flavor. Only what lies in the period counts.\n"
      "Examples:\n"
      "  berth report\n"
      "  berth report --by label=team --since 90d -o csv > quarter.csv\n"
      "  berth report --by team --since 30d -o html > month.html\n"
      "  berth report --by pool\n"
      "  berth report --by cause --since 7d");
  command->callback([flags, &exit_code] { exit_code = RunReport(*flags); });
}

}  // namespace berth::cli