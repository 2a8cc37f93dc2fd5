#include "data/told.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

namespace darope {
namespace {

std::string plural(int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// What a source of several documents is made of.
const char* piece_of(const Contents& contents) {
  return contents.documents > contents.files ? "document" : "file";
}

std::string skipped_in_words(const std::vector<std::string>& skipped) {
  constexpr size_t kNamed = 5;
  if (skipped.empty()) return "";
  const auto first = skipped.begin(), last = first + std::ptrdiff_t(std::min(kNamed, skipped.size()));
  return fmt::format("; {} skipped, which hold{} no text: {}{}", skipped.size(),
                     skipped.size() == 1 ? "s" : "", fmt::join(first, last, ", "),
                     last == skipped.end() ? "" : ", ...");
}

std::string contents_in_words(const std::string& path, const Contents& contents) {
  std::string text = path + ": ";
  if (std::filesystem::is_directory(path)) text += plural(contents.files, "file") + ", ";
  if (contents.documents > contents.files) text += plural(contents.documents, "document") + ", ";
  const auto bytes = double(contents.bytes);
  text += bytes < 1e6 ? fmt::format("{:.1f} kB", bytes / 1e3) : fmt::format("{:.1f} MB", bytes / 1e6);
  return text + skipped_in_words(contents.skipped);
}

std::string kept_in_words(const Contents& contents, double share, bool whole) {
  const char* piece = piece_of(contents);
  const std::string part = share == 0.1 ? "tenth" : fmt::format("{:g} %", 100 * share);
  if (whole) return fmt::format("whole {}s spread over all, a {}", piece, part);
  return contents.documents > 1 ? fmt::format("the last {} of each {}", part, piece) : "its last " + part;
}

int64_t witnesses_of(const TestSet& test) {
  std::set<int64_t> clusters;
  for (int64_t i = 0; i < test.size(); ++i) clusters.insert(test.cluster(i));
  return int64_t(clusters.size());
}

}  // namespace

std::string told(const DataConfig& config, const TokenSource& learned, const TokenSource& tested,
                 bool whole_documents, const TestSet& test) {
  const Contents &there = learned.contents(), &of_test = tested.contents();
  const std::string kept = config.test_path.empty() ? kept_in_words(there, config.test_share, whole_documents)
                                                    : contents_in_words(config.test_path, of_test);
  const std::string from =
      of_test.documents > 1 ? ", from " + plural(witnesses_of(test), piece_of(of_test)) : "";
  return fmt::format("{}. Tested on {}: {} of {} tokens{}.", contents_in_words(config.path, there), kept,
                     plural(test.size(), "window"), config.seq_len, from);
}

std::string told(const DataConfig& config, const Manifest& manifest, const TestSet& test) {
  const std::string skipped =
      manifest.skipped.empty() ? "" : fmt::format(", {} skipped by 'data prepare'", manifest.skipped.size());
  return fmt::format("{}: {} to learn from{}. Tested on {} from {}.", config.root_dir,
                     plural(int64_t(manifest[Split::train].items.size()), "source"), skipped,
                     plural(test.size(), "example"), plural(witnesses_of(test), "source"));
}

}  // namespace darope
