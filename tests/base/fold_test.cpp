#include "base/fold.h"

#include <gtest/gtest.h>

namespace darope {
namespace {

TEST(Fold, LinesFitAndWordsStayWhole) {
  EXPECT_EQ(folded("one two three\nfour five", 8), "one two\nthree\nfour\nfive");
  EXPECT_EQ(folded("one two three", 13), "one two three");
  EXPECT_EQ(folded("a incomprehensibilities b", 6), "a\nincomprehensibilities\nb");
  EXPECT_EQ(folded("one two", 0), "one two");
  EXPECT_EQ(folded("", 10), "");
}

TEST(Fold, CharactersAreCountedAndNotBytes) { EXPECT_EQ(folded("ääää öööö", 9), "ääää öööö"); }

}  // namespace
}  // namespace darope
