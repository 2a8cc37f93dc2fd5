#include "base/streams.h"

#include <gtest/gtest.h>

namespace darope {
namespace {

TEST(Streams, TerminalsGetTextAndNoControlCharacters) {
  const auto sent = [](std::string_view text) { return TerminalText().pass(text); };
  EXPECT_EQ(sent("plain\ttext\n"), "plain\ttext\n");
  EXPECT_EQ(sent("\u00dcn\u00efc\u00f6de \u6f22 \U0001f600"), "\u00dcn\u00efc\u00f6de \u6f22 \U0001f600");
  EXPECT_EQ(sent("a\x1b[31mb"), "a?[31mb");
  EXPECT_EQ(sent("a\x1b[Kb\rc\x07\x7f"), "a?[Kb?c??");
  EXPECT_EQ(sent("\xc2\x9b"
                 "31m"),
            "?31m");  // CSI, as UTF-8 has it
  EXPECT_EQ(sent("\x9b"
                 "31m"),
            "?31m");  // and as a terminal of eight bits takes it
  EXPECT_EQ(sent("\xe0\x82\x9b"
                 "31m"),
            "?31m");                          // the same in more bytes than it takes
  EXPECT_EQ(sent("a\u202eb\u2066"), "a?b?");  // which turn the direction of what follows
  EXPECT_EQ(sent("\xc1\x9b\xff"
                 "a"),
            "???a");
  EXPECT_EQ(sent("\xe6\xbc"
                 "a"),
            "??a");  // cut short, and going on
}

TEST(Streams, CharactersThatComeInPiecesAreLookedAtWhole) {
  TerminalText text;
  EXPECT_EQ(text.pass("a\xc2"), "a");
  EXPECT_EQ(text.pass("\x9b"
                      "31m"),
            "?31m");
  EXPECT_EQ(text.pass("\xf0\x9f"), "");
  EXPECT_EQ(text.pass("\x98"), "");
  EXPECT_EQ(text.pass("\x80!"), "\U0001f600!");
  EXPECT_EQ(text.pass("\xc3"), "");
  EXPECT_EQ(text.pass("x"), "?x");
}

}  // namespace
}  // namespace darope
