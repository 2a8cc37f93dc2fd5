#include "base/names.h"

#include <gtest/gtest.h>

namespace darope {

TEST(Names, EditDistance) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("RoPE", "rope"), 0u);
  EXPECT_EQ(edit_distance("stesp", "steps"), 1u);  // neighbours that changed places
  EXPECT_EQ(edit_distance("ab", "ba"), 1u);
  EXPECT_EQ(edit_distance("abc", "ca"), 3u);
}

TEST(Names, SuggestsTheNearest) {
  EXPECT_EQ(unknown_name("encoding", "darop", {"nope", "darope"}),
            "unknown encoding 'darop'; did you mean 'darope'? Known: nope, darope");
  EXPECT_EQ(unknown_name("option", "x", {}), "unknown option 'x'; it takes none");
}

TEST(Names, FarOffWordsAndNothingGetTheNamesAlone) {
  EXPECT_EQ(unknown_name("encoding", "absolute", {"nope", "darope"}),
            "unknown encoding 'absolute'. Known: nope, darope");
  EXPECT_EQ(unknown_name("encoding", "", {"nope", "darope"}), "unknown encoding ''. Known: nope, darope");
  EXPECT_EQ(unknown_name("verb", "x", {"eval"}), "unknown verb 'x'. Known: eval");
  EXPECT_TRUE(is_near("dareop", "darope"));  // two letters in the wrong order
  EXPECT_TRUE(is_near("gen", "generate"));
  EXPECT_TRUE(is_near("cz", "Cz.."));
  EXPECT_FALSE(is_near("factor", "base"));
  EXPECT_FALSE(is_near("slow_bands", "npos_max"));
}

}  // namespace darope
