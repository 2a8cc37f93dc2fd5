#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "data/dataset.h"

namespace darope {

// The batches [first, end) of a stream, made in their order on a thread of its own while others are in use.
// They follow from their index alone, so that nothing depends on when one is made.
class Ahead {
 public:
  Ahead(const TrainStream& stream, int64_t first, int64_t end);
  Batch next();  // of the stream's failure to make a batch, what it threw, in that batch's place

 private:
  void make(const std::stop_token& stop, const TrainStream& stream, int64_t first, int64_t end);

  static constexpr size_t kAhead = 4;  // enough for a batch that takes several steps' time
  std::mutex mutex_;
  std::condition_variable_any room_, there_;
  std::deque<Batch> made_;
  std::exception_ptr problem_;
  std::jthread thread_;  // the last member, so that it ends before what it works on
};

}  // namespace darope
