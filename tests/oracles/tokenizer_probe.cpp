// Drives the tokenizers for test_tokenizer.py and bench/tokenizer.py.
#include <fmt/format.h>

#include <cstdio>
#include <ctime>

#include "base/error.h"
#include "base/files.h"
#include "data/text/tokenizer.h"
#include "data/text/unicode.h"

namespace darope {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 32;

void put(const std::vector<int64_t>& ids) { std::fwrite(ids.data(), sizeof ids[0], ids.size(), stdout); }

// Documents of the file, each behind its length as eight bytes; out go their ids, each document's behind
// their number.
void encode(const Tokenizer& tokenizer, const std::string& path) {
  const std::string file = read_file(path, kMostBytes);
  for (size_t at = 0; at < file.size();) {
    int64_t bytes = 0;
    file.copy(reinterpret_cast<char*>(&bytes), sizeof bytes, at);
    const std::vector<int64_t> ids =
        tokenizer.encode(std::string_view(file).substr(at + sizeof bytes, size_t(bytes)));
    put({int64_t(ids.size())});
    put(ids);
    at += sizeof bytes + size_t(bytes);
  }
}

// The processor's seconds for the whole file as one document, and its tokens.
void measure(const Tokenizer& tokenizer, const std::string& path) {
  const std::string text = read_file(path, kMostBytes);
  const std::clock_t start = std::clock();
  const size_t tokens = tokenizer.encode(text).size();
  fmt::print("{} {}\n", double(std::clock() - start) / CLOCKS_PER_SEC, tokens);
}

void print_classes() {
  for (uint32_t code = 0; code < 0x110000; ++code) std::putchar(class_of(code));
}

}  // namespace
}  // namespace darope

int main(int argc, char** argv) {
  using namespace darope;
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() == 4 && words[0] == "encode")
      encode(*find_tokenizer(words[1], words[2]), words[3]);
    else if (words.size() == 4 && words[0] == "measure")
      measure(*find_tokenizer(words[1], words[2]), words[3]);
    else if (words.size() == 2 && words[0] == "name")
      fmt::print("{}\n", tokenizer_of_ranks(words[1]));
    else if (words.size() == 1 && words[0] == "classes")
      print_classes();
    else
      throw Error("tokenizer_probe encode|measure NAME RANKS FILE | name RANKS | classes");
  } catch (const Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return e.code();
  }
}
