/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/host/host_verity.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fsverity.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

/* Linux 5.12 brought this struct and call; not all headers have them. */
struct read_argument {
	uint64_t kind, offset, length, buffer, reserved;
};
#define READ_METADATA _IOWR('f', 135, struct read_argument)
#define KIND_DESCRIPTOR 2
#define KIND_SIGNATURE 3

static int open_file(int directory, const char *name)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int descriptor = openat(directory, name, flags | O_NOATIME);

	if (descriptor < 0 && errno == EPERM) /* only the owner may use O_NOATIME */
		descriptor = openat(directory, name, flags);
	return descriptor;
}

enum host_verity_support host_verity_ask(int directory, const char *name)
{
	SCOPE_CLOSE int descriptor = open_file(directory, name);
	struct fsverity_digest answer = { .digest_size = 0 };

	if (descriptor < 0)
		return HOST_VERITY_UNKNOWN;
	/* The buffer has no room for a digest, so a protected file gives EOVERFLOW. */
	if (!ioctl(descriptor, FS_IOC_MEASURE_VERITY, &answer) || errno == ENODATA || errno == EOVERFLOW)
		return HOST_VERITY_POSSIBLE;
	return HOST_VERITY_NONE;
}

bool host_verity_has(int directory, const char *name)
{
	struct statx answer;

	return !statx(directory, name, AT_SYMLINK_NOFOLLOW, 0, &answer) && (answer.stx_attributes & STATX_ATTR_VERITY);
}

static errcode_t read_part(int descriptor, uint64_t kind, uint8_t *bytes, uint64_t *count)
{
	struct read_argument argument = { .kind = kind, .length = *count, .buffer = (uintptr_t)bytes };
	int got = ioctl(descriptor, READ_METADATA, &argument);

	*count = got < 0 ? 0 : (uint64_t)got;
	return got < 0 ? errno : 0;
}

errcode_t host_verity_read(int directory, const char *name, struct arena *memory, const struct tree_verity **ret)
{
	SCOPE_CLOSE int descriptor = open_file(directory, name);
	uint8_t bytes[VERITY_DESCRIPTOR_BYTES + VERITY_MOST_SIGNATURE_BYTES];
	uint64_t descriptor_bytes = VERITY_DESCRIPTOR_BYTES, signature_bytes = VERITY_MOST_SIGNATURE_BYTES;
	struct verity_value value;

	*ret = NULL;
	if (descriptor < 0)
		return errno;
	errcode_t error = read_part(descriptor, KIND_DESCRIPTOR, bytes, &descriptor_bytes);

	if (error)
		return error;
	/* The call leaves out the size of the signature. */
	if (descriptor_bytes != VERITY_DESCRIPTOR_BYTES || !verity_decode(bytes, sizeof(bytes), &value))
		return EUCLEAN;
	error = read_part(descriptor, KIND_SIGNATURE, bytes, &signature_bytes);
	if (error && error != ENODATA)
		return error;
	struct tree_verity *verity = arena_alloc(memory, sizeof(*verity) + signature_bytes);

	if (!verity)
		return ENOMEM;
	*verity = (struct tree_verity){
		.algorithm = value.algorithm,
		.block_bits = value.block_bits,
		.salt_bytes = value.salt_bytes,
		.is_inherited = true,
		.has_digest = true,
		.signature_bytes = (uint32_t)signature_bytes,
		.signature = signature_bytes ? verity + 1 : NULL,
	};
	memcpy(verity->salt, value.salt, sizeof(verity->salt));
	memcpy(verity + 1, bytes, signature_bytes);
	verity_digest(&value, tree_verity_hash(value.algorithm), verity->digest);
	*ret = verity;
	return 0;
}
