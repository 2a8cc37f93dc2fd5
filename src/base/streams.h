#pragma once
#include <string>
#include <string_view>

namespace darope {

// Before anything else in a program: descriptors 0 to 2 are open, so that no file of ours can come to stand
// there; what goes to standard error is never an error itself; a file that outgrows a limit is an error that
// names it (no SIGXFSZ); and no byte of a stranger's file steers a terminal, neither one that listens to
// standard output nor one that shows what went to standard error.
void prepare_streams();

// Text as it goes to a terminal: what is no UTF-8, which some take byte by byte, and control characters
// become
// '?'. A character that comes in pieces waits for its end.
class TerminalText {
 public:
  std::string pass(std::string_view text);

 private:
  std::string rest_;
};

// What this process works on, the folder of a run: named should a signal end it.
void name_work(const std::string& name);

// In place of the line that the cursor of standard error's terminal stands in.
void draw_over(std::string_view line);

// At the end: an Error where standard output could not take all that was said.
void close_output();

}  // namespace darope
