#include "api/node_match.h"

#include <algorithm>

namespace berth::api {

bool Matches(const NodeSelectorTerm& term, const StringMap& labels, const std::string& node_name) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  const StringMap fields = {{"metadata.name", node_name}};
  return std::all_of(term.match_expressions.begin(), term.match_expressions.end(),
                     [&labels](const auto& asked) { return Matches(asked, labels); }) &&
         std::all_of(term.match_fields.begin(), term.match_fields.end(),
                     [&fields](const auto& asked) { return Matches(asked, fields); });
}

}  // namespace berth::api
