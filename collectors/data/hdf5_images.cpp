// The only file that calls HDF5.
#include "collectors/data/hdf5_images.h"

#include <fmt/format.h>
#include <hdf5.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "analyzer/base/amplification.h"
#include "analyzer/base/file.h"
#include "collectors/data/byte_source.h"

namespace stallscope::data {
namespace {

constexpr uint64_t kDeflatePacks = 1032;  // to 1, at best

// Held by every call into the library: builds of it are not thread-safe, and the ones that are
// take a lock of their own that nobody outside can see.
std::mutex& LibraryMutex() {
  static std::mutex mutex;
  return mutex;
}

class LibraryLock {
 public:
  LibraryLock() : lock_(LibraryMutex()) {
    // After a write that failed the library's own clean-up at the program's end crashes (1.10.8);
    // there is nothing left for it to do, since every handle here is closed by its owner.
    static const bool no_clean_up = H5dont_atexit() >= 0;
    static_cast<void>(no_clean_up);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // or it prints; the setting is the thread's
  }

 private:
  std::lock_guard<std::mutex> lock_;
};

// A handle of the library with the call that closes it. To be closed under the lock.
class Handle {
 public:
  Handle() = default;
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() { Close(); }
  bool Close() {
    const hid_t id = std::exchange(id_, -1);
    return id < 0 || close_(id) >= 0;
  }
  hid_t get() const { return id_; }
  bool ok() const { return id_ >= 0; }

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

// Of plain bytes: the library is C, and no exception may pass through it.
using Cause = std::array<char, 256>;

herr_t KeepFirst(unsigned, const H5E_error2_t* error, void* into) {
  Cause& text = *static_cast<Cause*>(into);
  if (text[0] == '\0' && error->desc != nullptr) {
    std::strncpy(text.data(), error->desc, text.size() - 1);
  }
  return 0;
}

// The innermost of the library's errors, which is the cause.
Error LibraryError(const std::string& path, const std::string& what, std::string hint) {
  Cause first{};
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, &KeepFirst, &first);
  H5Eclear2(H5E_DEFAULT);
  const std::string cause = first.data();
  return Error{ErrorKind::kRun, cause.empty() ? what : what + ": " + cause, path, std::move(hint)};
}

std::vector<int64_t> DimensionsOf(hid_t data_set) {
  const Handle space(H5Dget_space(data_set), &H5Sclose);
  hsize_t dims[H5S_MAX_RANK];
  const int rank = space.ok() ? H5Sget_simple_extent_dims(space.get(), dims, nullptr) : -1;
  std::vector<int64_t> result;
  for (int i = 0; i < rank; ++i) {
    result.push_back(dims[i] > INT64_MAX ? -1 : static_cast<int64_t>(dims[i]));
  }
  return result;
}

bool IsInteger(hid_t data_set, bool bytes_only) {
  const Handle type(H5Dget_type(data_set), &H5Tclose);
  if (!type.ok() || H5Tget_class(type.get()) != H5T_INTEGER) return false;
  return !bytes_only || (H5Tget_size(type.get()) == 1 && H5Tget_sign(type.get()) == H5T_SGN_NONE);
}

// Reads or writes rows `first` to `first` + `count` - 1 of a data set.
bool Transfer(hid_t data_set, hid_t memory_type, int64_t first, int64_t count, void* read_into,
              const void* write_from) {
  const std::vector<int64_t> dims = DimensionsOf(data_set);
  std::vector<hsize_t> start(dims.size(), 0);
  std::vector<hsize_t> size(dims.begin(), dims.end());
  start[0] = static_cast<hsize_t>(first);
  size[0] = static_cast<hsize_t>(count);
  const Handle file_space(H5Dget_space(data_set), &H5Sclose);
  const Handle memory_space(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr),
                            &H5Sclose);
  if (!file_space.ok() || !memory_space.ok() ||
      H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, start.data(), nullptr, size.data(),
                          nullptr) < 0) {
    return false;
  }
  return read_into != nullptr ? H5Dread(data_set, memory_type, memory_space.get(), file_space.get(),
                                        H5P_DEFAULT, read_into) >= 0
                              : H5Dwrite(data_set, memory_type, memory_space.get(),
                                         file_space.get(), H5P_DEFAULT, write_from) >= 0;
}

// What tells how much memory the chunks of a data set may take. A chunk is unpacked as a whole,
// whatever part of it is asked for, and by each of its filters.
struct Chunks {
  bool fit = false;           // by what the data set says of them
  std::vector<hsize_t> size;  // along each dimension; empty: there are no chunks
  bool deflated = false;
};

Chunks ChunksOf(hid_t data_set, uint64_t most_bytes) {
  Chunks chunks;
  const Handle made(H5Dget_create_plist(data_set), &H5Pclose);
  const Handle type(H5Dget_type(data_set), &H5Tclose);
  if (!made.ok() || !type.ok()) return chunks;
  chunks.fit = true;
  if (H5Pget_layout(made.get()) != H5D_CHUNKED) return chunks;
  hsize_t dims[H5S_MAX_RANK];
  const int rank = H5Pget_chunk(made.get(), H5S_MAX_RANK, dims);
  uint64_t left = most_bytes / std::max<size_t>(H5Tget_size(type.get()), 1);
  for (int i = 0; i < rank; ++i) {
    chunks.size.push_back(std::max<hsize_t>(dims[i], 1));
    left /= chunks.size.back();
  }
  int unpacking = 0;
  bool shuffled_after = false;
  for (int i = 0; i < H5Pget_nfilters(made.get()); ++i) {
    unsigned flags = 0;
    unsigned config = 0;
    size_t values = 0;
    const H5Z_filter_t filter = H5Pget_filter2(made.get(), static_cast<unsigned>(i), &flags,
                                               &values, nullptr, 0, nullptr, &config);
    if (filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32) ++unpacking;
    if (filter == H5Z_FILTER_DEFLATE) chunks.deflated = true;
    // What is on the disk is then no stream that can be looked into. Nobody packs in this order.
    if (filter == H5Z_FILTER_SHUFFLE && chunks.deflated) shuffled_after = true;
  }
  chunks.fit = rank > 0 && left > 0 && unpacking <= 1 && !shuffled_after;
  return chunks;
}

// How much a deflate stream unpacks to; counts no further than `most`. One that is damaged counts
// up to there: the library will say what is wrong with it.
uint64_t UnpackedSize(std::vector<uint8_t>& packed, uint64_t most) {
  std::vector<uint8_t> nowhere(size_t{64} << 10);
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();  // as the vector above
  stream.next_in = packed.data();
  stream.avail_in = static_cast<uInt>(packed.size());
  uint64_t size = 0;
  int state = Z_OK;
  while (state == Z_OK && size < most) {
    stream.next_out = nowhere.data();
    stream.avail_out = static_cast<uInt>(nowhere.size());
    state = inflate(&stream, Z_NO_FLUSH);
    size += nowhere.size() - stream.avail_out;
  }
  inflateEnd(&stream);
  return size;
}

// Gray values in the last third of `bytes`, spread to R, G, B from the front.
void SpreadGray(uint8_t* bytes, size_t values) {
  const uint8_t* from = bytes + 2 * values;
  for (size_t i = 0; i < values; ++i) {
    const uint8_t gray = from[i];
    std::fill_n(bytes + 3 * i, 3, gray);
  }
}

}  // namespace

// A data set of the file, and what it has taken a look into.
struct Hdf5Set {
  Handle handle;
  Chunks chunks;
  std::set<std::vector<hsize_t>> looked_into;

  Status CheckChunks(int64_t first, int64_t count, uint64_t most_bytes);
  Status CheckChunk(const std::vector<hsize_t>& begin, uint64_t most_bytes);
};

struct Hdf5File {
  Handle file;
  Hdf5Set images;
  Hdf5Set labels;
  uint64_t most_bytes = 0;  // that a chunk may unpack to

  Hdf5File() = default;
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;
  ~Hdf5File() {
    const LibraryLock lock;
    images.handle.Close();
    labels.handle.Close();
    file.Close();
  }
};

// Deflate packs 1032 to 1 at best, whatever size the chunk is said to have. So nearly every chunk
// is known to fit by its packed size; one that holds a large part of the file's bytes is unpacked
// once to nowhere.
Status Hdf5Set::CheckChunk(const std::vector<hsize_t>& begin, uint64_t most_bytes) {
  hsize_t packed_bytes = 0;
  if (H5Dget_chunk_storage_size(handle.get(), begin.data(), &packed_bytes) < 0) {
    H5Eclear2(H5E_DEFAULT);  // the read will say why
    return {};
  }
  if (packed_bytes <= most_bytes / kDeflatePacks || looked_into.contains(begin)) return {};
  const Error too_large{
      ErrorKind::kRun,
      fmt::format("a chunk of {} packed bytes unpacks to far more than the file's size",
                  packed_bytes),
      "", "write it again with one chunk per image"};
  if (packed_bytes > std::min<uint64_t>(most_bytes, UINT32_MAX)) return too_large;
  std::vector<uint8_t> packed(packed_bytes);
  uint32_t skipped_filters = 0;
  if (H5Dread_chunk(handle.get(), H5P_DEFAULT, begin.data(), &skipped_filters, packed.data()) < 0) {
    H5Eclear2(H5E_DEFAULT);
    return {};
  }
  if (UnpackedSize(packed, most_bytes) >= most_bytes) return too_large;
  looked_into.insert(begin);
  return {};
}

// All that rows `first` to `first` + `count` - 1 lie in.
Status Hdf5Set::CheckChunks(int64_t first, int64_t count, uint64_t most_bytes) {
  if (!chunks.deflated) return {};
  const std::vector<int64_t> dims = DimensionsOf(handle.get());
  const std::vector<hsize_t>& size = chunks.size;
  if (dims.size() != size.size()) return {};
  const auto end_of = [&](size_t d) {
    return static_cast<hsize_t>(d == 0 ? first + count : dims[d]);
  };
  std::vector<hsize_t> begin(size.size(), 0);
  const hsize_t first_row = static_cast<hsize_t>(first) / size[0] * size[0];
  begin[0] = first_row;
  for (;;) {
    STALLSCOPE_RETURN_IF_ERROR(CheckChunk(begin, most_bytes));
    size_t d = begin.size();
    while (d > 0 && (begin[d - 1] += size[d - 1]) >= end_of(d - 1)) {
      --d;
      begin[d] = d == 0 ? first_row : 0;
    }
    if (d == 0) return {};
  }
}

Hdf5ImageReader::Hdf5ImageReader(std::unique_ptr<Hdf5File> file, std::string path,
                                 const ReadOptions& options)
    : file_(std::move(file)), path_(std::move(path)), options_(options) {}
Hdf5ImageReader::Hdf5ImageReader(Hdf5ImageReader&&) noexcept = default;
Hdf5ImageReader& Hdf5ImageReader::operator=(Hdf5ImageReader&&) noexcept = default;
Hdf5ImageReader::~Hdf5ImageReader() = default;

Result<Hdf5ImageReader> Hdf5ImageReader::Open(const std::string& path, const Hdf5Names& names,
                                              const ReadOptions& options,
                                              const ImageLimits& limits) {
  // The library's own words for a file that is not there are about its drivers.
  const auto there = OpenFileSource(path, options);
  if (!there.ok()) return there.error();
  auto file = std::make_unique<Hdf5File>();
  Hdf5File& handles = *file;
  Hdf5ImageReader reader(std::move(file), path, options);
  {
    const LibraryLock lock;
    handles.file = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), &H5Fclose);
    if (!handles.file.ok()) {
      return LibraryError(path, "cannot read the HDF5 file", "copy or write it again");
    }
    handles.images.handle =
        Handle(H5Dopen2(handles.file.get(), names.images.c_str(), H5P_DEFAULT), &H5Dclose);
    handles.labels.handle =
        Handle(H5Dopen2(handles.file.get(), names.labels.c_str(), H5P_DEFAULT), &H5Dclose);
    if (!handles.images.handle.ok() || !handles.labels.handle.ok()) {
      const std::string& missing = handles.images.handle.ok() ? names.labels : names.images;
      return LibraryError(path, "no data set '" + missing + "'",
                          "name it in the source's features");
    }
  }
  STALLSCOPE_RETURN_IF_ERROR(reader.CheckShapes(names, limits));
  const uint64_t bytes = there.value()->TotalBytes().value_or(0);
  const LibraryLock lock;
  handles.most_bytes = MostMemoryFor(bytes);
  for (Hdf5Set* const set : {&handles.images, &handles.labels}) {
    set->chunks = ChunksOf(set->handle.get(), handles.most_bytes);
  }
  if (!handles.images.chunks.fit || !handles.labels.chunks.fit) {
    return Error{
        ErrorKind::kRun,
        fmt::format("its chunks are made to unpack to far more than the file's {} bytes", bytes),
        path, "write it again with one chunk per image and one compression filter"};
  }
  return reader;
}

Status Hdf5ImageReader::CheckShapes(const Hdf5Names& names, const ImageLimits& limits) {
  const LibraryLock lock;
  const std::vector<int64_t> images = DimensionsOf(file_->images.handle.get());
  const std::vector<int64_t> labels = DimensionsOf(file_->labels.handle.get());
  const bool gray = images.size() == 3 || (images.size() == 4 && images[3] == 1);
  const bool color = images.size() == 4 && images[3] == 3;
  if (!IsInteger(file_->images.handle.get(), true) || !(gray || color)) {
    return Error{ErrorKind::kRun,
                 fmt::format("the data set '{}' is {}, not images", names.images,
                             images.size() <= Shape::kMaxRank ? Shape::Of(images).ToString()
                                                              : "of many dimensions"),
                 path_, "uint8 of count x height x width x 3 is"};
  }
  const bool one_each = labels.size() == 1 || (labels.size() == 2 && labels[1] == 1);
  if (!IsInteger(file_->labels.handle.get(), false) || !one_each || labels[0] != images[0]) {
    return Error{ErrorKind::kRun,
                 fmt::format("the data set '{}' does not have one integer for each of {} images",
                             names.labels, images[0]),
                 path_, "write the file again"};
  }
  const auto clamped = [](int64_t dim) {
    return static_cast<uint32_t>(std::clamp<int64_t>(dim, 0, UINT32_MAX));
  };
  Status size =
      CheckImageSize("an image of the file", clamped(images[2]), clamped(images[1]), limits);
  if (!size.ok()) return Locate(std::move(size).error(), {path_, 0, 0});
  count_ = images[0];
  height_ = images[1];
  width_ = images[2];
  channels_ = color ? 3 : 1;
  return {};
}

Status Hdf5ImageReader::Read(int64_t first, int64_t count, Tensor& images,
                             std::vector<int64_t>& labels) {
  if (first < 0 || count < 0 || first > count_ || count > count_ - first) {
    return Error{ErrorKind::kRun,
                 fmt::format("images {} to {} of {} were requested", first, first + count, count_),
                 path_, ""};
  }
  if (!images.TryReset(DType::kUint8, {count, height_, width_, 3})) {
    return Error{ErrorKind::kRun, "no memory for the images", path_, "read fewer at once"};
  }
  labels.resize(static_cast<size_t>(count));
  if (count == 0) return {};
  const size_t values = static_cast<size_t>(count * height_ * width_);
  uint8_t* into = channels_ == 3 ? images.data() : images.data() + 2 * values;
  const int64_t blocked = ReadOptions::BlockedClock();
  const Ticks begin = NowTicks();
  bool done;
  Error error;
  {
    const LibraryLock lock;
    for (Hdf5Set* const set : {&file_->images, &file_->labels}) {
      Status fits = set->CheckChunks(first, count, file_->most_bytes);
      if (!fits.ok()) {
        error = std::move(fits).error();
        error.where = fmt::format("{}, records {} to {}", path_, first, first + count - 1);
        return error;
      }
    }
    done = Transfer(file_->images.handle.get(), H5T_NATIVE_UINT8, first, count, into, nullptr) &&
           Transfer(file_->labels.handle.get(), H5T_NATIVE_INT64, first, count, labels.data(),
                    nullptr);
    if (!done) {
      error = LibraryError(fmt::format("{}, records {} to {}", path_, first, first + count - 1),
                           "cannot read the images", "copy or write the file again");
    }
  }
  if (!done) return error;
  const uint64_t bytes = values * static_cast<uint64_t>(channels_);
  if (options_.throttle != nullptr) options_.throttle->Take(bytes);
  if (options_.on_read)
    options_.on_read(begin, NowTicks(), bytes, ReadOptions::BlockedClock() - blocked);
  if (channels_ == 1) SpreadGray(images.data(), values);
  return {};
}

Hdf5ImageWriter::Hdf5ImageWriter(std::unique_ptr<Hdf5File> file, std::string path,
                                 const Shape& shape, int64_t count)
    : file_(std::move(file)), path_(std::move(path)), shape_(shape), count_(count) {}
Hdf5ImageWriter::Hdf5ImageWriter(Hdf5ImageWriter&&) noexcept = default;
Hdf5ImageWriter& Hdf5ImageWriter::operator=(Hdf5ImageWriter&&) noexcept = default;
Hdf5ImageWriter::~Hdf5ImageWriter() = default;

Result<Hdf5ImageWriter> Hdf5ImageWriter::Create(const std::string& path, int64_t count,
                                                int64_t height, int64_t width) {
  auto file = std::make_unique<Hdf5File>();
  Hdf5File& handles = *file;
  Hdf5ImageWriter writer(std::move(file), path, {height, width, 3}, count);
  const LibraryLock lock;
  handles.file = Handle(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), &H5Fclose);
  const hsize_t dims[4] = {static_cast<hsize_t>(count), static_cast<hsize_t>(height),
                           static_cast<hsize_t>(width), 3};
  const hsize_t chunk[4] = {1, dims[1], dims[2], 3};
  const Handle images_space(H5Screate_simple(4, dims, nullptr), &H5Sclose);
  const Handle labels_space(H5Screate_simple(1, dims, nullptr), &H5Sclose);
  const Handle chunked(H5Pcreate(H5P_DATASET_CREATE), &H5Pclose);
  const Handle plain(H5Pcreate(H5P_DATASET_CREATE), &H5Pclose);
  H5Pset_obj_track_times(chunked.get(), false);
  H5Pset_obj_track_times(plain.get(), false);
  H5Pset_fill_time(chunked.get(), H5D_FILL_TIME_NEVER);
  H5Pset_chunk(chunked.get(), 4, chunk);
  handles.images.handle =
      Handle(H5Dcreate2(handles.file.get(), "images", H5T_STD_U8LE, images_space.get(), H5P_DEFAULT,
                        chunked.get(), H5P_DEFAULT),
             &H5Dclose);
  handles.labels.handle =
      Handle(H5Dcreate2(handles.file.get(), "labels", H5T_STD_I64LE, labels_space.get(),
                        H5P_DEFAULT, plain.get(), H5P_DEFAULT),
             &H5Dclose);
  if (!handles.images.handle.ok() || !handles.labels.handle.ok()) {
    return LibraryError(path, "cannot create the HDF5 file", "check the folder and the free space");
  }
  return writer;
}

Status Hdf5ImageWriter::Write(const Tensor& image, int64_t label) {
  if (image.dtype() != DType::kUint8 || image.shape() != shape_ ||
      static_cast<int64_t>(labels_.size()) == count_) {
    return Error{ErrorKind::kRun,
                 fmt::format("image {} is {}, of {} images of {}", labels_.size(),
                             image.shape().ToString(), count_, shape_.ToString()),
                 path_, "all images of an HDF5 file must have the same size"};
  }
  const LibraryLock lock;
  if (!Transfer(file_->images.handle.get(), H5T_NATIVE_UINT8, static_cast<int64_t>(labels_.size()),
                1, nullptr, image.data())) {
    return LibraryError(path_, "cannot write the HDF5 file", "free some space");
  }
  labels_.push_back(label);
  return {};
}

Status Hdf5ImageWriter::Finish() {
  const LibraryLock lock;
  labels_.resize(static_cast<size_t>(count_));
  const bool written = count_ == 0 || Transfer(file_->labels.handle.get(), H5T_NATIVE_INT64, 0,
                                               count_, nullptr, labels_.data());
  // Closing flushes: each is a chance to fail.
  if (!written || !file_->images.handle.Close() || !file_->labels.handle.Close() ||
      !file_->file.Close()) {
    return LibraryError(path_, "cannot write the HDF5 file", "free some space");
  }
  return {};
}

}  // namespace stallscope::data
