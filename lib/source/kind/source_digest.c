/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/kind/source_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <nettle/base16.h>

#include "support/io/whole_io.h"
#include "support/run/interrupt.h"

#define BUFFER_BYTES ((size_t)256 << 10)

void source_digest_text(struct sha256_ctx *hash, char digits[SOURCE_DIGEST_DIGITS + 1])
{
	uint8_t bytes[SHA256_DIGEST_SIZE];

	sha256_digest(hash, sizeof(bytes), bytes);
	base16_encode_update(digits, sizeof(bytes), bytes);
	digits[SOURCE_DIGEST_DIGITS] = '\0';
}

bool source_digest_is_valid(const char *digits)
{
	return strspn(digits, "0123456789abcdef") == SOURCE_DIGEST_DIGITS && !digits[SOURCE_DIGEST_DIGITS];
}

static errcode_t open_file(const struct source *source, int *descriptor, struct stat *status, struct problem *problem)
{
	*descriptor = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*descriptor < 0 || fstat(*descriptor, status))
		return problem_set(problem, errno, source->path, "cannot open");
	if (!S_ISREG(status->st_mode))
		return problem_set_reason(problem, EINVAL, source->path, "cannot open", "it is not a regular file");
	const uint64_t bytes = (uint64_t)status->st_size;

	if (*source->digest && bytes != source->bytes)
		return problem_set_reason(problem, EINVAL, source->path, "cannot use",
		                          "it is damaged: it has %" PRIu64 " bytes, not %" PRIu64, bytes,
		                          source->bytes);
	return 0;
}

static errcode_t hash_file(int descriptor, uint64_t bytes, char digits[SOURCE_DIGEST_DIGITS + 1])
{
	SCOPE_FREE uint8_t *buffer = malloc(BUFFER_BYTES);
	errcode_t error = buffer ? 0 : ENOMEM;
	struct sha256_ctx hash;

	sha256_init(&hash);
	for (uint64_t at = 0; !error && at < bytes; at += BUFFER_BYTES) {
		size_t count = bytes - at < BUFFER_BYTES ? bytes - at : BUFFER_BYTES;

		error = interrupt_pending() ? EINTR : whole_read(descriptor, buffer, count, at);
		if (!error)
			sha256_update(&hash, count, buffer);
	}
	if (!error)
		source_digest_text(&hash, digits);
	return error;
}

errcode_t source_digest_check(struct source *source, struct problem *problem)
{
	char digits[SOURCE_DIGEST_DIGITS + 1];
	SCOPE_CLOSE int descriptor = -1;
	struct stat status;
	errcode_t error = open_file(source, &descriptor, &status, problem);

	if (!error)
		error = hash_file(descriptor, (uint64_t)status.st_size, digits);
	if (error)
		return problem_set(problem, error, source->path, "cannot read");
	if (*source->digest && strcmp(digits, source->digest))
		return problem_set_reason(problem, EINVAL, source->path, "cannot use",
		                          "it is damaged: its sha256 is %s", digits);
	strcpy(source->digest, digits);
	source->bytes = (uint64_t)status.st_size;
	source->version = file_version_of(&status);
	source->is_checked = true;
	return 0;
}
