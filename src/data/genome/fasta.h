#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

namespace darope {

// What a file may ask of us before it is taken for an attack.
struct FastaLimits {
  int64_t header_bytes = 1 << 16;
  int64_t ratio = 200,
          ratio_from =
              64
              << 20;  // unpacked to packed bytes, once that much is unpacked: centromeres are long runs of N
};

// What a file is made of, in order: a record's description and its place in the unpacked text, then its bases
// in pieces of any size.
struct FastaReader {
  std::function<void(std::string_view description, int64_t place)> record;
  std::function<void(std::string_view bases)> bases;  // of A C G T N alone
};

// Plain, gzip (of any number of members) or bgzip, whatever the name. Lower case is raised; the other IUPAC
// letters become N; blanks and line ends of any kind are passed over. Anything else is BadInput, placed in
// the unpacked text. A record may be empty.
void read_fasta(const std::filesystem::path& path, const FastaLimits& limits, const FastaReader& reader);

}  // namespace darope
