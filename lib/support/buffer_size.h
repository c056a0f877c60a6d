/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How large buffers are. A fuzzer's inputs are short, so where they are read (make fuzz) buffers are, too: what happens
 * at the ends of buffers happens to such an input, and less memory is cleared for each.
 */
#pragma once

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define BUFFER_SIZE(usual, fuzzed) (fuzzed)
#else
#define BUFFER_SIZE(usual, fuzzed) (usual)
#endif
