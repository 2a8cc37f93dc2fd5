#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace darope {

// The Python with the package in it: of the environment the program was built in, or of the one that its
// installation links to, to which PYTHONPATH then shows the package; else the one in PATH.
std::string python_program();

// Runs a file of the package beside the program and hands on what it prints, some at a time. An Error with
// what it said last where it failed.
void read_from_python(const std::filesystem::path& file, const std::vector<std::string>& words,
                      const std::function<void(std::string_view)>& piece);

// A Python program that is asked line by line and answers each with a line. It ends with this.
class PythonAsked {
 public:
  PythonAsked(const std::filesystem::path& script, const std::vector<std::string>& words);
  ~PythonAsked();
  std::string answer();  // its next line; an Error with what it said last where it has ended
  std::string answer(const std::string& question);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace darope
