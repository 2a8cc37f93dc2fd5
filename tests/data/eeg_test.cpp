#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "base/random.h"
#include "data/bad_input.h"
#include "data/eeg/edf.h"
#include "data/eeg/quantize.h"
#include "data/eeg/sleep.h"
#include "edf_writer.h"
#include "scratch.h"

namespace darope {
namespace {

std::vector<int16_t> noise(size_t count, uint64_t seed, double width = 300) {
  Random random(seed, "test");
  std::vector<int16_t> out(count);
  for (int16_t& x : out) x = int16_t(std::lround(width * random.normal()));
  return out;
}

EdfToWrite two_signals() {
  return {.signals = {{.label = "EEG Fpz-Cz", .samples = 100, .values = noise(500, 1)},
                      {.label = "Temp rectal", .samples = 1, .values = {1, 2, 3, 4, 5}}}};
}

EdfFile open(const std::string& bytes) { return EdfFile(std::as_bytes(std::span(bytes))); }

std::string refusal(const std::string& bytes) {
  try {
    open(bytes).annotations();
  } catch (const BadInput& e) {
    return std::to_string(e.offset()) + " " + e.what();
  }
  return "";
}

std::string with(EdfToWrite file, auto change) {
  change(file);
  return edf_bytes(file);
}

TEST(Edf, SignalsOfARecordApart) {
  const EdfToWrite written = two_signals();
  const std::string bytes = edf_bytes(written);
  const EdfFile file = open(bytes);
  EXPECT_EQ(file.records(), 5);
  EXPECT_EQ(file.start(), "24.04.89 16.13.00");
  EXPECT_EQ(file.patient(), "X F X Female_33yr");
  EXPECT_EQ(file.rate(file.signal("EEG Fpz-Cz")), 100);
  EXPECT_EQ(file.samples(file.signal("EEG Fpz-Cz")), written.signals[0].values);
  EXPECT_EQ(file.samples(file.signal("Temp rectal")), written.signals[1].values);
  expect_contains(error_of([&] { file.signal("EEG Fpz-Oz"); }),
                  "did you mean 'EEG Fpz-Cz'? Known: EEG Fpz-Cz, Temp rectal");
}

TEST(Edf, UnknownNumberOfRecordsIsCounted) {
  const std::string bytes = with(two_signals(), [](auto& f) { f.records = "-1"; });
  EXPECT_EQ(open(bytes + "rest").records(), 5);
}

TEST(Edf, RefusesWithAPlace) {
  const std::string good = edf_bytes(two_signals());
  EXPECT_EQ(refusal(""), "0 an empty file; it should be EDF");
  EXPECT_EQ(refusal(good.substr(0, 200)), "200 the file ends within its header of 256 bytes");
  EXPECT_EQ(refusal(good.substr(0, 700)), "700 the file ends within its header of 768 bytes");
  EXPECT_EQ(refusal(good.substr(0, 1000)),
            "1000 the file should end at byte 1778: it promises 5 records of 202 bytes");
  EXPECT_EQ(refusal(good + "x"), "1779 the file should end at byte 1778: it promises 5 records of 202 bytes");
  EXPECT_EQ(refusal("\xFF"
                    "BIOSEMI" +
                    good.substr(8)),
            "0 this is a BDF file; EDF alone is read");
  EXPECT_EQ(refusal("RIFF    " + good.substr(8)),
            "0 an EDF file begins with '0' and seven blanks, not 'RIFF'");
  EXPECT_EQ(refusal(with(two_signals(), [](auto& f) { f.reserved = "EDF+D"; })),
            "192 EDF+D, a recording with gaps; export it as EDF+C, without them");
  EXPECT_EQ(refusal(with(two_signals(), [](auto& f) { f.records = "99999999"; })).substr(0, 40),
            "1778 the file should end at byte 2020000");
  EXPECT_EQ(refusal(with(two_signals(), [](auto& f) { f.records = "0"; })).substr(0, 4), "1778");
  EXPECT_EQ(refusal(with(two_signals(), [](auto& f) { f.records = "five"; })),
            "236 the number of records should be a number, not 'five'");
  EXPECT_EQ(refusal(with(two_signals(), [](auto& f) { f.seconds = "nan"; })),
            "244 the seconds of a record should be a number, not 'nan'");
  EXPECT_EQ(refusal(with(two_signals(), [](auto& f) { f.signals[1].digital_max = "-2048"; })),
            "520 the digital maximum -2048 is not above the minimum -2048");
  EXPECT_EQ(refusal(with(two_signals(), [](auto& f) { f.signals[0].digital_min = "-99999"; })),
            "496 the digital minimum should be a whole number from -32768 to 32767, not -99999");
  EXPECT_EQ(refusal(good.substr(0, 252) + "3   " + good.substr(256)),
            "184 a header of 768 bytes does not hold 3 signals, which take 1024");
}

std::string annotations(const std::string& bytes) {
  std::vector<EdfAnnotation> found;
  try {
    parse_annotations(bytes, 1000, found);
  } catch (const BadInput& e) {
    return std::to_string(e.offset()) + " " + e.what();
  }
  std::string out;
  for (const EdfAnnotation& each : found)
    out += fmt::format("{}+{} {};", each.onset, each.duration, each.text);
  return out;
}

TEST(Edf, AnnotationLists) {
  using namespace std::string_literals;
  EXPECT_EQ(annotations("+0\x14\x14\0+0\x15"
                        "30630\x14Sleep stage W\x14\0+30630\x15"
                        "120\x14Sleep stage 1\x14\0\0\0"s),
            "0+30630 Sleep stage W;30630+120 Sleep stage 1;");
  EXPECT_EQ(annotations("-0.065\x14pre\x14stim\x14\0"s), "-0.065+0 pre;-0.065+0 stim;");
  EXPECT_EQ(annotations(std::string(40, '\0')), "");
  EXPECT_EQ(annotations("+1\x14\x14\0"
                        "12\x14"s),
            "1005 an annotation should begin with + or -");
  EXPECT_EQ(annotations("+1\x14open"s), "1003 an annotation does not end");
  EXPECT_EQ(annotations("+1\x14text\x14"s), "1008 an annotation does not end");
  EXPECT_EQ(annotations("+x\x14text\x14\0"s), "1000 an annotation's onset should be seconds");
  EXPECT_EQ(annotations("+1\x15y\x14text\x14\0"s), "1003 an annotation's duration should be seconds");
}

TEST(Quantize, ScaleFromExactQuartiles) {
  const std::vector<int16_t> samples = {3, 1, 4, 1,
                                        5, 9, 2, 6};  // sorted 1 1 2 3 4 5 6 9: quartiles 1.75, 3.5, 5.25
  const Scale scale = scale_of(count_samples(samples));
  EXPECT_EQ(scale.median, 3.5);
  EXPECT_EQ(scale.iqr, 3.5);
  EXPECT_EQ(scale(7), 1);
  EXPECT_EQ(scale(32767), 20);
  EXPECT_EQ(scale(-32768), -20);
  expect_contains(error_of([] { scale_of(count_samples(std::vector<int16_t>{5, 5, 5, 5, 7})); }),
                  "half of its 5 samples are 5");
  expect_contains(error_of([] { scale_of(count_samples({})); }), "no sample");
}

// Against the definition on the samples themselves, laid side by side and sorted.
TEST(Quantize, BoundariesAreTheQuantilesOfAllSamples) {
  for (const size_t size : {3u, 100u, 255u, 256u, 257u, 5000u}) {
    std::vector<Recording> recordings;
    std::vector<double> all;
    for (uint64_t i = 0; i < 3; ++i) {
      const std::vector<int16_t> samples = noise(size * (i + 1), i, 20 * double(i + 1));
      const SampleCounts counts = count_samples(samples);
      recordings.push_back({counts, scale_of(counts)});
      for (const int16_t x : samples) all.push_back(recordings.back().scale(x));
    }
    std::sort(all.begin(), all.end());
    const Boundaries boundaries = find_boundaries(recordings);
    for (size_t k = 1; k < 256; ++k) {
      const double at = double(all.size() - 1) * double(k) / 256;
      const size_t low = size_t(at), high = std::min(low + 1, all.size() - 1);
      const double expected = all[low] + (all[high] - all[low]) * (at - double(low));
      EXPECT_NEAR(boundaries[k - 1], expected, 1e-14) << size << " " << k;
    }
  }
}

TEST(Quantize, ATokenCountsTheBoundariesAtOrBelow) {
  Boundaries boundaries;
  std::iota(boundaries.begin(), boundaries.end(), -127);  // -127 ... 127, of which clipping leaves -20 ... 20
  const std::vector<int16_t> samples = {0, -1, 1, 500, -500};
  EXPECT_EQ(quantize(samples, {0, 1}, boundaries), (std::vector<uint8_t>{128, 127, 129, 148, 108}));
  boundaries.fill(0);  // ties: nothing between
  EXPECT_EQ(quantize(samples, {0, 1}, boundaries), (std::vector<uint8_t>{255, 0, 255, 255, 0}));
}

TEST(Sleep, NamesAndAges) {
  EXPECT_EQ(night_of("SC4051E0-PSG.edf")->subject, 5);
  EXPECT_EQ(night_of("SC4822GC-Hypnogram.edf")->subject, 82);
  EXPECT_EQ(night_of("SC4822GC-Hypnogram.edf")->number, 2);
  for (const char* other : {"ST7011J0-PSG.edf", "SC4x51E0-PSG.edf", "SC4053E0-PSG.edf", "SC40"})
    EXPECT_FALSE(night_of(other)) << other;
  EXPECT_EQ(age_of("X F X Female_33yr"), 33);
  EXPECT_EQ(age_of("X M X Male_101yr"), 101);
  expect_contains(error_of([] { age_of("X X X X"); }), "no age in the patient field 'X X X X'");
  EXPECT_NE(error_of([] { age_of("X F X yr"); }), "");
}

TEST(Sleep, RangeOfSleepWithHalfAnHourAround) {
  const std::vector<EdfAnnotation> night = {{0, 30000, "Sleep stage W"},
                                            {30000, 60, "Sleep stage 1"},
                                            {30060, 600, "Sleep stage ?"},
                                            {30660, 30, "Sleep stage R"},
                                            {30690, 40000, "Sleep stage W"}};
  EXPECT_EQ(sleep_range(night, 100, 10'000'000), std::pair(int64_t{2'820'000}, int64_t{3'249'000}));
  EXPECT_EQ(sleep_range(night, 100, 3'100'000).second, 3'100'000);
  EXPECT_EQ(sleep_range({{600, 30, "Sleep stage 4"}}, 100, 1'000'000),
            std::pair(int64_t{0}, int64_t{243'000}));
  expect_contains(
      error_of([] { sleep_range({{0, 30, "Sleep stage W"}, {30, 30, "Movement time"}}, 100, 6000); }),
      "no sleep stage");
}

// 78 subjects, three of them with a single night: the paper's counts.
TEST(Sleep, SplitByAge) {
  std::vector<Subject> subjects;
  for (int64_t id = 0; id < 78; ++id)
    subjects.push_back({id, 25 + id * 7 % 76, id == 13 || id == 36 || id == 52 ? 1 : 2});
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const SubjectSplit split = split_by_age(subjects, seed);
    EXPECT_GE(split.seed, seed);
    std::set<int64_t> held(split.validation.begin(), split.validation.end());
    held.insert(split.test.begin(), split.test.end());
    ASSERT_EQ(held.size(), 16u);
    int64_t nights = 0, test_nights = 0;
    std::vector<int64_t> ages;
    for (const Subject& each : subjects) nights += held.contains(each.id) ? each.nights : 0;
    for (const int64_t id : split.test)
      test_nights += subjects[size_t(id)].nights, ages.push_back(subjects[size_t(id)].age);
    EXPECT_EQ(nights, 31);
    EXPECT_EQ(test_nights, 16);
    std::sort(ages.begin(), ages.end());
    EXPECT_LT(ages[1], 25 + 2 * 10 + 2);  // one of each eighth, from young to old
    EXPECT_GE(ages[6], 25 + 5 * 9);
  }
  EXPECT_NE(split_by_age(subjects, 0).test, split_by_age(subjects, 1000).test);
  EXPECT_EQ(split_by_age({subjects.begin(), subjects.begin() + 20}, 0).test.size(), 6u);
  expect_contains(error_of([&] { split_by_age({subjects.begin(), subjects.begin() + 2}, 0); }),
                  "2 subjects are too few");
}

}  // namespace
}  // namespace darope
