// A small owner-lane allocator behind the pipe of docs/vectors.md, in standard C++17. It claims
// whole pages, round robin and zigzag; all else is reported as not claimed.
//   g++ -std=c++17 -o engine engine.cpp && ownerlanes vectors check DIR --command ./engine
#include <set>

#include "lines.hpp"

long num_lanes, page_size, pages_per_lane, reserved;
std::vector<std::set<long>> free_pages;  // page ids, by lane

void clear() {
  free_pages.assign(num_lanes, {});
  for (long page = reserved * num_lanes; page < pages_per_lane * num_lanes; ++page)
    free_pages[page % num_lanes].insert(page);
}

long take(long lane) { return free_pages[lane].extract(free_pages[lane].begin()).value(); }

long owner(const Json& split, long page, long pages, long position) {
  if (split["kind"].text == "RoundRobinPages") return position / split["run"];
  const long blocks = 2 * num_lanes, least = pages / blocks, larger = pages % blocks * (least + 1);
  long block = page < larger ? page / (least + 1) : pages % blocks + (page - larger) / least;
#ifdef BUG
  block = page * blocks / pages;  // spreads the larger blocks instead of putting them first
#endif
  return std::min(block, blocks - 1 - block);
}

std::string alloc_extend(const std::vector<Json>& requests) {
  std::vector<List> pages(requests.size());  // first the lane of every page, then the page
  List required(num_lanes), available, deficit, infeasible, phases, offsets{0}, slots;
  for (size_t r = 0; r < requests.size(); ++r) {
    const long first = requests[r]["prefix_len"], tokens = requests[r]["seq_len"] - first;
    for (long page = 0, all = (tokens + page_size - 1) / page_size; page < all; ++page) {
      const long before = owner(requests[r]["split"], page, all, first / page_size + page);
      pages[r].push_back((before + requests[r]["phase"]) % num_lanes);
      ++required[pages[r].back()];
    }
    phases.push_back(requests[r]["phase"]);
    offsets.push_back(offsets.back() + tokens);
  }
  for (long lane = 0; lane < num_lanes; ++lane) {
    available.push_back(free_pages[lane].size());
    deficit.push_back(std::max(0L, required[lane] - available[lane]));
    if (required[lane] > pages_per_lane - reserved) infeasible.push_back(lane);
  }
  if (deficit != List(num_lanes))
    return error("CapacityWaitError", {{"required", text(required)}, {"available", text(available)},
                                       {"deficit", text(deficit)}, {"infeasible", text(infeasible)},
                                       {"evicted", text(List(num_lanes))},
                                       {"can_wait", infeasible.empty() ? "true" : "false"}});
  for (size_t r = 0; r < requests.size(); ++r) {
    std::transform(pages[r].begin(), pages[r].end(), pages[r].begin(), take);
    for (long i = 0; i < offsets[r + 1] - offsets[r]; ++i)
      slots.push_back(pages[r][i / page_size] * page_size + i % page_size);
  }
  return result(object({{"out_cache_loc", text(slots)}, {"extend_offsets", text(offsets)},
                        {"pages", text(pages)}, {"phases", text(phases)}, {"evicted", "[]"}}));
}

std::string answer(const Json& asked) {
  const std::string& op = asked["op"].text;
  if (op == "hello")
    return result(R"({"name":"examples/cpp","capabilities":{"placements":["interleaved"],)"
                  R"("splits":["RoundRobinPages","ZigzagPages"],"padding":false,)"
                  R"("partial_pages":false,"open_phase":false,"eviction":false,)"
                  R"("plan_extend":false,"alloc_pages":false,"snapshot":false,"digest":false,)"
                  R"("argument_checks":false,"release_checks":false}})");
  if (op == "alloc_extend") return alloc_extend(asked["requests"].items);
  if (op == "available_pages") {
    List counts;
    for (const auto& pages : free_pages) counts.push_back(pages.size());
    return result(text(counts));
  }
  if (op == "free")
    for (long slot : asked["slots"].items)
      free_pages[slot / page_size % num_lanes].insert(slot / page_size);
  if (op == "free_pages")
    for (long page : asked["pages"].items) free_pages[page % num_lanes].insert(page);
  if (op == "new") {
    const Json& layout = asked["layout"];
    num_lanes = layout["num_lanes"], page_size = layout["page_size"];
    pages_per_lane = layout["pages_per_lane"], reserved = layout["reserved_pages"];
  }
  if (op == "new" || op == "clear") clear();
  return result("null");
}

int main() {
  for (; std::cin.peek() != EOF; std::cin.get()) std::cout << answer(read(std::cin)) << std::endl;
}
