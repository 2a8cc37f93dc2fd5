#include "data/text/held_out.h"

#include <algorithm>
#include <cmath>

namespace darope {
namespace {

using Parts = std::vector<TokenSource::Part>;

int64_t length_of(const TokenSource::Part& part) { return part.end - part.begin; }

Parts documents_of(const TokenSource& source) {
  Parts parts;
  for (const int64_t start : source.document_starts()) {
    if (!parts.empty()) parts.back().end = start;
    parts.push_back({start, source.size()});
  }
  return parts;
}

// A document is kept where that brings what is kept nearer to its share of all so far.
void keep_whole(const Parts& documents, double share, Parts& front, Parts& kept) {
  double seen = 0, held = 0;
  for (const TokenSource::Part& each : documents) {
    const auto length = double(length_of(each));
    seen += length;
    const bool keep = held + length / 2 <= share * seen;
    if (keep) held += length;
    (keep ? kept : front).push_back(each);
  }
}

void keep_ends(const Parts& documents, double share, Parts& front, Parts& kept) {
  for (const TokenSource::Part& each : documents) {
    const int64_t cut = each.end - int64_t(std::ceil(share * double(length_of(each))));
    if (cut > each.begin) front.push_back({each.begin, cut});
    kept.push_back({cut, each.end});
  }
}

}  // namespace

HeldOut hold_out(const TokenSource& source, double share) {
  const Parts documents = documents_of(source);
  const double all = double(source.size()) * share;
  if (documents.size() == 1) return {source, source.size() - int64_t(std::ceil(all))};
  const int64_t largest = length_of(*std::ranges::max_element(documents, {}, length_of));
  const bool whole = 10 * double(largest) <= all;
  Parts parts, kept;
  (whole ? keep_whole : keep_ends)(documents, share, parts, kept);
  int64_t begin = 0;
  for (const TokenSource::Part& each : parts) begin += length_of(each);
  parts.insert(parts.end(), kept.begin(), kept.end());
  return {source.of_parts(parts), begin, whole};
}

}  // namespace darope
