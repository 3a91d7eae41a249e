#include "readapi/table.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "readapi/cell_text.h"

namespace berth::readapi {
namespace {

// Up to so many rows are collected and ordered, rather than found on a walk.
constexpr std::size_t kMostCollected = 20'000;

bool Has(const std::vector<std::string>& sorted, const std::string& value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

}  // namespace

// A query, prepared: buckets in place of values.
struct Table::Plan {
  const Query* query = nullptr;
  const Sight* sight = nullptr;
  // Per filter: the buckets of its values; a row is in one of each.
  std::vector<std::vector<const Bucket*>> filters;
  // The smallest of `filters`; null: no filter.
  const std::vector<const Bucket*>* smallest = nullptr;
  std::size_t smallest_size = 0;
  // The rows that a filter of Use::kPrefix names, where they are fewer; nullopt: none, or too many.
  std::optional<std::vector<const Stored*>> named;
  std::optional<std::size_t> order;  // index in orders_; nullopt: by id
  std::optional<Probe> after;
};

bool Sight::Sees(const Audience& audience) const {
  if (everywhere) return true;
  return audience != nullptr &&
         std::any_of(audience->begin(), audience->end(),
                     [this](const std::string& each) { return Has(namespaces, each); });
}

Table::Table(const Resource& resource) : resource_(resource) {
  std::size_t others = 0;
  for (std::size_t i = 0; i < resource.fields.size(); ++i) {
    const Field& field = resource.fields[i];
    slot_of_.push_back(field.is_shared() ? shared_fields_.size() : others++);
    if (field.is_shared()) shared_fields_.push_back(i);
    if (field.is_sort()) sort_fields_.push_back(i);
    if (field.is_prefix()) names_.emplace_back(ByCell{this, i});
  }
  buckets_.resize(shared_fields_.size());
  for (std::size_t i = 0; i < sort_fields_.size(); ++i) orders_.emplace_back(ByKey{i});
}

Table::~Table() = default;

Table::Bucket& Table::BucketOf(std::size_t slot, const std::string& cell) {
  Buckets& buckets = buckets_[slot];
  const auto [found, is_new] = buckets.index_by_cell.try_emplace(cell);
  if (is_new) {
    if (buckets.unused.empty()) {
      found->second = static_cast<std::uint32_t>(buckets.all.size());
      buckets.all.emplace_back();
    } else {
      found->second = buckets.unused.back();
      buckets.unused.pop_back();
    }
    buckets.all[found->second] = std::make_unique<Bucket>(
        Bucket{.cell = cell, .slot = slot, .index = found->second, .rows = {}});
  }
  return *buckets.all[found->second];
}

void Table::Enter(Stored& stored, std::size_t slot, Bucket& bucket) {
  stored.places[slot] = {bucket.index, static_cast<std::uint32_t>(bucket.rows.size())};
  bucket.rows.push_back(&stored);
}

void Table::Leave(const Stored& stored, std::size_t slot) {
  Buckets& buckets = buckets_[slot];
  const Place place = stored.places[slot];
  Bucket& bucket = *buckets.all[place.bucket];
  Stored* last = bucket.rows.back();
  bucket.rows[place.position] = last;
  last->places[slot].position = place.position;
  bucket.rows.pop_back();
  if (!bucket.rows.empty()) return;
  buckets.index_by_cell.erase(bucket.cell);
  buckets.unused.push_back(place.bucket);
  buckets.all[place.bucket].reset();
}

std::string_view Table::CellOf(const Stored& stored, std::size_t field) const {
  const std::size_t slot = slot_of_[field];
  if (resource_.fields[field].is_shared())
    return buckets_[slot].all[stored.places[slot].bucket]->cell;
  const std::size_t begin = slot == 0 ? 0 : stored.ends[slot - 1];
  return std::string_view(stored.text).substr(begin, stored.ends[slot] - begin);
}

// Sets everything but the id, and enters the row into the buckets.
void Table::Fill(Stored& stored, Row&& row) {
  stored.audience = std::move(row.audience);
  std::string text;
  std::size_t others = 0;
  for (std::size_t i = 0; i < resource_.fields.size(); ++i) {
    if (resource_.fields[i].is_shared()) {
      Enter(stored, slot_of_[i], BucketOf(slot_of_[i], row.cells[i]));
    } else {
      text += row.cells[i];
      stored.ends[others++] = static_cast<std::uint32_t>(text.size());
    }
  }
  text.shrink_to_fit();
  stored.text = std::move(text);
  for (std::size_t i = 0; i < sort_fields_.size(); ++i) {
    const std::size_t field = sort_fields_[i];
    stored.keys[i] = SortKeyOf(resource_.fields[field].type, row.cells[field]);
  }
}

std::optional<RowChange> Table::Put(Row row) {
  BERTH_ASSERT(row.cells.size() == resource_.fields.size());
  RowChange change{.id = row.id, .after = row.audience};
  const auto found = rows_.find(std::string_view(row.id));
  if (found == rows_.end()) {
    change.is_new = true;
    for (std::size_t i = 0; i < row.cells.size(); ++i) change.fields.push_back(i);
    auto made = std::make_unique<Stored>();
    made->id = row.id;
    made->ends = std::make_unique<std::uint32_t[]>(row.cells.size() - shared_fields_.size());
    made->places = std::make_unique<Place[]>(shared_fields_.size());
    made->keys = std::make_unique<std::int64_t[]>(sort_fields_.size());
    Fill(*made, std::move(row));
    for (Order& order : orders_) order.insert(made.get());
    for (Names& names : names_) names.insert(made.get());
    rows_.insert(std::move(made));
    return change;
  }
  Stored& stored = **found;
  change.before = stored.audience;
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    if (CellOf(stored, i) != row.cells[i]) change.fields.push_back(i);
  }
  const bool same_audience = (change.before == nullptr) == (change.after == nullptr) &&
                             (change.before == nullptr || *change.before == *change.after);
  if (change.fields.empty() && same_audience) return std::nullopt;
  Unlink(stored);
  Fill(stored, std::move(row));
  for (Order& order : orders_) order.insert(&stored);
  for (Names& names : names_) names.insert(&stored);
  return change;
}

void Table::Unlink(Stored& stored) {
  for (Order& order : orders_) order.erase(&stored);
  for (Names& names : names_) names.erase(&stored);
  for (std::size_t slot = 0; slot < shared_fields_.size(); ++slot) Leave(stored, slot);
}

std::optional<RowChange> Table::Remove(std::string_view id) {
  const auto found = rows_.find(id);
  if (found == rows_.end()) return std::nullopt;
  RowChange change{.id = std::string(id), .before = (*found)->audience, .is_gone = true};
  Unlink(**found);
  rows_.erase(found);
  return change;
}

Table::Plan Table::PlanOf(const Query& query, const Sight& sight) const {
  Plan plan{.query = &query, .sight = &sight};
  const auto add = [&](std::size_t field, const std::vector<std::string>& cells) {
    std::vector<const Bucket*>& chosen = plan.filters.emplace_back();
    const Buckets& buckets = buckets_[slot_of_[field]];
    for (const std::string& cell : cells) {
      const auto found = buckets.index_by_cell.find(cell);
      if (found != buckets.index_by_cell.end()) {
        chosen.push_back(buckets.all[found->second].get());
      }
    }
  };
  for (const Filter& filter : query.filters) add(filter.field, filter.cells);
  const std::optional<std::size_t> space = resource_.Find("namespace");
  if (!sight.everywhere && space) {
    std::vector<std::string> cells;
    for (const std::string& each : sight.namespaces) cells.push_back(QuoteJson(each));
    add(*space, cells);
  }
  for (const auto& chosen : plan.filters) {
    std::size_t size = 0;
    for (const Bucket* bucket : chosen) size += bucket->rows.size();
    if (plan.smallest != nullptr && size >= plan.smallest_size) continue;
    plan.smallest = &chosen;
    plan.smallest_size = size;
  }
  if (query.sort) {
    const auto found = std::find(sort_fields_.begin(), sort_fields_.end(), *query.sort);
    plan.order = static_cast<std::size_t>(found - sort_fields_.begin());
  }
  if (query.after) plan.after = Probe{query.after->key, query.after->id};
  FindNamed(plan);
  return plan;
}

// Sets plan.named.
void Table::FindNamed(Plan& plan) const {
  for (const Filter& filter : plan.query->prefixes) {
    const auto names = std::find_if(names_.begin(), names_.end(), [&filter](const Names& each) {
      return each.key_comp().field == filter.field;
    });
    std::set<const Stored*> found;  // a set, since one prefix may begin with another
    const std::size_t most =
        std::min(kMostCollected, plan.smallest == nullptr ? kMostCollected : plan.smallest_size);
    for (const std::string& begin : filter.cells) {
      for (auto at = names->lower_bound(std::string_view(begin)); at != names->end(); ++at) {
        if (found.size() > most || !CellOf(**at, filter.field).starts_with(begin)) break;
        found.insert(*at);
      }
    }
    if (found.size() > most || (plan.named && plan.named->size() <= found.size())) continue;
    plan.named = std::vector<const Stored*>(found.begin(), found.end());
  }
}

// The fewest rows of which those of the plan are some.
template <typename Visit>
void Table::EachCandidate(const Plan& plan, Visit visit) const {
  if (plan.named) {
    for (const Stored* stored : *plan.named) visit(*stored);
  } else if (plan.smallest != nullptr) {
    for (const Bucket* bucket : *plan.smallest) {
      for (const Stored* stored : bucket->rows) visit(*stored);
    }
  } else {
    for (const auto& stored : rows_) visit(*stored);
  }
}

bool Table::Matches(const Plan& plan, const Stored& stored) const {
  ++looked_at_;
  for (const std::vector<const Bucket*>& filter : plan.filters) {
    if (std::none_of(filter.begin(), filter.end(), [&stored](const Bucket* bucket) {
          return stored.places[bucket->slot].bucket == bucket->index;
        })) {
      return false;
    }
  }
  for (const Filter& prefix : plan.query->prefixes) {
    const std::string_view cell = CellOf(stored, prefix.field);
    if (std::none_of(prefix.cells.begin(), prefix.cells.end(),
                     [cell](const std::string& begin) { return cell.starts_with(begin); })) {
      return false;
    }
  }
  return plan.sight->Sees(stored.audience);
}

// The rows of the filter with the fewest that match, behind the cursor, in order; one more than the
// limit.
std::vector<const Table::Stored*> Table::Collect(const Plan& plan) const {
  const auto probe = [&plan](const Stored* stored) {
    return Probe{plan.order ? stored->keys[*plan.order] : 0, stored->id};
  };
  const bool descending = plan.query->descending;
  std::vector<const Stored*> rows;
  EachCandidate(plan, [&](const Stored& stored) {
    if (!Matches(plan, stored)) return;
    if (plan.after) {
      const Probe place = probe(&stored);
      if (descending ? place >= *plan.after : place <= *plan.after) return;
    }
    rows.push_back(&stored);
  });
  const std::size_t kept = std::min(rows.size(), plan.query->limit + 1);
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(kept), rows.end(),
                    [&](const Stored* a, const Stored* b) {
                      return descending ? probe(b) < probe(a) : probe(a) < probe(b);
                    });
  rows.resize(kept);
  return rows;
}

template <typename Rows>
std::vector<const Table::Stored*> Table::WalkIn(const Plan& plan, const Rows& rows) const {
  std::vector<const Stored*> found;
  const auto take = [&](const auto& each) {
    if (Matches(plan, *each)) found.push_back(&*each);
    return found.size() <= plan.query->limit;
  };
  const auto position = [&] {
    if constexpr (std::is_same_v<Rows, Order>) {
      return std::pair(rows.lower_bound(*plan.after), rows.upper_bound(*plan.after));
    } else {
      return std::pair(rows.lower_bound(plan.after->id), rows.upper_bound(plan.after->id));
    }
  };
  if (plan.query->descending) {
    auto at = plan.after ? position().first : rows.end();
    while (at != rows.begin() && take(*--at)) continue;
  } else {
    auto at = plan.after ? position().second : rows.begin();
    while (at != rows.end() && take(*at)) ++at;
  }
  return found;
}

std::vector<const Table::Stored*> Table::Walk(const Plan& plan) const {
  return plan.order ? WalkIn(plan, orders_[*plan.order]) : WalkIn(plan, rows_);
}

Table::Page Table::Read(const Query& query, const Sight& sight) const {
  looked_at_ = 0;
  const Plan plan = PlanOf(query, sight);
  const bool collects =
      plan.named || (plan.smallest != nullptr && plan.smallest_size <= kMostCollected);
  std::vector<const Stored*> rows = collects ? Collect(plan) : Walk(plan);
  Page page;
  if (rows.size() > query.limit) {
    rows.resize(query.limit);
    const Stored& last = *rows.back();
    page.next = PageCursor{query.order, plan.order ? last.keys[*plan.order] : 0, last.id};
  }
  page.count = rows.size();
  page.items = "[";
  for (const Stored* stored : rows) {
    if (page.items.size() > 1) page.items += ",";
    Append(*stored, query.fields, sight.everywhere, page.items);
  }
  page.items += "]";
  return page;
}

std::map<std::string_view, std::size_t> Table::CountByCell(const Plan& plan,
                                                           std::size_t slot) const {
  const Buckets& buckets = buckets_[slot];
  std::map<std::string_view, std::size_t> counts;
  const bool all_rows =
      plan.filters.empty() && plan.query->prefixes.empty() && plan.sight->everywhere;
  if (all_rows) {
    for (const auto& [cell, index] : buckets.index_by_cell) {
      counts[cell] = buckets.all[index]->rows.size();
    }
    return counts;
  }
  EachCandidate(plan, [&](const Stored& stored) {
    if (Matches(plan, stored)) ++counts[buckets.all[stored.places[slot].bucket]->cell];
  });
  return counts;
}

std::string Table::Count(const Query& query, const Sight& sight) const {
  looked_at_ = 0;
  std::string text = "[";
  for (const auto& [cell, count] : CountByCell(PlanOf(query, sight), slot_of_[*query.count_by])) {
    if (text.size() > 1) text += ",";
    text.append(R"({"value":)").append(cell).append(R"(,"count":)");
    text += std::to_string(count) + "}";
  }
  return text + "]";
}

std::optional<std::string> Table::CellOf(std::string_view id, std::string_view field) const {
  const auto found = rows_.find(id);
  if (found == rows_.end()) return std::nullopt;
  return std::string(CellOf(**found, *resource_.Find(field)));
}

std::optional<std::size_t> Table::CountBefore(const Query& query, std::string_view id) const {
  const Sight all{.everywhere = true, .namespaces = {}};
  const auto own = rows_.find(id);
  if (own == rows_.end() || CellOf(**own, *query.sort) == "null") return std::nullopt;
  const Plan plan = PlanOf(query, all);
  const Probe place{(*own)->keys[*plan.order], (*own)->id};
  std::size_t before = 0;
  EachCandidate(plan, [&](const Stored& stored) {
    if (Probe{stored.keys[*plan.order], stored.id} < place && Matches(plan, stored)) ++before;
  });
  return before;
}

std::optional<std::string> Table::ReadRow(std::string_view id, const Sight& sight) const {
  const auto found = rows_.find(id);
  if (found == rows_.end() || !sight.Sees((*found)->audience)) return std::nullopt;
  std::string text;
  Append(**found, {}, sight.everywhere, text);
  return text;
}

std::string Table::RowText(std::string_view id, const std::vector<std::size_t>& fields,
                           bool everywhere) const {
  std::string text;
  Append(**rows_.find(id), fields, everywhere, text);
  return text;
}

void Table::Append(const Stored& stored, const std::vector<std::size_t>& fields, bool everywhere,
                   std::string& text) const {
  text += "{\"id\":" + QuoteJson(stored.id);
  const auto append = [&](std::size_t i) {
    const Field& field = resource_.fields[i];
    if (field.readers == Readers::kCluster && !everywhere) return;
    text.append(",\"").append(field.name).append("\":").append(CellOf(stored, i));
  };
  if (fields.empty()) {
    for (std::size_t i = 0; i < resource_.fields.size(); ++i) append(i);
  } else {
    for (const std::size_t i : fields) append(i);
  }
  text += "}";
}

}  // namespace berth::readapi
