#include "data/eeg/sleep.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <tuple>

#include "base/error.h"
#include "base/names.h"
#include "base/random.h"

namespace darope {
namespace {

constexpr double kMargin = 30 * 60;                    // seconds
constexpr size_t kMostGroups = 8, kFewestInGroup = 3;  // one for each split
constexpr int64_t kSubjects = 78, kNights = 153, kValidationNights = 15, kTestNights = 16;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_sleep(std::string_view text) {
  static constexpr std::array<std::string_view, 5> kStages = {"1", "2", "3", "4", "R"};
  constexpr std::string_view kStage = "Sleep stage ";
  return text.starts_with(kStage) &&
         std::find(kStages.begin(), kStages.end(), text.substr(kStage.size())) != kStages.end();
}

int64_t nights_of(const std::vector<Subject>& subjects, const std::vector<int64_t>& ids) {
  int64_t sum = 0;
  for (const Subject& each : subjects)
    sum += std::find(ids.begin(), ids.end(), each.id) != ids.end() ? each.nights : 0;
  return sum;
}

SubjectSplit draw(const std::vector<Subject>& by_age, uint64_t seed) {
  const size_t groups = std::min(kMostGroups, by_age.size() / kFewestInGroup);
  SubjectSplit out{.validation = {}, .test = {}, .seed = seed};
  Random random(seed, "prepare/sleep-edf");
  for (size_t group = 0; group < groups; ++group) {
    const size_t first = by_age.size() * group / groups, count = by_age.size() * (group + 1) / groups - first;
    const size_t test = random.below(count), other = random.below(count - 1);
    out.test.push_back(by_age[first + test].id);
    out.validation.push_back(by_age[first + other + (other >= test ? 1 : 0)].id);
  }
  std::sort(out.test.begin(), out.test.end());
  std::sort(out.validation.begin(), out.validation.end());
  return out;
}

}  // namespace

std::optional<Night> night_of(std::string_view name) {
  const bool named = name.size() >= 8 && name.starts_with("SC4") && is_digit(name[3]) && is_digit(name[4]);
  if (!named || (name[5] != '1' && name[5] != '2')) return std::nullopt;
  return Night{(name[3] - '0') * 10 + (name[4] - '0'), name[5] - '0'};
}

int64_t age_of(std::string_view patient) {
  const size_t end = patient.rfind("yr");
  size_t begin = end;
  while (end != std::string_view::npos && begin > 0 && is_digit(patient[begin - 1])) --begin;
  int64_t age = 0;
  if (end == std::string_view::npos ||
      std::from_chars(patient.data() + begin, patient.data() + end, age).ec != std::errc())
    throw Error(
        fmt::format("no age in the patient field {}: it should end as in Female_33yr", shown(patient)));
  return age;
}

std::pair<int64_t, int64_t> sleep_range(const std::vector<EdfAnnotation>& hypnogram, int64_t rate,
                                        int64_t samples) {
  double begin = INFINITY, end = -INFINITY;
  for (const EdfAnnotation& each : hypnogram) {
    if (!is_sleep(each.text)) continue;
    begin = std::min(begin, each.onset);
    end = std::max(end, each.onset + each.duration);
  }
  if (begin > end) throw Error("the hypnogram has no sleep stage 1 to 4 or R");
  const auto sample = [&](double seconds) {
    return int64_t(std::clamp(std::round(seconds * double(rate)), 0.0, double(samples)));
  };
  return {sample(begin - kMargin), sample(end + kMargin)};
}

SubjectSplit split_by_age(std::vector<Subject> subjects, uint64_t seed) {
  if (subjects.size() < kFewestInGroup)
    throw Error(fmt::format("{} subjects are too few for three splits: give at least {}", subjects.size(),
                            kFewestInGroup));
  const auto younger = [](const Subject& a, const Subject& b) {
    return std::tie(a.age, a.id) < std::tie(b.age, b.id);
  };
  std::sort(subjects.begin(), subjects.end(), younger);
  int64_t nights = 0;
  for (const Subject& each : subjects) nights += each.nights;
  const bool whole = int64_t(subjects.size()) == kSubjects && nights == kNights;
  for (;; ++seed) {
    const SubjectSplit split = draw(subjects, seed);
    const bool as_published = nights_of(subjects, split.validation) == kValidationNights &&
                              nights_of(subjects, split.test) == kTestNights;
    if (!whole || as_published) return split;
  }
}

}  // namespace darope
