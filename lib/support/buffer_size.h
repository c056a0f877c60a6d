/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sizes of buffers. A fuzzer's inputs are short, so in its builds (make fuzz) buffers are short, too: inputs reach
 * the ends of buffers, and less memory is cleared for each.
 */
#pragma once

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define BUFFER_SIZE(usual, fuzzed) (fuzzed)
#else
#define BUFFER_SIZE(usual, fuzzed) (usual)
#endif
