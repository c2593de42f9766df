/*===- HeaderTest.c - The public header is C99 ------------------------------===
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/
#include "coll/coll.h"

/* Compiled with -std=c99 -pedantic-errors; called by ApiTest. */
int collHeaderIsC99(void);
int collHeaderIsC99(void) {
  coll_config config = COLL_CONFIG_INIT;
  coll_call call = {0};
  return config.size == sizeof config && config.device == -1 &&
         config.secret_file == NULL && call.in == NULL &&
         sizeof(coll_id) == 128 && coll_status_string(COLL_OK)[0] != 0;
}
