#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/names.h"
#include "data/eeg/sleep.h"
#include "data/prepared/define.h"
#include "data/prepared/recordings.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

constexpr const char *kChannel = "EEG Fpz-Cz", *kSums = "SHA256SUMS.txt";
constexpr int64_t kRate = 100;
constexpr size_t kNightLetters = 6;  // SC4ssN names a subject's night

// The publisher's hashes by file name, from the list in the source or beside it; empty where there is none.
std::map<std::string, std::string> published_sums(const fs::path& source) {
  std::map<std::string, std::string> out;
  for (const fs::path& folder : {source, fs::absolute(source / "..")}) {
    if (!fs::exists(folder / kSums)) continue;
    std::istringstream text(read_file(folder / kSums));
    for (std::string sum, name; text >> sum >> name;) out[fs::path(name).filename().string()] = sum;
    break;
  }
  return out;
}

struct NightFiles {
  SourceFile psg, hypnogram;
};

std::vector<int16_t> read_night(const NightFiles& night) {
  const MappedFile mapped(night.psg.path), mapped_stages(night.hypnogram.path);
  const EdfFile psg(mapped.bytes());
  const EdfSignal& signal = psg.signal(kChannel);
  if (psg.rate(signal) != kRate)
    throw Error(fmt::format("{} has {} samples a second, not {}", kChannel, psg.rate(signal), kRate));
  const EdfFile hypnogram(mapped_stages.bytes());
  if (hypnogram.start() != psg.start())
    throw Error(fmt::format("the hypnogram begins at {}, the recording at {}", shown(hypnogram.start()),
                            shown(psg.start())));
  std::vector<int16_t> samples = upright_samples(psg, signal);
  const auto [begin, end] = sleep_range(hypnogram.annotations(), kRate, int64_t(samples.size()));
  return {samples.begin() + begin, samples.begin() + end};
}

// Recordings with their hypnograms; what has none, or is not the file that was published, is skipped.
std::vector<NightFiles> find_nights(const PrepareRequest& request, Preparation& out) {
  const std::map<std::string, std::string> sums = published_sums(request.source);
  const auto check = [&](const SourceFile& file) {
    const std::string sum = out.source_file(file.name, file.path);
    const auto found = sums.find(file.path.filename().string());
    if (!sums.empty() && (found == sums.end() || found->second != sum))
      throw Error(found == sums.end() ? fmt::format("{} does not list it", kSums)
                                      : fmt::format("its sha256 is {}; {} says {}: download it again", sum,
                                                    kSums, found->second));
  };
  const std::vector<SourceFile> files = source_files(request.source, {"-psg.edf", "-hypnogram.edf"});
  std::vector<NightFiles> nights;
  out.expect(int64_t(files.size()) / 2);
  for (const SourceFile& psg : files) {
    const std::string name = psg.path.filename().string();
    if (!name.ends_with("-PSG.edf") || !night_of(name)) continue;
    out.advance(psg.name);
    const auto hypnogram = std::find_if(files.begin(), files.end(), [&](const SourceFile& each) {
      const std::string other = each.path.filename().string();
      return other.ends_with("-Hypnogram.edf") &&
             other.compare(0, kNightLetters, name, 0, kNightLetters) == 0;
    });
    read_or_skip(out, psg.name, [&] {
      if (hypnogram == files.end())
        throw Error(fmt::format("there is no {}*-Hypnogram.edf for it", name.substr(0, kNightLetters)));
      check(psg);
      check(*hypnogram);
      nights.push_back({psg, *hypnogram});
    });
  }
  out.fact("checked_against", sums.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(kSums));
  return nights;
}

int64_t age_in(const fs::path& psg) {
  const MappedFile mapped(psg);
  return age_of(EdfFile(mapped.bytes()).patient());
}

void prepare_sleep_edf(const PrepareRequest& request, Preparation& out) {
  std::vector<RecordingSource> sources;
  std::map<std::string, int64_t> ages;  // by item
  for (const NightFiles& night : find_nights(request, out))
    sources.push_back({night.psg.path.filename().string().substr(0, kNightLetters), [night, &ages] {
                         ages[night.psg.path.filename().string().substr(0, kNightLetters)] =
                             age_in(night.psg.path);
                         return read_night(night);
                       }});
  std::vector<CountedRecording> counted = count_recordings(sources, out);

  std::map<int64_t, Subject> subjects;  // a subject's age is that of the first night
  for (const CountedRecording& each : counted) {
    const int64_t id = night_of(each.source.item + "E0")->subject;
    ++subjects.try_emplace(id, Subject{id, ages[each.source.item], 0}).first->second.nights;
  }
  std::vector<Subject> list;
  for (const auto& [id, subject] : subjects) list.push_back(subject);
  const SubjectSplit split = split_by_age(list, request.seed);
  const auto is_in = [](const std::vector<int64_t>& ids, int64_t id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  for (CountedRecording& each : counted) {
    const int64_t id = night_of(each.source.item + "E0")->subject;
    each.source.split = is_in(split.test, id)         ? Split::test
                        : is_in(split.validation, id) ? Split::validation
                                                      : Split::train;
  }
  out.option("seed", request.seed);
  out.fact("split",
           {{"seed", split.seed}, {"validation_subjects", split.validation}, {"test_subjects", split.test}});
  out.fact("samples_per_second", kRate);
  write_recordings(counted, out);
}

}  // namespace

struct SleepEdf {
  static constexpr Kind kind{
      .name = "sleep-edf",
      .source = "Sleep-EDF Expanded: the folder with sleep-cassette/ in it, or that folder",
      .items = "nights",
      .prepare = prepare_sleep_edf,
      .show = show_signal,
      .windows = true};
};
template Kind kind_of<SleepEdf>();

}  // namespace darope
