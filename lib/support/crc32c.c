/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/crc32c.h"

#include <ext2fs/ext2fs.h>
#include <string.h>

#if defined(__x86_64__)

#define HAVE_INSTRUCTION
#define INSTRUCTION_TARGET __attribute__((target("sse4.2")))

static inline int processor_has_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}

#define STEP_8(crc, value) ((uint32_t)__builtin_ia32_crc32di(crc, value))
#define STEP_1(crc, value) __builtin_ia32_crc32qi(crc, value)

#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

#include <sys/auxv.h>

#define HAVE_INSTRUCTION
#define INSTRUCTION_TARGET __attribute__((target("+crc")))
#define HARDWARE_HAS_CRC32 (1ul << 7) /* HWCAP_CRC32 of asm/hwcap.h */

static inline int processor_has_instruction(void)
{
	static int known; /* 1: no, 2: yes; every thread that finds 0 stores the same */

	if (!__atomic_load_n(&known, __ATOMIC_RELAXED))
		__atomic_store_n(&known, getauxval(AT_HWCAP) & HARDWARE_HAS_CRC32 ? 2 : 1, __ATOMIC_RELAXED);
	return __atomic_load_n(&known, __ATOMIC_RELAXED) == 2;
}

#define STEP_8(crc, value) __builtin_aarch64_crc32cx(crc, value)
#define STEP_1(crc, value) __builtin_aarch64_crc32cb(crc, value)

#endif

#ifdef HAVE_INSTRUCTION
INSTRUCTION_TARGET static uint32_t by_instruction(uint32_t crc, const unsigned char *bytes, size_t count)
{
	for (; count >= 8; bytes += 8, count -= 8) {
		uint64_t value;

		memcpy(&value, bytes, sizeof(value));
		crc = STEP_8(crc, value);
	}
	for (; count; bytes++, count--)
		crc = STEP_1(crc, *bytes);
	return crc;
}
#endif

uint32_t crc32c(uint32_t crc, const void *bytes, size_t count)
{
#ifdef HAVE_INSTRUCTION
	if (processor_has_instruction())
		return by_instruction(crc, bytes, count);
#endif
	return ext2fs_crc32c_le(crc, bytes, count);
}

bool crc32c_has_instruction(void)
{
#ifdef HAVE_INSTRUCTION
	return processor_has_instruction();
#else
	return false;
#endif
}
