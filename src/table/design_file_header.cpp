#include "table/design_file_header.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "magva/error.hpp"
#include "table/byte_source.hpp"

namespace magva::design_file {

static_assert(std::endian::native == std::endian::little, "design files are mapped as they are");

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint32_t kByteOrder = 0x01020304;
constexpr std::uint32_t kOtherByteOrder = 0x04030201;
constexpr std::size_t kPrefix = 128;
constexpr std::uint64_t kAlignment = 4096;
constexpr std::uint64_t kMostHeader = std::uint64_t{1} << 30U;

struct Prefix {
  char magic[8];
  std::uint32_t version;
  std::uint32_t byte_order;
  std::uint64_t header_bytes;
  char sha256[64];
  char zeros[40];
};
static_assert(sizeof(Prefix) == kPrefix);

std::uint64_t aligned(std::uint64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

Json section_json(const Section& section) {
  return {{"offset", section.offset}, {"bytes", section.bytes}, {"sha256", section.sha256}};
}

Section section_from(const Json& json) {
  Section section{json.at("offset"), json.at("bytes"), json.at("sha256")};
  if (section.sha256.size() != 64) throw DataError("a digest has not 64 digits");
  return section;
}

std::string json_text(const Header& header) {
  Json sections = {{"response", section_json(header.response)}};
  if (header.weighted) sections["weights"] = section_json(header.weights);
  sections["rows"] = section_json(header.matrix);
  const Json json = {{"made_by", header.made_by},
                     {"rows", header.rows},
                     {"columns", header.columns()},
                     {"element", header.element == Element::float64 ? "float64" : "float32"},
                     {"names", header.spec.names()},
                     {"sections", sections},
                     {"design", table::to_json(header.spec)},
                     {"notes", header.notes},
                     {"source",
                      {{"file", header.source.file},
                       {"rows", header.source.rows},
                       {"columns", header.source.columns},
                       {"sha256", header.source.sha256}}}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

Header header_from(const Json& json) {
  Header header;
  header.made_by = json.at("made_by");
  header.rows = json.at("rows");
  const std::string element = json.at("element");
  if (element != "float64" && element != "float32")
    throw DataError(fmt::format("the element type '{}' is not known", element));
  header.element = element == "float64" ? Element::float64 : Element::float32;
  header.spec = table::design_spec_from_json(nlohmann::json(json.at("design")));
  if (header.spec.sparse()) throw DataError("the design is sparse");
  const std::vector<std::string> names = json.at("names");
  if (names != header.spec.names() || json.at("columns") != header.columns())
    throw DataError("the names are not those of the design");
  header.notes = json.at("notes").get<std::vector<std::string>>();
  const Json& source = json.at("source");
  header.source = {source.at("file"), source.at("rows"), source.at("columns"), source.at("sha256")};
  const Json& sections = json.at("sections");
  header.response = section_from(sections.at("response"));
  header.weighted = sections.contains("weights");
  if (header.weighted) header.weights = section_from(sections.at("weights"));
  header.matrix = section_from(sections.at("rows"));
  return header;
}

/// Whether the sections follow each other as `lay_out` lets them.
bool well_placed(const Header& header, std::uint64_t header_end) {
  const auto rows = static_cast<std::uint64_t>(header.rows);
  const auto row_bytes = static_cast<std::uint64_t>(header.columns() * size_of(header.element));
  const auto follows = [](const Section& section, std::uint64_t before) {
    return section.offset == aligned(before);
  };
  const std::uint64_t column_end = header.response.offset + header.response.bytes;
  const bool weights_fit = !header.weighted || (follows(header.weights, column_end) &&
                                                header.weights.bytes == header.response.bytes);
  const std::uint64_t before = header.weighted ? header.weights.offset + header.weights.bytes : column_end;
  return follows(header.response, header_end) && header.response.bytes == 8 * rows && weights_fit &&
         follows(header.matrix, before) && header.matrix.bytes / row_bytes == rows &&
         header.matrix.bytes % row_bytes == 0;
}

}  // namespace

void lay_out(Header& header) {
  const auto rows = static_cast<std::uint64_t>(header.rows);
  header.response.bytes = 8 * rows;
  header.weights.bytes = header.weighted ? 8 * rows : 0;
  header.matrix.bytes = rows * static_cast<std::uint64_t>(header.columns() * size_of(header.element));
  // The offsets are part of the header's text, whose length they depend on.
  for (std::string text; text != json_text(header);) {
    text = json_text(header);
    header.response.offset = aligned(kPrefix + text.size());
    header.weights.offset = aligned(header.response.offset + header.response.bytes);
    header.matrix.offset = aligned(header.weights.offset + header.weights.bytes);
  }
}

std::string encode(const Header& header) {
  const std::string json = json_text(header);
  Prefix prefix{};
  std::memcpy(prefix.magic, kMagic.data(), sizeof prefix.magic);
  prefix.version = kVersion;
  prefix.byte_order = kByteOrder;
  prefix.header_bytes = json.size();
  std::memcpy(prefix.sha256, table::sha256_of_text(json).data(), sizeof prefix.sha256);
  std::string bytes(sizeof prefix, '\0');
  std::memcpy(bytes.data(), &prefix, sizeof prefix);
  return bytes + json;
}

Header parse_header(std::string_view text, std::uint64_t file_size, const std::string& name) {
  try {
    Header header = header_from(Json::parse(text));
    if (header.rows < 1 || header.rows > static_cast<Index>(file_size / 8))
      throw DataError(fmt::format("it cannot have {} rows", header.rows));
    if (!well_placed(header, kPrefix + text.size())) throw DataError("its sections are not in their places");
    const std::uint64_t end = header.matrix.offset + header.matrix.bytes;
    if (end != file_size)
      throw DataError(
          fmt::format("it has {} bytes where {} are needed: it was cut short or added to", file_size, end));
    header.sha256 = table::sha256_of_text(text);
    return header;
  } catch (const Json::exception&) {
    throw DataError(
        fmt::format("the design file '{}' is damaged: its header is not what magva writes", name));
  } catch (const DataError& error) {
    throw DataError(fmt::format("the design file '{}' is damaged: {}", name, error.what()));
  }
}

Header decode(std::string_view file, const std::string& name) {
  if (!file.starts_with(kMagic)) throw DataError(fmt::format("'{}' is no design file of magva", name));
  const auto cut_short = [&] {
    return DataError(fmt::format("the design file '{}' is damaged: it ends within its header", name));
  };
  if (file.size() < kPrefix) throw cut_short();
  Prefix prefix;
  std::memcpy(&prefix, file.data(), sizeof prefix);
  if (prefix.byte_order == kOtherByteOrder)
    throw DataError(
        fmt::format("the design file '{}' is in the other byte order: convert the table again on "
                    "a little-endian machine",
                    name));
  if (prefix.version != kVersion)
    throw DataError(
        fmt::format("the design file '{}' has version {}, but this magva reads version {}: "
                    "convert the table again",
                    name, prefix.version, kVersion));
  if (prefix.header_bytes > kMostHeader || prefix.header_bytes > file.size() - kPrefix) throw cut_short();
  const std::string_view json = file.substr(kPrefix, prefix.header_bytes);
  if (prefix.byte_order != kByteOrder || table::sha256_of_text(json) != std::string_view(prefix.sha256, 64))
    throw DataError(
        fmt::format("the design file '{}' is damaged: its header does not have its digest", name));
  return parse_header(json, file.size(), name);
}

bool is_design_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::string start(kMagic.size(), '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  return in && start == kMagic;
}

}  // namespace magva::design_file
