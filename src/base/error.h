#pragma once
#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>

namespace darope {

// Exit codes of the command line, one meaning each (documented in docs/cli.md).
enum ExitCode : int {
  kDone = 0,
  kFailed = 1,       // a runtime failure
  kUsage = 2,        // bad arguments, config or input
  kCheckFailed = 3,  // a verification said no
  kNonFinite = 4,    // training stopped on a non-finite value, or scores are not finite
  kBusy = 5,         // another process is at work there
  kPreempted = 75,   // saved on request, resumable
  kInterrupted = 130,
};

// An error a person can act on: one sentence that says what, where, and what would be right.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& sentence, ExitCode code = kUsage)
      : std::runtime_error(sentence), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

inline bool is_out_of_memory(const std::exception& e) {
  const std::string what = e.what();
  return dynamic_cast<const std::bad_alloc*>(&e) || dynamic_cast<const std::length_error*>(&e) ||
         what.find("DefaultCPUAllocator: ") != what.npos || what.find("CUDA out of memory") != what.npos;
}

// What an exception says. Torch puts the stack behind its sentence; people need the sentence.
inline std::string message_of(const std::exception& e) {
  const std::string what = e.what();
  if (is_out_of_memory(e))
    return "there is not enough memory for this: make the model, the batch (data.batch_size, data.seq_len) "
           "or "
           "the number of examples (data.test_examples) smaller";
  return what.substr(0, std::min(what.find("\nException raised from"), what.find("\nframe #0")));
}

}  // namespace darope
