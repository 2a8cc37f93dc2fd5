#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/eeg/edf.h"

namespace darope {

// What Sleep-EDF's cassette recordings need beyond EDF. Their names: SC4ssNEO-PSG.edf and
// SC4ssN??-Hypnogram.edf, subject ss, night N.
struct Night {
  int64_t subject, number;
};
std::optional<Night> night_of(std::string_view file_name);  // none: no cassette recording's name

int64_t age_of(std::string_view patient);  // "X F X Female_33yr"; an Error where there is none

// The samples from half an hour before the first sleep stage (1 2 3 4 R) to half an hour after the last, as
// far as there are any.
std::pair<int64_t, int64_t> sleep_range(const std::vector<EdfAnnotation>& hypnogram, int64_t rate,
                                        int64_t samples);

struct Subject {
  int64_t id, age, nights;
};
struct SubjectSplit {
  std::vector<int64_t> validation, test;  // ids, rising; all others train
  uint64_t seed;                          // that drew them
};

// Subjects by age (then id) in eight groups of neighbours (fewer where a group would have under three); each
// group gives one to validation and one to test, drawn by the seed. With all 78 subjects and 153 nights it is
// the first seed from the given one on that leaves validation 15 and test 16 nights, as in the paper.
SubjectSplit split_by_age(std::vector<Subject> subjects, uint64_t seed);

}  // namespace darope
