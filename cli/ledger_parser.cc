#include "cli/ledger_parser.h"

#include <map>
#include <string>

#include <CLI/CLI.hpp>

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

void AddHistory(CLI::App& app, HistoryFlags& flags, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "history", "What happened to jobs: attempts, waits by cause, preemptions, capacity");
  command
      ->add_option("NAME", flags.reference,
                   "job/NAME, KIND/NAME, workload/NAME, queue/NAME, or a job's name; none: all")
      ->type_name("NAME");
  AddPlace(*command, flags.place, flags.namespace_name);
  command->add_option("--since", flags.since, "what had not ended before, such as 7d or 12h")
      ->type_name("SPAN");
  const std::map<std::string, view::OutputFormat> formats{{"text", view::OutputFormat::kText},
                                                          {"json", view::OutputFormat::kJson},
                                                          {"yaml", view::OutputFormat::kYaml}};
  command->add_option("-o,--output", flags.output, "text, json or yaml")
      ->transform(CLI::CheckedTransformer(formats).description(""))
      ->type_name("text|json|yaml");
  command->add_flag("--ascii", flags.ascii, "draw with ASCII characters only");
  command->footer(
      "Reads the ledger of `berth up`, or of `berth controller --ledger FILE`; needs no API "
      "server.\n"
      "Examples:\n"
      "  berth history job/train\n"
      "  berth history queue/team-a --since 7d\n"
      "  berth history --ledger /var/lib/berth/ledger.db -o json | jq '.attempts[].waits'");
  command->callback([&] { exit_code = RunHistory(flags); });
}

void AddReport(CLI::App& app, ReportFlags& flags, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "report",
      "Accounts of a period: used, waited for, destroyed, and its cost, by queue or another group");
  command
      ->add_option("--by", flags.by,
                   "queue, clusterqueue, namespace, priority, user, pool, cause, preemptor, team "
                   "(the label of "
                   "that name), or label=KEY")
      ->type_name("GROUP")
      ->capture_default_str();
  command->add_option("--since", flags.since, "the period up to now, such as 7d or 12h")
      ->type_name("SPAN")
      ->capture_default_str();
  AddPlace(*command, flags.place, flags.namespace_name);
  command->add_option("-o,--output", flags.output, "table, json, csv, or html: a page with bars")
      ->check(CLI::IsMember({"table", "json", "csv", "html"}).description(""))
      ->type_name("table|json|csv|html");
  command->footer(
      "Used: amount and time from the admission to the end. Destroyed: used by attempts that were\n"
      "preempted or evicted. Charged and cost: of nodes that are measured; else the cost is that "
      "of a\n"
      "node for each pod at the price of its flavor. Only what lies in the period counts.\n"
      "Examples:\n"
      "  berth report\n"
      "  berth report --by label=team --since 90d -o csv > quarter.csv\n"
      "  berth report --by team --since 30d -o html > month.html\n"
      "  berth report --by pool\n"
      "  berth report --by cause --since 7d");
  command->callback([&] { exit_code = RunReport(flags); });
}

}  // namespace

void AddLedgerCommands(CLI::App& app, LedgerCommandFlags& flags, int& exit_code) {
  AddHistory(app, flags.history, exit_code);
  AddReport(app, flags.report, exit_code);
}

void AddLedgerFlags(CLI::App& command, LedgerFlags& flags, const char* usual) {
  command.add_flag("--ledger-users", flags.users,
                   "note who made a job, in its annotation berth.dev/user and in the ledger");
  command
      .add_option("--ledger", flags.file,
                  std::string("history for berth history and berth report; empty writes none "
                              "(default: ") +
                      usual + ")")
      ->type_name(kFileValue);
  command.add_option("--ledger-maxage", flags.days, "age at which what has ended is forgotten")
      ->type_name("DAYS")
      ->capture_default_str();
  command.add_option("--ledger-maxsize", flags.megabytes, "size at which the oldest is forgotten")
      ->type_name("MEGABYTES")
      ->capture_default_str();
}

}  // namespace berth::cli
