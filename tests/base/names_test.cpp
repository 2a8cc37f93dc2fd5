#include "base/names.h"

#include <gtest/gtest.h>

namespace darope {

TEST(Names, EditDistance) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("RoPE", "rope"), 0u);
}

TEST(Names, SuggestsTheNearest) {
  EXPECT_EQ(unknown_name("encoding", "darop", {"nope", "darope"}), "unknown encoding 'darop'; did you mean 'darope'? Known: nope, darope");
  EXPECT_EQ(unknown_name("option", "x", {}), "unknown option 'x'; it takes none");
}

}  // namespace darope
