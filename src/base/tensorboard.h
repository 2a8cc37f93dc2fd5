#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/files.h"

namespace darope {

using Scalars = std::vector<std::pair<std::string, double>>;
using HParam = std::variant<double, bool, std::string>;
enum class SessionStatus { kSuccess = 1, kFailure = 2, kRunning = 3 };

// The messages of an event file, as bytes of protocol buffers. Pure, so that tests can hold them against
// known bytes.
namespace events {
std::string file_version(double wall_time);
std::string scalars(double wall_time, int64_t step, const Scalars& values);
std::string session_start(double wall_time, int64_t step);
std::string hparams_start(double wall_time, const std::map<std::string, HParam>& hparams,
                          const std::string& group);
std::string hparams_end(double wall_time, SessionStatus status);
std::string record(std::string_view event);  // length and checksums around an event
uint32_t masked_crc32c(std::string_view bytes);
}  // namespace events

// A new file of TensorBoard events in a run's folder; its name sorts behind those that are there, as readers
// expect. A run that resumes from a step says so, and readers then drop the later points of the life before.
class EventFile {
 public:
  explicit EventFile(const std::filesystem::path& folder, std::optional<int64_t> resumed_from = std::nullopt);
  void scalars(int64_t step, const Scalars& values);
  // Runs of one group (the seeds of one encoding) are averaged by TensorBoard's HParams page.
  void hparams_start(const std::map<std::string, HParam>& hparams, const std::string& group);
  void hparams_end(SessionStatus status);

 private:
  void add(const std::string& event) { file_.append(events::record(event)); }
  AppendFile file_;
};

}  // namespace darope
