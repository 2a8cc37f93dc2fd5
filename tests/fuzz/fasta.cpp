#include "data/genome/fasta.h"

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "data/genome/sixmers.h"
#include "fuzz.h"

// htslib reads files, so the input becomes one, in memory.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace darope;
  const int fd = memfd_create("fasta", 0);
  must(fd >= 0 && write(fd, data, size) == ssize_t(size));
  const FastaLimits limits{.header_bytes = 1 << 10, .ratio = 200, .ratio_from = 1 << 14};
  int64_t total = 0;
  may_refuse([&] {
    read_fasta(
        "/proc/self/fd/" + std::to_string(fd), limits,
        {.record = [&](std::string_view name,
                       int64_t place) { must(int64_t(name.size()) < limits.header_bytes && place >= 0); },
         .bases =
             [&](std::string_view bases) {
               must(bases.find_first_not_of("ACGTN") == std::string_view::npos);
               total += int64_t(bases.size());
               std::vector<int64_t> tokens(bases.size());
               tokens.resize(tokenize_bases(bases, tokens));
               must(text_of_sixmers(tokens) == bases);
             }});
  });
  must(total <= limits.ratio_from + limits.ratio * int64_t(size) + (1 << 16));
  close(fd);
  return 0;
}
