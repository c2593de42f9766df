//===- PlanData.cpp - The constant data of a plan -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the structures of coll/abi.h as LLVM constants, field by field in
// their order. LLVM lays a struct out as C does; an assert compares every size
// with the header's, so a field that is added there and forgotten here does not
// go unnoticed.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/PlanData.h"

#include "coll/abi.h"
#include "lib/Analysis/MapLimits.h"
#include "llvm/IR/Constants.h"
#include "llvm/Support/SHA256.h"

#include <bit>
#include <map>

using namespace coll;
using namespace coll::lowering;
using llvm::Constant;

static_assert(maxSlots == COLL_MAX_SLOTS &&
              maxProgramBlocks == COLL_MAX_BLOCKS &&
              maxSlotBytes == COLL_MAX_SLOT_BYTES &&
              maxRoundBytes == COLL_MAX_ROUND_BYTES &&
              maxProgramSteps == COLL_MAX_STEPS);

namespace {
class DataBuilder {
public:
  DataBuilder(llvm::Module &module, const Plan &plan,
              const std::vector<KernelInfo> &kernels, const DeviceCode &device)
      : module(module), context(module.getContext()), plan(plan),
        kernels(kernels), device(device) {}
  void build();

private:
  using Fields = std::vector<Constant *>;
  Constant *u8(uint64_t v) {
    assert(v <= UINT8_MAX && "refused before");
    return llvm::ConstantInt::get(llvm::Type::getInt8Ty(context), v);
  }
  Constant *u16(uint64_t v) {
    assert(v <= UINT16_MAX && "refused before");
    return llvm::ConstantInt::get(llvm::Type::getInt16Ty(context), v);
  }
  Constant *u32(uint64_t v) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), v);
  }
  Constant *u64(uint64_t v) {
    return llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), v);
  }
  Constant *null() {
    return llvm::ConstantPointerNull::get(llvm::PointerType::get(context, 0));
  }
  Constant *record(const Fields &fields, size_t size);
  Constant *array(Constant *data);
  Constant *array(const std::vector<Constant *> &elements);
  Constant *words(llvm::ArrayRef<uint32_t> values) {
    return values.empty()
               ? null()
               : array(llvm::ConstantDataArray::get(context, values));
  }
  Constant *fixed(const std::vector<uint32_t> &values, unsigned count);
  Constant *string(llvm::StringRef text);
  Constant *classRecord(const ClassTable &table);
  Constant *ranksRecord(const PlanRanks &ranks);
  Constant *memberList(const PlanRanks &ranks);
  Constant *sizeList(const ProgramSet &programs);
  Constant *bufferList(const ProgramSet &programs);
  Constant *kernelList();
  Constant *imageList();
  Constant *deviceKernelList();
  Constant *siteList();
  uint64_t contractHash();

  llvm::Module &module;
  llvm::LLVMContext &context;
  const Plan &plan;
  const std::vector<KernelInfo> &kernels;
  const DeviceCode &device;
  llvm::StringMap<Constant *> strings;
};
} // namespace

namespace {
/// SHA-256 of a list of values; every list and text has its length before it.
class Digest {
public:
  template <typename T> void add(llvm::ArrayRef<T> values) {
    static_assert(std::is_integral_v<T>);
    addBytes(values.size(), values.data(), values.size() * sizeof(T));
  }
  void add(const std::vector<uint32_t> &values) {
    add(llvm::ArrayRef<uint32_t>(values));
  }
  void add(std::initializer_list<uint64_t> values) {
    add(llvm::ArrayRef<uint64_t>(values.begin(), values.size()));
  }
  void add(llvm::StringRef text) {
    addBytes(text.size(), text.data(), text.size());
  }
  /// The first 8 bytes.
  uint64_t value() {
    std::array<uint8_t, 32> bytes = hash.final();
    uint64_t first;
    memcpy(&first, bytes.data(), sizeof first);
    return first;
  }

private:
  void addBytes(uint64_t length, const void *data, size_t bytes) {
    auto raw = [](const void *from, size_t size) {
      return llvm::ArrayRef<uint8_t>(static_cast<const uint8_t *>(from), size);
    };
    hash.update(raw(&length, sizeof length));
    hash.update(raw(data, bytes));
  }
  llvm::SHA256 hash;
};
} // namespace

/// What a function computes; what it is called does not matter.
static void add(Digest &digest, const Function &function) {
  digest.add({function.params.size(), function.code.size()});
  for (Buffer::Kind kind : function.params)
    digest.add({kind});
  for (const Function::Node &node : function.code)
    digest.add({node.op, node.param, std::bit_cast<uint64_t>(node.value)});
}

/// Of the form of the values that a step takes, makes and sends: types on the
/// wire and in memory, and what is computed.
static uint64_t digestOf(const StepShape &shape,
                         const std::vector<Function> &functions) {
  Digest digest;
  StepShape unnumbered = shape;
  for (ExprNode &node : unnumbered.expr) {
    if (node.kind != ExprNode::Apply)
      continue;
    add(digest, functions[node.function]);
    node.function = 0;
  }
  digest.add(unnumbered.key());
  return digest.value();
}

uint64_t PlanRanks::digest(const lowering::ShapeTable &shapes) const {
  Digest digest;
  digest.add(programs->schedule);
  digest.add(programs->contract);
  digest.add(programs->rankDims);
  digest.add({programs->roundBytes, programs->instances, programs->numTags,
              bulk.slots, bulk.slices, small.slots});
  for (const std::vector<uint32_t> &member : classes.classOf)
    digest.add(member);
  std::map<uint32_t, uint64_t> shapeDigests;
  for (const ClassTable &table : tables) {
    std::vector<uint32_t> words = table.words;
    for (uint32_t offset : table.steps) {
      // A shape's number depends on what else is in the object, and so does a
      // site's.
      uint32_t &shape = words[offset + offsetof(coll_step_head, shape) / 4];
      auto [known, isNew] = shapeDigests.try_emplace(shape);
      if (isNew)
        known->second = digestOf(shapes.all()[shape], programs->functions);
      digest.add({known->second});
      shape = words[offset + offsetof(coll_step_head, site) / 4] = 0;
    }
    digest.add(words);
    for (const WordReloc &reloc : table.relocs) {
      digest.add({reloc.word, reloc.terms.size()});
      for (const RelocTerm &t : reloc.terms)
        digest.add({static_cast<uint32_t>(t.base), t.size, t.stride, t.dim,
                    static_cast<uint32_t>(t.sign), t.ofRoot});
    }
  }
  return digest.value();
}

std::optional<std::string> coll::exceedsPlan(const ProgramSet &programs) {
  uint64_t buffers = 0, scalars = 0;
  for (const Buffer &b : programs.members[0].buffers)
    ++(b.kind == Buffer::Scalar ? scalars : buffers);
  struct {
    const char *what;
    uint64_t needed, most;
  } limits[] = {
      {"buffers", buffers, COLL_MAX_BUFS},
      // The last one is premul_sum's factor.
      {"scalar arguments", scalars,
       COLL_MAX_SCALARS - uint64_t(programs.reduces)},
      {"launch parameters", programs.launchNames.size(), COLL_MAX_LAUNCH},
      {"dimensions of ranks", programs.rankDims.size(), COLL_MAX_DIMS},
  };
  for (auto [what, needed, most] : limits)
    if (needed > most)
      return std::to_string(needed) + " " + what + ", a plan has at most " +
             std::to_string(most);
  return std::nullopt;
}

Constant *DataBuilder::record(const Fields &fields, size_t size) {
  Constant *value = llvm::ConstantStruct::getAnon(fields);
  assert(module.getDataLayout().getTypeAllocSize(value->getType()) == size &&
         "a structure of coll/abi.h changed");
  (void)size;
  return value;
}

Constant *DataBuilder::array(Constant *data) {
  auto *global = new llvm::GlobalVariable(module, data->getType(), true,
                                          llvm::GlobalValue::PrivateLinkage,
                                          data, plan.name + "_data");
  global->setAlignment(llvm::Align(8));
  return global;
}

Constant *DataBuilder::array(const std::vector<Constant *> &elements) {
  if (elements.empty())
    return null();
  return array(llvm::ConstantArray::get(
      llvm::ArrayType::get(elements[0]->getType(), elements.size()), elements));
}

Constant *DataBuilder::fixed(const std::vector<uint32_t> &values,
                             unsigned count) {
  assert(values.size() <= count && "exceedsPlan was not asked");
  std::vector<uint32_t> padded = values;
  padded.resize(count);
  return llvm::ConstantDataArray::get(context,
                                      llvm::ArrayRef<uint32_t>(padded));
}

Constant *DataBuilder::string(llvm::StringRef text) {
  Constant *&value = strings[text];
  if (!value) {
    Constant *data = llvm::ConstantDataArray::getString(context, text);
    auto *global = new llvm::GlobalVariable(module, data->getType(), true,
                                            llvm::GlobalValue::PrivateLinkage,
                                            data, plan.name + "_text");
    global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    value = global;
  }
  return value;
}

Constant *DataBuilder::classRecord(const ClassTable &t) {
  std::vector<Constant *> relocs, terms;
  for (const WordReloc &reloc : t.relocs) {
    relocs.push_back(
        record({u32(reloc.word), u32(terms.size()), u32(reloc.terms.size())},
               sizeof(coll_reloc)));
    for (const RelocTerm &term : reloc.terms)
      terms.push_back(
          record({u32(static_cast<uint32_t>(term.base)), u32(term.size),
                  u32(term.stride), u8(term.dim),
                  u8(static_cast<uint8_t>(term.sign)), u8(term.ofRoot), u8(0)},
                 sizeof(coll_reloc_term)));
  }
  return record(
      {words(t.words),         array(relocs),       array(terms),
       words(t.steps),         u32(t.words.size()), u32(t.relocs.size()),
       u32(t.steps.size()),    u32(t.sendEnds),     u32(t.numSendEnds),
       u32(t.recvEnds),        u32(t.numRecvEnds),  u32(t.programBlocks),
       u32(t.entry[0]),        u32(t.entry[1]),     u32(t.scratchSlots[0]),
       u32(t.scratchSlots[1]), u32(t.present),      u32(t.partSizes),
       u32(t.sizeStride),      u32(t.given),        u32(t.numGiven),
       u32(t.aliases),         u32(t.numAliases)},
      sizeof(coll_class));
}

Constant *DataBuilder::memberList(const PlanRanks &ranks) {
  std::vector<Constant *> members;
  Constant *shared = nullptr;
  for (const std::vector<uint32_t> &classOf : ranks.classes.classOf) {
    Constant *list = ranks.classes.rotates && shared ? shared : words(classOf);
    shared = list;
    members.push_back(record({list, u32(ranks.classes.rotates), u32(0)},
                             sizeof(coll_member)));
  }
  return array(members);
}

Constant *DataBuilder::sizeList(const ProgramSet &programs) {
  std::vector<Constant *> sizes;
  for (const SizeSymbol &s : programs.sizes) {
    bool isConst = s.kind == SizeSymbol::Const;
    uint64_t index = s.kind == SizeSymbol::Launch ? s.value : 0;
    sizes.push_back(
        record({u32(isConst ? COLL_SIZE_CONST : COLL_SIZE_COUNT), u32(index),
                u64(isConst ? s.value : 0), u32(s.chunks), u32(0)},
               sizeof(coll_plan_size)));
  }
  return array(sizes);
}

/// The widest explicitly typed element that is stored or sent, and whether
/// anything is in the accumulation type.
static std::pair<uint32_t, bool> storageOf(const ProgramSet &programs) {
  uint32_t bytes = 0;
  bool accum = false;
  auto look = [&](const std::vector<RankProgram> &ranks) {
    for (const RankProgram &program : ranks)
      for (const Port &port : program.ports) {
        accum |= port.type == ElemType::Accum;
        if (port.type == ElemType::MXE4M3) // with its scales more than one
          bytes = std::max(bytes, 2u);
        else if (port.type != ElemType::T && port.type != ElemType::Accum)
          bytes = std::max(bytes, bytesOf(resolve(port.type, Format::F32)));
      }
  };
  for (const ProgramMember &member : programs.members) {
    look(member.outOfPlace);
    look(member.inPlace);
  }
  return {bytes, accum};
}

Constant *DataBuilder::ranksRecord(const PlanRanks &ranks) {
  const ProgramSet &p = *ranks.programs;
  std::vector<uint32_t> launchValues, launchCounts;
  for (const std::vector<uint32_t> &domain : p.launchDomains) {
    launchValues.insert(launchValues.end(), domain.begin(), domain.end());
    launchCounts.push_back(domain.size());
  }
  std::vector<Constant *> classes;
  for (const ClassTable &table : ranks.tables)
    classes.push_back(classRecord(table));
  auto [storageBytes, accum] = storageOf(p);
  return record({u32(p.numRanks()),
                 u32(p.rankDims.size()),
                 fixed(p.rankDims, COLL_MAX_DIMS),
                 u64(ranks.digest(plan.shapes)),
                 u32(p.members.size()),
                 u32(classes.size()),
                 memberList(ranks),
                 words(launchValues),
                 fixed(launchCounts, COLL_MAX_LAUNCH),
                 u32(p.sizes.size()),
                 array(classes),
                 sizeList(p),
                 u32(p.numTags),
                 u32(p.roundBytes / COLL_UNIT_BYTES),
                 u32(p.instances),
                 u32(storageBytes),
                 u32(accum ? COLL_PLAN_ACCUM : 0),
                 u8(ranks.bulk.slots),
                 u8(ranks.small.slots),
                 u16(ranks.bulk.slices),
                 bufferList(p)},
                sizeof(coll_plan_ranks));
}

bool coll::hasCounts(const ProgramSet &programs) {
  return llvm::any_of(programs.sizes, [](const SizeSymbol &s) {
    return s.kind != SizeSymbol::Const;
  });
}

bool coll::hasElements(const ProgramSet &programs) {
  return llvm::any_of(programs.sizes,
                      [](const SizeSymbol &s) { return !s.isToken(); });
}

Constant *DataBuilder::bufferList(const ProgramSet &programs) {
  static constexpr uint32_t kinds[] = {COLL_BUF_IN, COLL_BUF_OUT, COLL_BUF_ELEM,
                                       COLL_BUF_ROW, COLL_BUF_SCALAR};
  std::vector<Constant *> buffers;
  for (const Buffer &b : programs.members[0].buffers)
    buffers.push_back(record({string(b.name), u32(kinds[b.kind]), u32(b.parts)},
                             sizeof(coll_plan_buf)));
  return array(buffers);
}

Constant *DataBuilder::kernelList() {
  std::vector<Constant *> list;
  for (const KernelInfo &k : kernels) {
    llvm::Function *fn = module.getFunction(k.symbol);
    assert(fn && "every kernel is in the module");
    fn->setLinkage(llvm::GlobalValue::InternalLinkage);
    Constant *pad = llvm::ConstantDataArray::get(
        context, llvm::ArrayRef<uint8_t>{0, 0, 0, 0, 0});
    list.push_back(record(
        {u8(k.dtype), u8(k.op), u8(static_cast<uint8_t>(k.isa)), pad, fn},
        sizeof(coll_kernel)));
  }
  return array(list);
}

Constant *DataBuilder::imageList() {
  std::vector<Constant *> list;
  for (const DeviceImage &image : device.images) {
    bool isText = image.kind == COLL_IMAGE_PTX;
    Constant *data =
        array(llvm::ConstantDataArray::getString(context, image.data, isText));
    list.push_back(record({u32(image.kind), u32(image.chip), data,
                           u64(image.data.size() + isText)},
                          sizeof(coll_image)));
  }
  return array(list);
}

Constant *DataBuilder::deviceKernelList() {
  std::vector<Constant *> list;
  for (const DeviceKernel &k : device.kernels)
    list.push_back(
        record({u8(k.dtype), u8(k.op), u16(k.threads), u32(k.protocols),
                u32(k.paramBytes), u32(k.sharedBytes), u32(k.registers), u32(0),
                string(k.symbol)},
               sizeof(coll_device_kernel)));
  return array(list);
}

Constant *DataBuilder::siteList() {
  std::vector<Constant *> list;
  for (const PlanSite &s : plan.sites)
    list.push_back(
        record({string(s.file), u32(s.line), u32(s.column), string(s.text)},
               sizeof(coll_plan_site)));
  return array(list);
}

uint64_t DataBuilder::contractHash() {
  const ProgramSet &p = plan.any();
  Digest digest;
  digest.add(p.contract);
  digest.add(p.launchCounts);
  for (const std::string &name : p.launchNames)
    digest.add(name);
  for (const Buffer &b : p.members[0].buffers) {
    digest.add(b.name);
    digest.add({b.kind});
  }
  return digest.value();
}

void DataBuilder::build() {
  const ProgramSet &p = plan.any();
  uint32_t numBuffers = 0, numScalars = 0;
  for (const Buffer &b : p.members[0].buffers)
    ++(b.kind == Buffer::Scalar ? numScalars : numBuffers);
  std::vector<Constant *> ranks;
  for (const PlanRanks &r : plan.ranks)
    ranks.push_back(ranksRecord(r));
  uint32_t numCounts = hasCounts(p);
  std::string launchNames;
  for (const std::string &name : p.launchNames)
    launchNames += (launchNames.empty() ? "" : ",") + name;
  Constant *value =
      record({u32(COLL_ABI),
              u32((p.launchCounts.empty() ? 0 : COLL_PLAN_VCOUNTS) |
                  (p.map.protocol == "ll" ? COLL_PLAN_LL : 0) |
                  (p.map.protocol == "ll128" ? COLL_PLAN_LL128 : 0) |
                  (p.map.byRow ? COLL_PLAN_ROWS : 0) |
                  (hasBlocks(plan.shapes) ? COLL_PLAN_BLOCKS : 0)),
              string(plan.name),
              string(p.contract),
              string(p.sourcePath),
              u64(contractHash()),
              u32(numBuffers),
              u32(numScalars),
              u32(p.launchNames.size()),
              u32(numCounts),
              u32(ranks.size()),
              u32(kernels.size()),
              u32(plan.sites.size()),
              u32(p.reduces && hasElements(p)),
              array(ranks),
              kernelList(),
              siteList(),
              string(launchNames),
              u64(p.map.sizesLow),
              u64(p.map.sizesHigh),
              imageList(),
              deviceKernelList(),
              u32(device.images.size()),
              u32(device.kernels.size())},
             sizeof(coll_plan));
  auto *global = new llvm::GlobalVariable(module, value->getType(), true,
                                          llvm::GlobalValue::ExternalLinkage,
                                          value, plan.name + "_plan");
  global->setAlignment(llvm::Align(8));
}

void coll::addPlanData(llvm::Module &module, const Plan &plan,
                       const std::vector<KernelInfo> &kernels,
                       const DeviceCode &device) {
  DataBuilder(module, plan, kernels, device).build();
}
