#include "readapi/model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/strings.h"
#include "readapi/cell_text.h"

namespace berth::readapi {
namespace {

bool HaveSame(const Audience& a, const Audience& b) {
  if (a == nullptr || b == nullptr) return a == b;
  return *a == *b;
}

// Whether some namespace of `before` is not one of `after`.
bool LosesReader(const Audience& before, const Audience& after) {
  return before != nullptr && (after == nullptr || !std::includes(after->begin(), after->end(),
                                                                  before->begin(), before->end()));
}

constexpr std::size_t kMostKeptPages = 64;
constexpr std::size_t kMostKeptBytes = 8 * 1024 * 1024;

std::string EventText(const std::string& cursor, const std::string& data) {
  return "event: change\nid: " + cursor + "\ndata: " + data + "\n\n";
}

}  // namespace

std::string EntityTag(std::string_view body) {
  // FNV-1a, 64 bits.
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : body) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  std::array<char, sizeof hash> bytes{};
  for (char& byte : bytes) {
    byte = static_cast<char>(hash & 0xffU);
    hash >>= 8U;
  }
  return "\"" + HexEncode(std::string_view(bytes.data(), bytes.size())) + "\"";
}

Model::Model(std::string epoch, Feed::Options options) : feed_(std::move(epoch), options) {
  for (const Resource& resource : Resources()) {
    tables_.push_back(std::make_unique<Table>(resource));
  }
}

bool Model::Put(std::size_t resource, Row row) {
  const std::optional<RowChange> change = tables_[resource]->Put(std::move(row));
  if (change) Tell(resource, *change);
  return change.has_value();
}

bool Model::Remove(std::size_t resource, std::string_view id) {
  const std::optional<RowChange> change = tables_[resource]->Remove(id);
  if (change) Tell(resource, *change);
  return change.has_value();
}

void Model::Tell(std::size_t resource, const RowChange& row) {
  Change change{
      .resource = resource, .before = row.before, .after = row.after, .is_gone = row.is_gone};
  const Table& table = *tables_[resource];
  const std::string cursor = EncodeFeedCursor(feed_.next_cursor());
  const std::string head = std::string("{\"resource\":\"") + Resources()[resource].name + "\",";
  const std::string gone =
      EventText(cursor, head + "\"removed\":{\"id\":" + QuoteJson(row.id) + "}}");
  if (row.is_gone) {
    change.text = gone;
    change.gone_text = gone;
    return feed_.Append(std::move(change));
  }
  // A reader who has not seen the row before needs all of it.
  const bool whole = row.is_new || !HaveSame(row.before, row.after);
  const std::string verb = whole ? "\"row\":" : "\"set\":";
  const std::vector<std::size_t> fields = whole ? std::vector<std::size_t>{} : row.fields;
  const auto text = [&](bool everywhere) {
    return EventText(cursor, head + verb + table.RowText(row.id, fields, everywhere) + "}");
  };
  change.text = text(true);
  const std::vector<Field>& all = Resources()[resource].fields;
  const auto is_for_all = [&all](std::size_t i) { return all[i].readers == Readers::kAll; };
  if (whole || !std::all_of(fields.begin(), fields.end(), is_for_all)) {
    const bool is_told = whole || std::any_of(fields.begin(), fields.end(), is_for_all);
    std::string for_audience = is_told ? text(false) : std::string();
    if (for_audience != change.text) change.audience_text = std::move(for_audience);
  }
  if (LosesReader(row.before, row.after)) change.gone_text = gone;
  feed_.Append(std::move(change));
}

Model::PageText Model::ReadPage(std::size_t resource, const Query& query,
                                const Sight& sight) const {
  if (kept_at_ != feed_.revision()) {
    kept_.clear();
    kept_bytes_ = 0;
    kept_at_ = feed_.revision();
  }
  const auto [found, is_new] = kept_.try_emplace(PageKey{resource, query, sight});
  if (!is_new) return found->second;
  PageText page = MakePage(resource, query, sight);
  if (kept_.size() > kMostKeptPages || kept_bytes_ + page.body.size() > kMostKeptBytes) {
    kept_.erase(found);
    return page;
  }
  kept_bytes_ += page.body.size();
  found->second = page;
  return page;
}

Model::PageText Model::MakePage(std::size_t resource, const Query& query,
                                const Sight& sight) const {
  if (query.count_by) {
    const std::string counts = tables_[resource]->Count(query, sight);
    return {.body = "{\"items\":[],\"counts\":" + counts + ",\"revision\":\"" +
                    EncodeFeedCursor(feed_.cursor()) + "\"}\n",
            .etag = EntityTag(counts)};
  }
  Table::Page page = tables_[resource]->Read(query, sight);
  const std::string next =
      page.next ? ",\"next\":\"" + EncodePageCursor(*page.next) + "\"" : std::string();
  PageText text;
  text.etag = EntityTag(page.items + next);
  text.body = "{\"items\":" + std::move(page.items) + next + ",\"revision\":\"" +
              EncodeFeedCursor(feed_.cursor()) + "\"}\n";
  return text;
}

}  // namespace berth::readapi
