// Drives the tokenizers for test_tokenizer.py and bench/tokenizer.py.
#include <fmt/format.h>

#include <cstdio>
#include <ctime>

#include "base/files.h"
#include "data/text/tokenizer.h"
#include "data/text/unicode.h"
#include "probe.h"

namespace darope {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 32;

void put(const std::vector<int64_t>& ids) { std::fwrite(ids.data(), sizeof ids[0], ids.size(), stdout); }

// Documents of the file, each behind its length as eight bytes; out go their ids, each document's behind
// their number.
void encode(Words words) {
  const auto tokenizer = find_tokenizer(words[0], words[1]);
  const std::string file = read_file(words[2], kMostBytes);
  for (size_t at = 0; at < file.size();) {
    int64_t bytes = 0;
    file.copy(reinterpret_cast<char*>(&bytes), sizeof bytes, at);
    const std::vector<int64_t> ids =
        tokenizer->encode(std::string_view(file).substr(at + sizeof bytes, size_t(bytes)));
    put({int64_t(ids.size())});
    put(ids);
    at += sizeof bytes + size_t(bytes);
  }
}

// The processor's seconds for the whole file as one document, and its tokens.
void measure(Words words) {
  const auto tokenizer = find_tokenizer(words[0], words[1]);
  const std::string text = read_file(words[2], kMostBytes);
  const std::clock_t start = std::clock();
  const size_t tokens = tokenizer->encode(text).size();
  fmt::print("{} {}\n", double(std::clock() - start) / CLOCKS_PER_SEC, tokens);
}

void print_name(Words words) { fmt::print("{}\n", tokenizer_of_ranks(words[0])); }

void print_classes(Words) {
  for (uint32_t code = 0; code < 0x110000; ++code) std::putchar(class_of(code));
}

}  // namespace
}  // namespace darope

int main(int argc, char** argv) {
  using namespace darope;
  return probe(argc, argv,
               {{"encode NAME RANKS FILE", encode},
                {"measure NAME RANKS FILE", measure},
                {"name RANKS", print_name},
                {"classes", print_classes}});
}
