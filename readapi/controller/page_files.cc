#include "readapi/controller/page_files.h"

#include <algorithm>
#include <string>

#include "base/strings.h"
#include "net/compression.h"
#include "readapi/controller/sight_reviews.h"
#include "readapi/model.h"

namespace berth::readapi {
namespace {

constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

bool Serves(const PageFile& file, std::string_view path) {
  return path == file.path ||
         std::any_of(file.views.begin(), file.views.end(), [path](std::string_view view) {
           return path == view || (path.starts_with(view) && path[view.size()] == '/');
         });
}

bool Names(std::string_view header, const std::string& tag) {
  const std::vector<std::string_view> tags = Split(header, ',');
  return std::any_of(tags.begin(), tags.end(),
                     [&tag](std::string_view each) { return TrimSpace(each) == tag; });
}

}  // namespace

const PageFile* PageFiles::Find(std::string_view path) const {
  const auto found = std::find_if(files_.begin(), files_.end(),
                                  [path](const PageFile& file) { return Serves(file, path); });
  return found == files_.end() ? nullptr : &*found;
}

net::Response PageFiles::Read(std::string_view path, const net::Request& request) const {
  const PageFile* file = Find(path);
  if (file == nullptr) return Problem(404, "no such page");
  const bool compressed =
      !file->gzip.empty() && net::AcceptsGzip(request.headers.Find("Accept-Encoding"));
  const std::string_view body = compressed ? file->gzip : file->body;
  const std::string tag = EntityTag(body);
  const bool is_known = Names(request.headers.Find("If-None-Match"), tag);
  net::Response response = Answer(is_known ? 304 : 200, std::string(file->content_type),
                                  is_known ? "" : std::string(body));
  response.headers.Set("Content-Security-Policy", kPolicy);
  response.headers.Set("Vary", "Accept-Encoding");
  response.headers.Add("ETag", tag);
  response.headers.Add("Referrer-Policy", "no-referrer");
  response.headers.Add("Cross-Origin-Opener-Policy", "same-origin");
  if (compressed) response.headers.Add("Content-Encoding", "gzip");
  return response;
}

}  // namespace berth::readapi
