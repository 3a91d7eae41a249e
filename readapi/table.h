// readapi/table.h — the rows of one resource, with indices: the cost of a page is the rows that it
// shows, the cost of a change is the fields that changed.
//
//     Put(row) ─▶ Stored { id, text of its cells, places in buckets, keys of orders }
//                    ├─ buckets   per filter and value: the rows with the value
//                    ├─ orders    per sortable field: the rows by key, then id
//                    ├─ names     per field of Use::kPrefix: the rows by the cell, then id
//                    └─ rows      by id
//
// A page with filters takes the smallest set of rows that one filter names: a small set is
// collected and ordered, a large one is walked in the order of the list, where every few rows
// match. In the worst case (a large filter whose rows are all at the far end) a page looks at every
// row once.
//
// Sight: a row has an audience, the namespaces whose readers may see it. A caller without the right
// in all namespaces gets rows of their own audience alone, without fields of Readers::kCluster. The
// cursor of a page is its last row, hence never a row that the caller may not see.
//
// Threads: one at a time. Errors: none; the input is checked by query.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "readapi/query.h"
#include "readapi/schema.h"

namespace berth::readapi {

// Sorted namespaces; shared by rows with the same ones. Null: no namespace.
using Audience = std::shared_ptr<const std::vector<std::string>>;

struct Sight {
  bool everywhere = false;
  std::vector<std::string> namespaces;  // sorted

  bool Sees(const Audience& audience) const;
  friend auto operator<=>(const Sight&, const Sight&) = default;
};

struct Row {
  std::string id;                  // "namespace/name", or a name
  std::vector<std::string> cells;  // JSON texts, one per field of the resource
  Audience audience;
};

// The change that Put or Remove has made.
struct RowChange {
  std::string id;
  Audience before;  // null: the row is new
  Audience after;   // null: the row is gone
  bool is_new = false;
  bool is_gone = false;
  std::vector<std::size_t> fields;  // the fields whose cells differ; a new row: all
};

class Table {
 public:
  explicit Table(const Resource& resource);
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  // nullopt: nothing differs.
  std::optional<RowChange> Put(Row row);
  std::optional<RowChange> Remove(std::string_view id);

  struct Page {
    std::string items;  // a JSON array
    std::size_t count = 0;
    std::optional<PageCursor> next;  // nullopt: the list ends here
  };
  Page Read(const Query& query, const Sight& sight) const;
  // A JSON array of {"value", "count"}: the rows of the filters by the values of query.count_by, in
  // the order of the values. A count of all rows costs the number of values.
  std::string Count(const Query& query, const Sight& sight) const;
  // The row as a JSON object; nullopt: no such row that the caller may see.
  std::optional<std::string> ReadRow(std::string_view id, const Sight& sight) const;
  // The cell of the row as JSON text; nullopt: no such row. The field exists.
  std::optional<std::string> CellOf(std::string_view id, std::string_view field) const;
  // The number of rows of the filters that stand before the row in the order of query.sort;
  // nullopt: there is no such row, or its own cell is null. Costs the rows of the smallest filter.
  std::optional<std::size_t> CountBefore(const Query& query, std::string_view id) const;
  // {"id":…, and the fields}; empty `fields`: all. Fields of Readers::kCluster are left out unless
  // `everywhere`. The row exists.
  std::string RowText(std::string_view id, const std::vector<std::size_t>& fields,
                      bool everywhere) const;

  std::size_t size() const { return rows_.size(); }
  // Rows that the last Read looked at; for tests of its cost.
  std::size_t looked_at() const { return looked_at_; }

 private:
  struct Place {
    std::uint32_t bucket = 0;    // index in Buckets::all
    std::uint32_t position = 0;  // the place of the row in the bucket
  };

  struct Stored {
    std::string id;
    std::string text;                       // the cells without bucket, one behind the other
    std::unique_ptr<std::uint32_t[]> ends;  // NOLINT(modernize-avoid-c-arrays): of each such cell
    std::unique_ptr<Place[]> places;        // NOLINT(modernize-avoid-c-arrays): one a shared field
    std::unique_ptr<std::int64_t[]> keys;   // NOLINT(modernize-avoid-c-arrays): one a sort field
    Audience audience;
  };

  struct Bucket {
    std::string cell;
    std::size_t slot = 0;  // the slot of the shared field
    std::uint32_t index = 0;
    std::vector<Stored*> rows;
  };

  // The buckets of one shared field.
  struct Buckets {
    std::map<std::string, std::uint32_t> index_by_cell;
    std::vector<std::unique_ptr<Bucket>> all;
    std::vector<std::uint32_t> unused;
  };

  // A position in an order: a row, or a cursor.
  struct Probe {
    std::int64_t key = 0;
    std::string_view id;
    friend auto operator<=>(const Probe&, const Probe&) = default;
  };

  struct ById {
    using is_transparent = void;
    bool operator()(const std::unique_ptr<Stored>& a, const std::unique_ptr<Stored>& b) const {
      return a->id < b->id;
    }
    bool operator()(const std::unique_ptr<Stored>& a, std::string_view b) const {
      return a->id < b;
    }
    bool operator()(std::string_view a, const std::unique_ptr<Stored>& b) const {
      return a < b->id;
    }
  };

  struct ByKey {
    using is_transparent = void;
    std::size_t order = 0;
    Probe Of(const Stored* stored) const { return {stored->keys[order], stored->id}; }
    bool operator()(const Stored* a, const Stored* b) const { return Of(a) < Of(b); }
    bool operator()(const Stored* a, const Probe& b) const { return Of(a) < b; }
    bool operator()(const Probe& a, const Stored* b) const { return a < Of(b); }
  };
  // Orders rows by the text of one cell, then by the id.
  struct ByCell {
    using is_transparent = void;
    const Table* table = nullptr;
    std::size_t field = 0;
    std::string_view Of(const Stored* stored) const { return table->CellOf(*stored, field); }
    bool operator()(const Stored* a, const Stored* b) const {
      const int order = Of(a).compare(Of(b));
      return order != 0 ? order < 0 : a->id < b->id;
    }
    bool operator()(const Stored* a, std::string_view b) const { return Of(a) < b; }
    bool operator()(std::string_view a, const Stored* b) const { return a < Of(b); }
  };
  struct Plan;
  using Names = std::set<const Stored*, ByCell>;
  using Order = std::set<const Stored*, ByKey>;

  Bucket& BucketOf(std::size_t slot, const std::string& cell);
  void Enter(Stored& stored, std::size_t slot, Bucket& bucket);
  void Leave(const Stored& stored, std::size_t slot);
  std::string_view CellOf(const Stored& stored, std::size_t field) const;
  void Fill(Stored& stored, Row&& row);
  void Unlink(Stored& stored);
  Plan PlanOf(const Query& query, const Sight& sight) const;
  void FindNamed(Plan& plan) const;
  bool Matches(const Plan& plan, const Stored& stored) const;
  template <typename Visit>
  void EachCandidate(const Plan& plan, Visit visit) const;
  std::vector<const Stored*> Collect(const Plan& plan) const;
  std::vector<const Stored*> Walk(const Plan& plan) const;
  std::map<std::string_view, std::size_t> CountByCell(const Plan& plan, std::size_t slot) const;
  template <typename Rows>
  std::vector<const Stored*> WalkIn(const Plan& plan, const Rows& rows) const;
  void Append(const Stored& stored, const std::vector<std::size_t>& fields, bool everywhere,
              std::string& text) const;

  const Resource& resource_;
  std::vector<std::size_t> shared_fields_;  // the fields with buckets
  std::vector<std::size_t> slot_of_;        // field → place among the shared, or among the others
  std::vector<std::size_t> sort_fields_;
  std::set<std::unique_ptr<Stored>, ById> rows_;
  std::vector<Order> orders_;     // per sort field
  std::vector<Buckets> buckets_;  // per shared field
  std::vector<Names> names_;      // per field of Use::kPrefix
  mutable std::size_t looked_at_ = 0;
};

}  // namespace berth::readapi
