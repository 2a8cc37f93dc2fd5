#pragma once
#include <string>

namespace darope {

// Before anything else in a program: descriptors 0 to 2 are open, so that no file of ours can come to stand
// there; what goes to standard error is never an error itself; a file that outgrows a limit is an error that
// names it (no SIGXFSZ); and where a terminal listens, no byte of a stranger's file steers it.
void prepare_streams();

// What this process works on, the folder of a run: named should a signal end it.
void name_work(const std::string& name);

// At the end: an Error where standard output could not take all that was said.
void close_output();

}  // namespace darope
