#include "data/genome/fasta.h"

#include <fmt/format.h>
#include <htslib/bgzf.h>
#include <htslib/hts_log.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <vector>

#include "base/files.h"
#include "base/names.h"
#include "data/bad_input.h"

namespace darope {
namespace {

constexpr size_t kPiece = 1 << 16;
constexpr char kBlank = ' ', kWrong = 0;

// What each byte of a sequence line stands for: a base, nothing, or a mistake.
constexpr std::array<char, 256> kMeaning = [] {
  std::array<char, 256> table{};
  for (const unsigned char c : std::string_view("ACGT")) table[c] = table[c + 32u] = char(c);
  for (const unsigned char c : std::string_view("NRYSWKMBDHVU")) table[c] = table[c + 32u] = 'N';
  for (const unsigned char c : std::string_view(" \t\r\n")) table[c] = kBlank;
  return table;
}();

// Whether a line is as most are: known bases, then its end. Compilers make vectors of this.
bool is_sequence(std::string_view line) {
  int others = 0;
  for (const char c : line) others += !((c == 'A') | (c == 'C') | (c == 'G') | (c == 'T'));
  return others == (line.ends_with('\n') ? 1 : 0);
}

// Text in pieces to records and bases. Nothing is kept but the line of a header, so a chromosome on one line
// costs no memory.
class FastaParser {
 public:
  FastaParser(const FastaLimits& limits, const FastaReader& reader) : limits_(limits), reader_(reader) {}

  void add(std::string_view text) {
    while (!text.empty()) {
      if (line_start_) in_header_ = text[0] == '>';
      const size_t end = text.find('\n');
      line_start_ = end != std::string_view::npos;
      const std::string_view part = text.substr(0, line_start_ ? end + 1 : text.size());
      if (in_header_)
        add_header(part);
      else
        add_bases(part);
      place_ += int64_t(part.size());
      text.remove_prefix(part.size());
    }
  }
  void finish() {
    if (in_header_ && !line_start_) add("\n");
    if (records_ == 0) throw BadInput("no record; a FASTA file begins with '>' and a name", place_);
  }
  int64_t place() const { return place_; }

 private:
  void add_header(std::string_view part) {
    const int64_t begin = place_ - int64_t(header_.size());
    header_ += part;
    if (int64_t(header_.size()) > limits_.header_bytes)
      throw BadInput(fmt::format("a header longer than {} bytes", limits_.header_bytes), begin);
    if (!line_start_) return;
    while (std::isspace(static_cast<unsigned char>(header_.back()))) header_.pop_back();
    ++records_;
    reader_.record(std::string_view(header_).substr(1), begin);
    header_.clear();
  }
  void add_bases(std::string_view part) {
    if (is_sequence(part)) return hand_on(part.substr(0, part.size() - (line_start_ ? 1 : 0)));
    clean_.resize(part.size());
    size_t kept = 0;
    bool wrong = false;
    for (const char c : part) {
      const char meaning = kMeaning[static_cast<unsigned char>(c)];
      clean_[kept] = meaning;
      kept += meaning != kBlank;
      wrong |= meaning == kWrong;
    }
    if (wrong) {
      const auto culprit = std::find_if(
          part.begin(), part.end(), [](char c) { return kMeaning[static_cast<unsigned char>(c)] == kWrong; });
      throw BadInput(
          shown({&*culprit, 1}) + " is no base; a sequence has A C G T N and the other IUPAC letters",
          place_ + (culprit - part.begin()));
    }
    hand_on({clean_.data(), kept});
  }
  void hand_on(std::string_view bases) const {
    if (bases.empty()) return;
    if (records_ == 0)
      throw BadInput("bases before the first '>'; a FASTA file begins with '>' and a name", place_);
    reader_.bases(bases);
  }

  std::string header_;
  const FastaLimits& limits_;
  const FastaReader& reader_;
  std::vector<char> clean_;
  int64_t place_ = 0, records_ = 0;
  bool line_start_ = true, in_header_ = false;
};

}  // namespace

// htslib unpacks; it is asked for no more than one piece at a time.
void read_fasta(const std::filesystem::path& path, const FastaLimits& limits, const FastaReader& reader) {
  hts_set_log_level(HTS_LOG_OFF);                   // errors are ours to word
  const int64_t packed_bytes = size_of_file(path);  // refuses a pipe, which htslib would wait for
  // An absolute path, for htslib takes names such as http:... for more than files.
  const std::unique_ptr<BGZF, decltype(&bgzf_close)> file(
      bgzf_open(std::filesystem::absolute(path).c_str(), "r"), bgzf_close);
  if (!file) throw BadInput("it begins as gzip and goes on as something else", 0);
  FastaParser parser(limits, reader);
  std::vector<char> piece(kPiece);
  for (ssize_t got; (got = bgzf_read(file.get(), piece.data(), piece.size())) != 0;) {
    if (got < 0)
      throw BadInput(
          fmt::format("cut short or damaged: it unpacks to {} bytes and no further", parser.place()),
          parser.place());
    parser.add({piece.data(), size_t(got)});
    if (parser.place() > limits.ratio_from && parser.place() / limits.ratio > packed_bytes)
      throw BadInput(
          fmt::format("it unpacks to more than {} times its size, which a genome does not", limits.ratio),
          parser.place());
  }
  parser.finish();
}

}  // namespace darope
