#include "train/ahead.h"

namespace darope {

Ahead::Ahead(const TrainStream& stream, int64_t first, int64_t end)
    : thread_([this, &stream, first, end](const std::stop_token& stop) { make(stop, stream, first, end); }) {}

void Ahead::make(const std::stop_token& stop, const TrainStream& stream, int64_t first, int64_t end) {
  try {
    for (int64_t i = first; i < end; ++i) {
      Batch batch = stream.at(i);
      std::unique_lock lock(mutex_);
      if (!room_.wait(lock, stop, [&] { return made_.size() < kAhead; })) return;
      made_.push_back(std::move(batch));
      there_.notify_one();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    problem_ = std::current_exception();
    there_.notify_one();
  }
}

Batch Ahead::next() {
  std::unique_lock lock(mutex_);
  there_.wait(lock, [&] { return !made_.empty() || problem_; });
  if (made_.empty()) std::rethrow_exception(problem_);
  Batch batch = std::move(made_.front());
  made_.pop_front();
  room_.notify_one();
  return batch;
}

}  // namespace darope
