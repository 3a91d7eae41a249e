// readapi/model.h — the read model of /api/v1: a table per resource and the feed of their changes.
//
//     Put, Remove ─▶ Table ─ what differs ─▶ Feed
//     ReadPage, ReadRow, ReadChanges ◀─ Query, Sight
//
// Answers are JSON texts. A page is {"items": […], "next": "…", "revision": "…"}: `next` is the
// cursor of the next page, `revision` the position in the change feed from which a client that has
// listed everything misses no change. With countBy it has `counts` in place of rows.
//
// Threads: one at a time. Errors: as query.h.
#pragma once

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

  // Whether anything differs.
  bool Put(std::size_t resource, Row row);
  bool Remove(std::size_t resource, std::string_view id);

  struct PageText {
    std::string body;
    std::string etag;  // of the items, with its quotes
  };
  PageText ReadPage(std::size_t resource, const Query& query, const Sight& sight) const;
  std::optional<std::string> ReadRow(std::size_t resource, std::string_view id,
                                     const Sight& sight) const {
    return tables_[resource]->ReadRow(id, sight);
  }

  const Feed& feed() const { return feed_; }
  const Table& table(std::size_t resource) const { return *tables_[resource]; }

 private:
  void Tell(std::size_t resource, const RowChange& row);

  std::vector<std::unique_ptr<Table>> tables_;
  Feed feed_;
};

// The tag of an answer: equal bodies have equal tags.
std::string EntityTag(std::string_view body);

}  // namespace berth::readapi
