#include <utility>

#include "net/internal/client_pool.h"

namespace berth::net {

StreamCall::StreamCall(std::shared_ptr<ClientPool> pool, std::string name, Duration silence,
                       StreamCallbacks callbacks)
    : pool_(std::move(pool)),
      strand_(pool_->io_pool()),
      name_(std::move(name)),
      silence_(silence),
      callbacks_(std::move(callbacks)),
      deadline_(std::make_unique<Deadline>(strand_, [this] { OnDeadline(); })) {}

void StreamCall::OnDeadline() {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(silence_).count();
  Finish(Error{ErrorCode::kDeadlineExceeded,
               name_ + ": nothing came for " + std::to_string(milliseconds) + " ms"});
}

void StreamCall::Start(Result<std::shared_ptr<const WireRequest>> request) {
  strand_.Post([self = shared_from_this(), request = std::move(request)] {
    if (self->is_finished_) return;
    if (!request) {
      self->Finish(Annotate(request.error(), self->name_));
      return;
    }
    self->deadline_->SetAfter(self->silence_);
    self->connection_ = std::make_shared<ClientConnection>(self->strand_, self->pool_->target());
    self->connection_->Run(*request, self);
  });
}

void StreamCall::Cancel() {
  is_cancelled_ = true;
  strand_.Post([self = shared_from_this()] { self->Finish(OkStatus()); });
}

void StreamCall::Stop(const std::string& why) {
  strand_.Post([self = shared_from_this(), why] {
    self->Finish(Error{ErrorCode::kUnavailable, self->name_ + ": " + why});
  });
}

void StreamCall::OnHead(int status, Headers headers) {
  deadline_->SetAfter(silence_);
  if (!is_cancelled_ && callbacks_.on_head) callbacks_.on_head(status, headers);
}

void StreamCall::OnBody(std::string_view piece) {
  deadline_->SetAfter(silence_);
  if (!is_cancelled_ && callbacks_.on_data) callbacks_.on_data(piece);
}

void StreamCall::OnEnd(const ExchangeEnd& end) {
  if (end.error) {
    Finish(Annotate(*end.error, name_));
  } else {
    Finish(OkStatus());
  }
}

void StreamCall::Finish(Status status) {
  if (is_finished_) return;
  is_finished_ = true;
  const auto self = shared_from_this();
  deadline_.reset();
  if (const auto connection = std::exchange(connection_, nullptr)) connection->Abort();
  const StreamCallbacks callbacks = std::exchange(callbacks_, {});
  if (!is_cancelled_ && callbacks.on_end) callbacks.on_end(std::move(status));
  pool_->RemoveStream(this);
}

}  // namespace berth::net
