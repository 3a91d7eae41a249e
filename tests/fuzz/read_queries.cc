// The target of queries and cursors of the read API: "NAME=VALUE" lines.
#include <string>

#include "base/strings.h"
#include "readapi/model.h"
#include "tests/fuzz/targets.h"

namespace berth::fuzz {
namespace {

// A small model: each accepted query is read, for two sights.
const readapi::Model& SmallModel() {
  static const readapi::Model kModel = [] {
    readapi::Model model("e");
    const readapi::Resource& workloads = readapi::Resources()[readapi::kWorkloads];
    for (int i = 0; i < 20; ++i) {
      const std::string space = "ns-" + std::to_string(i % 3);
      readapi::Row row{.id = space + "/w" + std::to_string(i),
                       .cells = std::vector<std::string>(workloads.fields.size(), "null"),
                       .audience = std::make_shared<const std::vector<std::string>>(
                           std::vector<std::string>{space})};
      row.cells[*workloads.Find("namespace")] = "\"" + space + "\"";
      row.cells[*workloads.Find("priority")] = std::to_string(i % 4);
      model.Put(readapi::kWorkloads, std::move(row));
    }
    return model;
  }();
  return kModel;
}

void CheckPages(const readapi::Query& query) {
  const readapi::Table& table = SmallModel().table(readapi::kWorkloads);
  const readapi::Sight tenant{.everywhere = false, .namespaces = {"ns-1"}};
  const readapi::Sight all{.everywhere = true, .namespaces = {}};
  for (const readapi::Sight& sight : {tenant, all}) {
    const readapi::Table::Page page = table.Read(query, sight);
    Require(page.count <= query.limit, "a page has at most the limit");
    Require(sight.everywhere || (page.items.find("ns-0") == std::string::npos &&
                                 page.items.find("ns-2") == std::string::npos),
            "no row of another namespace is read");
    if (!page.next) continue;
    Require(sight.everywhere || page.next->id.rfind("ns-1/", 0) == 0,
            "a cursor names a row that was seen");
  }
}

}  // namespace

void ReadQueries(std::string_view text) {
  readapi::Parameters parameters;
  for (const std::string_view line : Split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    parameters.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  for (const readapi::Resource& resource : readapi::Resources()) {
    const auto query = readapi::ParseQuery(resource, parameters);
    if (!query) {
      Require(
          query.error().code == ErrorCode::kInvalid || query.error().code == ErrorCode::kForbidden,
          "a query that is refused is invalid");
      continue;
    }
    Require(query->limit >= 1 && query->limit <= readapi::kMaxLimit, "limits are bounded");
    if (&resource == &readapi::Resources()[readapi::kWorkloads]) CheckPages(*query);
  }
  (void)readapi::ParseStreamQuery(parameters);
  const auto page = readapi::DecodePageCursor(text);
  if (page) Require(readapi::EncodePageCursor(*page) == text, "a position has one text");
  const auto feed = readapi::DecodeFeedCursor(text);
  if (feed) Require(readapi::EncodeFeedCursor(*feed) == text, "a revision has one text");
}

}  // namespace berth::fuzz
