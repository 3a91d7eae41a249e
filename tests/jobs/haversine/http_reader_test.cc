// Goal: objects of a store are read correctly, and every unexpected answer ends in a clear error or
// a retry.
// Method: a server on loopback that changes some of its answers.
#include "jobs/haversine/http_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/haversine/source.h"
#include "tests/jobs/haversine/object_store.h"

namespace berth::haversine {
namespace {

using net::Request;
using net::Response;
using testing::EndsWith;
using testing::HasSubstr;

std::string ReadWhole(RangeReader& reader, std::size_t piece) {
  std::string object(reader.size(), '\0');
  for (std::size_t offset = 0; offset < object.size(); offset += piece) {
    const std::size_t size = std::min(piece, object.size() - offset);
    const Status status = reader.ReadAt(offset, {object.data() + offset, size});
    EXPECT_TRUE(status) << status.error().message;
    if (!status) return "";
  }
  return object;
}

// The error of opening, or else of reading the whole object.
Error ErrorOf(const ObjectStore& store, std::size_t size) {
  auto reader = OpenUrl(store.Url(), FastOptions());
  if (!reader) return reader.error();
  std::string bytes(size, '\0');
  const Status status = (*reader)->ReadAt(0, {bytes.data(), bytes.size()});
  return status ? Error{ErrorCode::kInternal, "no error"} : status.error();
}

TEST(HttpReader, ReadsRanges) {
  const std::string object = ObjectOf(300'000);
  const ObjectStore store(object);
  auto reader = OpenUrl(store.Url(), FastOptions());
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ((*reader)->size(), object.size());
  EXPECT_TRUE(ReadWhole(**reader, 70'000) == object);
  std::array<char, 3> bytes{};
  ASSERT_TRUE((*reader)->ReadAt(299'997, bytes));
  EXPECT_EQ(std::string(bytes.data(), 3), object.substr(299'997));

  const auto requests = store.requests();
  EXPECT_EQ(requests.size(), 7U);
  for (const Request& request : requests) {
    EXPECT_EQ(request.target, "/bucket/trips.csv?versionId=1");
    EXPECT_FALSE(request.headers.Has("Authorization"));
  }
  EXPECT_EQ(requests[1].headers.Find("Range"), "bytes=0-69999");
}

TEST(HttpReader, ReadsCsvWithSeveralRequestsAtATime) {
  std::string csv = "pickup_longitude,pickup_latitude,dropoff_longitude,dropoff_latitude\n";
  for (int row = 0; row < 5000; ++row) csv += "-74.0,40.5,-73." + std::to_string(row) + ",40.7\n";
  const ObjectStore store(csv);
  auto reader = OpenUrl(store.Url(), FastOptions());
  ASSERT_TRUE(reader);
  const auto source = OpenCsv(*std::move(reader), {4, 8192});
  ASSERT_TRUE(source);
  std::uint64_t rows = 0;
  Batch batch;
  while (*(*source)->Take(batch)) {
    batch.counts = {};
    ASSERT_TRUE((*source)->Decode(batch));
    rows += batch.counts.used;
  }
  EXPECT_EQ(rows, 5000U);
}

TEST(HttpReader, RetriesTemporaryStatuses) {
  for (const int status : {503, 500, 429, 408}) {
    const std::string object = ObjectOf(5000);
    ObjectStore store(object);
    store.set_fault([status](int nth, const Request&, Response right) {
      return nth == 1 || nth == 3 || nth == 4 ? Response{status, {}, "busy"} : right;
    });
    auto reader = OpenUrl(store.Url(), FastOptions());
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_TRUE(ReadWhole(**reader, 5000) == object) << status;
    EXPECT_EQ(store.request_count(), 5);
  }
}

TEST(HttpReader, ReturnsUnavailableAfterFourAttempts) {
  ObjectStore store(ObjectOf(5000));
  store.set_fault([](int, const Request&, const Response&) { return Response{503, {}, ""}; });
  const Error error = ErrorOf(store, 5000);
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_EQ(error.message, store.Url() + ": the server answered status 503 (4 attempts)");
  EXPECT_EQ(store.request_count(), 4);
}

TEST(HttpReader, RetryAfterBeyondTheDeadlineEndsTheReadAtOnce) {
  ObjectStore store(ObjectOf(5000));
  store.set_fault([](int, const Request&, const Response&) {
    return Response{503, {{"Retry-After", "120"}}, ""};
  });
  const Error error = ErrorOf(store, 5000);
  EXPECT_EQ(error.code, ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(error.message, EndsWith("status 503 (gave up after 20000 ms)"));
  EXPECT_EQ(store.request_count(), 1);
}

TEST(HttpReader, ShorterRangesThanAskedForAreContinued) {
  const std::string object = ObjectOf(5000);
  ObjectStore store(object);
  store.set_fault([&](int nth, const Request& request, Response right) {
    if (nth == 1) return right;
    const auto first = right.headers.Find("Content-Range").substr(6);
    const std::string start(first.substr(0, first.find('-')));
    const std::size_t offset = std::stoul(start);
    const std::size_t size = std::min<std::size_t>(1000, object.size() - offset);
    EXPECT_TRUE(request.headers.Find("Range").ends_with("-4999"));
    right.headers.Set("Content-Range",
                      "bytes " + start + "-" + std::to_string(offset + size - 1) + "/5000");
    right.body.resize(size);
    return right;
  });
  auto reader = OpenUrl(store.Url(), FastOptions());
  ASSERT_TRUE(reader);
  EXPECT_TRUE(ReadWhole(**reader, 5000) == object);
  EXPECT_EQ(store.request_count(), 6);
}

struct WrongAnswer {
  std::string name;
  // Changes the answer to every request but the first.
  std::function<Response(Response right)> change;
  ErrorCode code;
  std::string message;
};

TEST(HttpReader, WrongAnswersAreRefusedWithoutRetry) {
  const auto with_range = [](const std::string& range) {
    return [range](Response right) {
      right.headers.Set("Content-Range", range);
      return right;
    };
  };
  const auto with_status = [](int status) {
    return [status](const Response&) { return Response{status, {}, ""}; };
  };
  const std::vector<WrongAnswer> rows = {
      {"another range", with_range("bytes 1-4999/5000"), ErrorCode::kInvalid,
       "bytes 0-4999 were asked for, and the server answered Content-Range \"bytes 1-4999/5000\""},
      {"garbage", with_range("bytes what"), ErrorCode::kInvalid, "Content-Range \"bytes what\""},
      {"a longer range", with_range("bytes 0-5001/6000"), ErrorCode::kInvalid, "were asked for"},
      {"another size", with_range("bytes 0-4999/6000"), ErrorCode::kInvalid,
       "changed while it was read: it was 5000 bytes with entity tag \"v1\", it is 6000 bytes"},
      {"another version",
       [](Response right) {
         right.headers.Set("ETag", "\"v2\"");
         return right;
       },
       ErrorCode::kInvalid, "it is 5000 bytes with entity tag \"v2\""},
      {"the whole object",
       [](const Response& right) {
         return Response{200, {}, right.body};
       },
       ErrorCode::kInvalid, "the server ignored the range"},
      {"gone", with_status(404), ErrorCode::kNotFound, "status 404"},
      {"forbidden", with_status(403), ErrorCode::kForbidden,
       "status 403: the object must be readable without credentials"},
      {"shorter now", with_status(416), ErrorCode::kInvalid, "became shorter"},
      {"odd", with_status(418), ErrorCode::kInvalid, "status 418"},
      {"elsewhere",
       [](const Response&) {
         return Response{302, {{"Location", "http://other/trips.csv"}}, ""};
       },
       ErrorCode::kInvalid,
       "redirects are not followed; use the final URL: http://other/trips.csv"},
  };
  for (const WrongAnswer& row : rows) {
    ObjectStore store(ObjectOf(5000));
    store.set_fault([&row](int nth, const Request&, Response right) {
      return nth == 1 ? right : row.change(std::move(right));
    });
    const Error error = ErrorOf(store, 5000);
    EXPECT_EQ(error.code, row.code) << row.name;
    EXPECT_THAT(error.message, HasSubstr(row.message)) << row.name;
    EXPECT_THAT(error.message, testing::StartsWith(store.Url())) << row.name;
    EXPECT_EQ(store.request_count(), 2) << row.name;
  }
}

TEST(HttpReader, AServerWithoutRangesIsReadWholeUpToALimit) {
  const auto without_ranges = [](const std::string& object) {
    return [&object](int, const Request&, const Response&) { return Response{200, {}, object}; };
  };
  const std::string small = ObjectOf(100'000);
  ObjectStore store(small);
  store.set_fault(without_ranges(small));
  auto reader = OpenUrl(store.Url(), FastOptions());
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_TRUE(ReadWhole(**reader, 30'000) == small);
  EXPECT_EQ(store.request_count(), 2);

  const std::string large = ObjectOf((1 << 20) + 1);
  ObjectStore large_store(large);
  large_store.set_fault(without_ranges(large));
  const auto refused = OpenUrl(large_store.Url(), FastOptions());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            large_store.Url() +
                ": 1048577 bytes: the server does not serve ranges, and without them at most 1 MiB "
                "are read; copy it to a store that does, or to a file");
  EXPECT_EQ(large_store.request_count(), 1);
}

TEST(HttpReader, RefusesAnEmptyObject) {
  const ObjectStore store("");
  const auto reader = OpenUrl(store.Url(), FastOptions());
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().message, store.Url() + ": is empty");
}

TEST(HttpReader, RefusesUrlsWithCredentialsOrWithoutHost) {
  EXPECT_TRUE(IsUrl("https://a/b"));
  EXPECT_FALSE(IsUrl("a/http://b"));
  const auto password = OpenUrl("http://me:secret@127.0.0.1/x", FastOptions());
  ASSERT_FALSE(password);
  EXPECT_THAT(password.error().message, HasSubstr("may not carry a user name or password"));
  EXPECT_FALSE(OpenUrl("http://", FastOptions()));
  EXPECT_FALSE(OpenUrl("http://a b/", FastOptions()));
}

TEST(HttpReader, ReturnsUnavailableWhereNoServerListens) {
  std::string url;
  {
    const ObjectStore gone("x");
    url = gone.Url();
  }
  const auto reader = OpenUrl(url, FastOptions());
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(reader.error().message, EndsWith("(4 attempts)"));
}

}  // namespace
}  // namespace berth::haversine
