// The same as main.rs for OpenFst itself: openfst OPERATION INPUT... OUTPUT prints the processor time of one operation in milliseconds and by how many
// megabytes the memory has grown at its peak. It is what OpenFst's commands do, without reading and writing.

#include <fst/fstlib.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>

namespace {

double Megabytes(const std::string &name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(name, 0) == 0) return std::stod(line.substr(name.size() + 1)) / 1024;
  }
  return 0;
}

double Milliseconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  const std::string operation = argv[1];
  std::unique_ptr<fst::StdVectorFst> first(fst::StdVectorFst::Read(argv[2])), second;
  if (operation == "compose") second.reset(fst::StdVectorFst::Read(argv[3]));
  if (!first || (operation == "compose" && !second)) return 1;
  fst::StdVectorFst made;
  std::ofstream("/proc/self/clear_refs") << "5" << std::flush;
  const double before = Megabytes("VmRSS"), start = Milliseconds();
  if (operation == "compose") {
    fst::Compose(*first, *second, &made);
  } else if (operation == "connect") {
    fst::Connect(first.get());
  } else if (operation == "determinize") {
    fst::Determinize(*first, &made);
  } else if (operation == "minimize") {
    fst::Minimize(first.get(), static_cast<fst::StdVectorFst *>(nullptr), fst::kShortestDelta, true);
  } else if (operation == "shortestpath") {
    fst::ShortestPath(*first, &made);
  } else if (operation == "100-best") {
    fst::ShortestPath(*first, &made, 100);
  } else {
    return 2;
  }
  std::printf("%.3f %.1f\n", Milliseconds() - start, Megabytes("VmHWM") - before);
  const bool in_place = operation == "connect" || operation == "minimize";
  return (in_place ? *first : made).Write(argv[argc - 1]) ? 0 : 1;
}
