// The little of JSON that the pipe of docs/vectors.md needs: reads what the kit writes (no blanks;
// no escapes outside malformed arguments) and writes objects of integers and lists of them.
#pragma once
#include <algorithm>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

using List = std::vector<long>;

struct Json {  // the text of a number or a string, or the items of a list or an object
  std::string name, text;
  std::vector<Json> items;
  operator long() const { return std::stol(text); }
  const Json& operator[](const char* key) const {
    return *std::find_if(items.begin(), items.end(), [=](auto& item) { return item.name == key; });
  }
};

inline Json read(std::istream& in) {
  Json value;
  const char open = in.peek();
  if (open == '{' || open == '[') {
    for (in.get(); in.peek() != '}' && in.peek() != ']'; in.peek() == ',' && in.get()) {
      const std::string name = open == '{' ? read(in).text : "";
      if (open == '{') in.get();  // the colon
      value.items.push_back(read(in));
      value.items.back().name = name;
    }
    in.get();
  } else if (open == '"') {
    in.get();
    std::getline(in, value.text, '"');
  } else {
    while (in && std::string(",]}").find(in.peek()) == std::string::npos) value.text += in.get();
  }
  return value;
}

inline std::string text(long number) { return std::to_string(number); }
template <class Item>
std::string text(const std::vector<Item>& list) {
  std::string joined;
  for (const Item& item : list) joined += (joined.empty() ? "" : ",") + text(item);
  return "[" + joined + "]";
}

using Fields = std::vector<std::pair<std::string, std::string>>;

inline std::string object(const Fields& fields) {
  std::string joined;
  for (const auto& [name, value] : fields)
    joined += (joined.empty() ? "\"" : ",\"") + name + "\":" + value;
  return "{" + joined + "}";
}
inline std::string result(const std::string& value) { return object({{"result", value}}); }
inline std::string error(const std::string& type, Fields fields) {
  fields.insert(fields.begin(), {"type", '"' + type + '"'});
  return object({{"error", object(fields)}});
}
