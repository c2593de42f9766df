/* Prints what a plan holds for devices. */
#include "coll/abi.h"

#include <stdio.h>
#include <string.h>

extern const coll_plan allreduce_ring_plan;

static int isRight(const coll_image *image) {
  const char *data = image->data;
  if (image->kind == COLL_IMAGE_PTX)
    return strlen(data) + 1 == image->bytes && strstr(data, ".visible .entry");
  if (image->kind == COLL_IMAGE_CUBIN)
    return memcmp(data, "\177ELF", 4) == 0;
  return memcmp(data, "BC", 2) == 0;
}

int main(void) {
  static const char *const kinds[] = {"?", "PTX", "cubin", "bitcode"};
  const coll_plan *plan = &allreduce_ring_plan;
  printf("%s: %u host kernels, device kernels: ", NAME, plan->nkernels);
  for (uint32_t i = 0; i < plan->ndevice_kernels; ++i) {
    const coll_device_kernel *kernel = &plan->device_kernels[i];
    printf("%s%s for %u, %u threads, %u bytes, registers %s", i ? "; " : "",
           kernel->symbol, kernel->protocols, kernel->threads,
           kernel->param_bytes, kernel->registers ? "known" : "unknown");
  }
  printf("\n%s: ", NAME);
  for (uint32_t i = 0; i < plan->nimages; ++i) {
    const coll_image *image = &plan->images[i];
    printf("%s%s sm_%u%s", i ? ", " : "", kinds[image->kind], image->chip,
           isRight(image) ? "" : " (wrong)");
  }
  printf("\n");
  return 0;
}
