// readapi/controller/page_files.h — the files of the page (dashboard/), which the program carries.
//
//     path ─▶ a file of its own, or the document for the address of a view ─▶ 200, 304, 404
//
// The files have no secrets: every client gets them, and the page reads the data that it shows from
// /api/v1. The policy in the headers allows scripts, styles and requests of this server alone, none
// of them inline.
//
// Threads: immutable; any thread. Errors: answers.
#pragma once

#include <string_view>
#include <vector>

#include "net/http.h"

namespace berth::readapi {

struct PageFile {
  std::string_view path;  // "/assets/page.js"; the document: "/"
  std::string_view content_type;
  std::string_view body;
  std::string_view gzip;  // the body, compressed; empty: there is no compressed body
  // Further addresses of the document, each with all addresses below it
  // (dashboard/src/routes.json).
  std::vector<std::string_view> views = {};
};

class PageFiles {
 public:
  // The texts must outlive the object.
  explicit PageFiles(std::vector<PageFile> files) : files_(std::move(files)) {}

  // The answer for `path`, which is the target of `request` without the query.
  net::Response Read(std::string_view path, const net::Request& request) const;

 private:
  const PageFile* Find(std::string_view path) const;  // null: no file has the address

  const std::vector<PageFile> files_;
};

}  // namespace berth::readapi
