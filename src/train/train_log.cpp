#include "train/train_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace darope {
namespace {

std::string now_in_utc() {
  return fmt::format("{:%FT%TZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

// A run that was killed before its first checkpoint has written lines too, and begins again.
std::optional<int64_t> if_begun(const RunFolder& folder, int64_t step) {
  return std::filesystem::exists(folder.metrics()) ? std::optional(step) : std::nullopt;
}

std::filesystem::path made(const RunFolder& run, const std::filesystem::path& folder) {
  make_directories_in(run.path(), folder);
  return folder;
}

}  // namespace

// The metrics come last: that they are there is how a life knows of one before it.
TrainLog::TrainLog(const RunFolder& folder, int64_t steps, int64_t first_step, bool validation_due)
    : validations_(folder.validations(), if_begun(folder, validation_due ? first_step - 1 : first_step)),
      events_(made(folder, folder.tensorboard()), if_begun(folder, first_step)),
      text_(folder.log()),
      progress_("step", steps, first_step),
      metrics_(folder.metrics(), if_begun(folder, first_step)) {
  say(fmt::format("{} at step {} of {}", first_step ? "resumed" : "begun", first_step, steps));
}

void TrainLog::step(int64_t step, const Scalars& scalars, int64_t tokens, const std::string& words) {
  nlohmann::ordered_json line{{"global_step", step}, {"acc_step", 0}};
  for (const auto& [key, value] : scalars) line[key] = value;
  line["optim/total_tokens"] = tokens;
  line["created_at"] = now_in_utc();
  metrics_.write(line);
  events_.scalars(step, scalars);
  say(fmt::format("step: {}  {}", step, words));
  progress_.show(step, words);
}

void TrainLog::validation(int64_t step, double loss) {
  validations_.write({{"global_step", step}, {"loss/validation", loss}, {"created_at", now_in_utc()}});
  events_.scalars(step, {{"loss/validation", loss}});
  say(fmt::format("step: {}  validation: {:.4f}", step, loss));
}

void TrainLog::say(const std::string& words) { text_.append(fmt::format("{}  {}\n", now_in_utc(), words)); }

void TrainLog::sync() {
  metrics_.sync();
  validations_.sync();
}

}  // namespace darope
