#include "cli/client_flags.h"

#include <map>

#include <CLI/CLI.hpp>

#include "cli/completion.h"

namespace berth::cli {

void AddServerFlags(CLI::App& command, ClientFlags& flags) {
  command.add_option("--kubeconfig", flags.kubeconfig, "path of the kubeconfig file")
      ->type_name(kFileValue);
  command.add_option("--context", flags.context, "context of the kubeconfig file")
      ->type_name("NAME");
}

void AddAsciiFlag(CLI::App& command, bool& ascii) {
  command.add_flag("--ascii", ascii, "draw with ASCII characters only");
}

void AddClientFlags(CLI::App& command, ClientFlags& flags) {
  AddServerFlags(command, flags);
  command.add_option("-n,--namespace", flags.namespace_name, "namespace to look in")
      ->type_name(kNamespaceValue);
  command.add_flag("-A,--all-namespaces", flags.all_namespaces,
                   "look in every namespace; takes precedence over -n");
  AddAsciiFlag(command, flags.ascii);
}

void AddOutputFlag(CLI::App& command, view::OutputFormat& output) {
  const std::map<std::string, view::OutputFormat> formats{{"text", view::OutputFormat::kText},
                                                          {"json", view::OutputFormat::kJson},
                                                          {"yaml", view::OutputFormat::kYaml}};
  command.add_option("-o,--output", output, "text, json or yaml")
      ->transform(CLI::CheckedTransformer(formats).description(""))
      ->type_name("text|json|yaml");
}

void AcceptOnly(CLI::Option& option, const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : "|") + word;
  option.check(CLI::IsMember(words).description(""))->type_name(joined);
}

view::ReadScope ScopeOf(const ClientFlags& flags, const view::Session& session,
                        bool own_by_default) {
  const std::string own =
      flags.namespace_name.empty() ? session.default_namespace() : flags.namespace_name;
  const bool is_narrowed =
      !flags.all_namespaces && (own_by_default || !flags.namespace_name.empty());
  return {.namespace_name = is_narrowed ? own : "", .own_namespace = own};
}

}  // namespace berth::cli
