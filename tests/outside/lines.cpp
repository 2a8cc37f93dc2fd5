#include <sstream>

#include "data/prepared/define.h"
#include "data/prepared/preparation.h"
#include "data/prepared/source_files.h"

namespace darope {

// Poems and lists: each file is an item, which stays in one split, and each of its lines a sequence of bytes.
struct Lines {
  static void prepare(const PrepareRequest& request, Preparation& out) {
    out.set_tokenizer("bytes");
    const auto bytes = find_tokenizer("bytes");
    const std::vector<SourceFile> files = source_files(request.source, {".txt"});
    const std::vector<Split> splits = out.draw_splits(int64_t(files.size()), request.seed);
    for (size_t i = 0; i < files.size(); ++i) {
      out.source_file(files[i].name, files[i].path);
      std::istringstream text(read_file(files[i].path));
      for (std::string line; std::getline(text, line);)
        if (line.size() > 1) out.add(splits[i], files[i].name, bytes->encode(line));
    }
    out.option("seed", request.seed);
  }
  static constexpr Kind kind{
      .name = "lines", .source = "a folder of .txt files, of which every line counts", .prepare = prepare};
};
template Kind kind_of<Lines>();

}  // namespace darope
