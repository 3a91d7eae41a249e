// readapi/model.h — the read model of /api/v1: a table per resource and the feed of their changes.
//
//     Put, Remove ─▶ Table ─ what differs ─▶ Feed
//     ReadPage, ReadRow, ReadChanges ◀─ Query, Sight
//
// Answers are JSON texts. A page is {"items": […], "next": "…", "revision": "…"}: `next` is the
// cursor of the next page, `revision` the position in the change feed from which a client that has
// listed everything misses no change. If the query has countBy, the page has `counts` in place of
// rows.
//
// Threads: one at a time. Errors: as query.h.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "readapi/feed.h"
#include "readapi/table.h"

namespace berth::readapi {

class Model {
 public:
  // `epoch` distinguishes the lives of the process: letters and digits, 32 at most.
  explicit Model(std::string epoch, Feed::Options options = {});

  // Put and Remove return whether anything differs.
  bool Put(std::size_t resource, Row row);
  bool Remove(std::size_t resource, std::string_view id);

  struct PageText {
    std::string body;
    std::string etag;  // names the items, with its quotes
  };
  // Made once for all callers with the same query and sight, until the next change.
  PageText ReadPage(std::size_t resource, const Query& query, const Sight& sight) const;
  std::optional<std::string> ReadRow(std::size_t resource, std::string_view id,
                                     const Sight& sight) const {
    return tables_[resource]->ReadRow(id, sight);
  }

  const Feed& feed() const { return feed_; }
  const Table& table(std::size_t resource) const { return *tables_[resource]; }

 private:
  // The inputs of a page.
  struct PageKey {
    std::size_t resource = 0;
    Query query;
    Sight sight;
    friend auto operator<=>(const PageKey&, const PageKey&) = default;
  };

  void Tell(std::size_t resource, const RowChange& row);
  PageText MakePage(std::size_t resource, const Query& query, const Sight& sight) const;

  std::vector<std::unique_ptr<Table>> tables_;
  Feed feed_;
  // Pages of the revision `kept_at_`, kMostKeptBytes of bodies at most.
  mutable std::map<PageKey, PageText> kept_;
  mutable std::uint64_t kept_at_ = 0;
  mutable std::size_t kept_bytes_ = 0;
};

// The tag of an answer: equal bodies have equal tags.
std::string EntityTag(std::string_view body);

}  // namespace berth::readapi
