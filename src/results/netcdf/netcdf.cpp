#include <dlfcn.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <netcdf.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <numeric>
#include <set>

#include "core/atomic_file.hpp"
#include "magva/draws.hpp"
#include "magva/error.hpp"
#include "magva/version.hpp"
#include "results/names.hpp"

namespace magva::results {

namespace {

/// The library's functions. It brings forty other libraries with it, which take a tenth of a small fit's time
/// to load: it is loaded with the first file.
class Netcdf {
  void* handle_ = load();

  static void* load() {
    void* handle = dlopen(MAGVA_NETCDF_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == nullptr) throw IoError(fmt::format("NetCDF cannot be loaded: {}.", dlerror()));
    return handle;
  }
  template <class Function>
  Function* find(const char* name) const {
    void* found = dlsym(handle_, name);
    if (found == nullptr) throw IoError(fmt::format("NetCDF cannot be used: it has no function {}.", name));
    return reinterpret_cast<Function*>(found);
  }

 public:
  decltype(&nc_strerror) strerror = find<decltype(nc_strerror)>("nc_strerror");
  decltype(&nc_create) create = find<decltype(nc_create)>("nc_create");
  decltype(&nc_close) close = find<decltype(nc_close)>("nc_close");
  decltype(&nc_def_grp) def_grp = find<decltype(nc_def_grp)>("nc_def_grp");
  decltype(&nc_put_att_text) put_att_text = find<decltype(nc_put_att_text)>("nc_put_att_text");
  decltype(&nc_put_var_double) put_var_double = find<decltype(nc_put_var_double)>("nc_put_var_double");
  decltype(&nc_def_dim) def_dim = find<decltype(nc_def_dim)>("nc_def_dim");
  decltype(&nc_def_var) def_var = find<decltype(nc_def_var)>("nc_def_var");
  decltype(&nc_put_var_longlong) put_var_longlong =
      find<decltype(nc_put_var_longlong)>("nc_put_var_longlong");
  decltype(&nc_open) open = find<decltype(nc_open)>("nc_open");
  decltype(&nc_inq_grp_ncid) inq_grp_ncid = find<decltype(nc_inq_grp_ncid)>("nc_inq_grp_ncid");
  decltype(&nc_inq_attlen) inq_attlen = find<decltype(nc_inq_attlen)>("nc_inq_attlen");
  decltype(&nc_get_att_text) get_att_text = find<decltype(nc_get_att_text)>("nc_get_att_text");
};

const Netcdf& netcdf() {
  static const Netcdf library;
  return library;
}

void check(int status, const char* what) {
  if (status != NC_NOERR)
    throw IoError(fmt::format("NetCDF cannot {}: {}.", what, netcdf().strerror(status)));
}

class NetcdfFile {
 public:
  explicit NetcdfFile(const std::filesystem::path& file) {
    check(netcdf().create(file.c_str(), NC_NETCDF4 | NC_CLOBBER, &id_), "create the file");
  }
  ~NetcdfFile() {
    if (id_ >= 0) netcdf().close(id_);
  }
  NetcdfFile(const NetcdfFile&) = delete;
  NetcdfFile& operator=(const NetcdfFile&) = delete;

  int id() const { return id_; }
  void close() {
    const int id = id_;
    id_ = -1;
    check(netcdf().close(id), "close the file");
  }

 private:
  int id_ = -1;
};

/// A group with the dimensions chain and draw, which every InferenceData group has.
class NetcdfGroup {
 public:
  NetcdfGroup(int file, const char* name, Index draws) : draws_(static_cast<std::size_t>(draws)) {
    check(netcdf().def_grp(file, name, &id_), "make a group");
    chain_ = dimension("chain", 1);
    draw_ = dimension("draw", draws_);
    coordinate("chain", chain_, 1);
    coordinate("draw", draw_, draws_);
  }

  void attribute(const char* name, const std::string& text) {
    check(netcdf().put_att_text(id_, NC_GLOBAL, name, text.size(), text.c_str()), "write an attribute");
  }

  /// `values` runs over draws, then elements, last index fastest.
  void variable(const std::string& name, const std::vector<std::size_t>& shape,
                const std::vector<double>& values) {
    std::vector<int> dimensions = {chain_, draw_};
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const auto own = fmt::format("{}_dim_{}", name, d);
      dimensions.push_back(dimension(own, shape[d]));
      coordinate(own, dimensions.back(), shape[d]);
    }
    const int id = define(name, NC_DOUBLE, dimensions);
    check(netcdf().put_var_double(id_, id, values.data()), "write draws");
  }

 private:
  int dimension(const std::string& name, std::size_t size) {
    int id = 0;
    check(netcdf().def_dim(id_, name.c_str(), size, &id), "define a dimension");
    return id;
  }
  int define(const std::string& name, nc_type type, const std::vector<int>& dimensions) {
    int id = 0;
    check(netcdf().def_var(id_, name.c_str(), type, static_cast<int>(dimensions.size()), dimensions.data(),
                           &id),
          "define a variable");
    return id;
  }
  /// 0, 1, ... along a dimension.
  void coordinate(const std::string& name, int dimension, std::size_t size) {
    std::vector<long long> values(size);
    std::iota(values.begin(), values.end(), 0LL);
    check(netcdf().put_var_longlong(id_, define(name, NC_INT64, {dimension}), values.data()),
          "write a coordinate");
  }

  int id_ = 0;
  int chain_ = 0;
  int draw_ = 0;
  std::size_t draws_;
};

/// Names that NetCDF accepts: no slash, and not the name of a dimension or of a variable before it.
class Names {
 public:
  std::string accept(std::string name) {
    std::replace(name.begin(), name.end(), '/', '_');
    while (!taken_.insert(name).second) name += '_';
    return name;
  }

 private:
  std::set<std::string> taken_ = {"chain", "draw"};
};

std::vector<double> in_netcdf_order(const Variable& variable, const Matrix& values) {
  std::vector<double> out;
  out.reserve(variable.rows.size() * static_cast<std::size_t>(values.cols()));
  for (Index s = 0; s < values.cols(); ++s) {
    for (const Index row : variable.rows) out.push_back(values(row, s));
  }
  return out;
}

void describe(NetcdfGroup& group, const Origin& origin) {
  group.attribute("created_at", fmt::format("{:%Y-%m-%dT%H:%M:%S}+00:00", fmt::gmtime(std::time(nullptr))));
  group.attribute("inference_library", "magva");
  group.attribute("inference_library_version", version());
  group.attribute("model_name", origin.model);
  group.attribute("approximation", origin.family);
  group.attribute("seed", std::to_string(origin.seed));
}

void write_posterior(int file, const Draws& draws, const Origin& origin) {
  NetcdfGroup posterior(file, "posterior", draws.size());
  describe(posterior, origin);
  Names names;
  for (const auto& variable : group_variables(netcdf_names(draws.names))) {
    posterior.variable(names.accept(variable.name), variable.shape, in_netcdf_order(variable, draws.values));
  }
}

void write_sample_stats(int file, const Draws& draws, const Origin& origin) {
  NetcdfGroup stats(file, "sample_stats", draws.size());
  describe(stats, origin);
  const auto column = [&](const char* name, const Vector& values) {
    stats.variable(name, {}, std::vector<double>(values.begin(), values.end()));
  };
  column("lp", draws.log_p);
  column("log_p", draws.log_p);
  column("log_q", draws.log_q);
}

}  // namespace

bool is_netcdf_of_draws(const std::filesystem::path& file) {
  int id = 0;
  if (netcdf().open(file.c_str(), NC_NOWRITE, &id) != NC_NOERR) return false;
  int group = 0;
  std::array<char, 64> text{};
  std::size_t size = 0;
  const bool ours = netcdf().inq_grp_ncid(id, "posterior", &group) == NC_NOERR &&
                    netcdf().inq_attlen(group, NC_GLOBAL, "inference_library", &size) == NC_NOERR &&
                    size < text.size() &&
                    netcdf().get_att_text(group, NC_GLOBAL, "inference_library", text.data()) == NC_NOERR &&
                    std::string(text.data()) == "magva";
  netcdf().close(id);
  return ours;
}

void write_netcdf(const std::filesystem::path& file, const Draws& draws, const Origin& origin) {
  io::AtomicFile whole(file);
  NetcdfFile written(whole.temporary());
  write_posterior(written.id(), draws, origin);
  write_sample_stats(written.id(), draws, origin);
  written.close();
  whole.commit();
}

}  // namespace magva::results
