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

void source_sha512_text(struct sha512_ctx *hash, char digits[SOURCE_SHA512_DIGITS + 1])
{
	uint8_t bytes[SHA512_DIGEST_SIZE];

	sha512_digest(hash, sizeof(bytes), bytes);
	base16_encode_update(digits, sizeof(bytes), bytes);
	digits[SOURCE_SHA512_DIGITS] = '\0';
}

bool source_digest_is_valid(const char *digits, size_t count)
{
	return strspn(digits, "0123456789abcdef") == count && !digits[count];
}

errcode_t source_diff_id_check(const struct source *source, const char *digits, struct problem *problem)
{
	if (!*source->diff_id || !strcmp(digits, source->diff_id))
		return 0;
	return problem_set_reason(
		problem, EINVAL, source_file_name(source), "cannot use",
		"it is damaged: the sha256 of what it unpacks to is %s, and the image's configuration "
		"says %s",
		digits, source->diff_id);
}

/* *file_bytes: how many the source has. */
static errcode_t open_file(const struct source *source, int *descriptor, struct stat *status, uint64_t *file_bytes,
                           struct problem *problem)
{
	const char *name = source_file_name(source);

	*descriptor = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*descriptor < 0 || fstat(*descriptor, status))
		return problem_set(problem, errno, name, "cannot open");
	if (!S_ISREG(status->st_mode))
		return problem_set_reason(problem, EINVAL, name, "cannot open", "it is not a regular file");
	if (source->is_part && !file_version_is(&source->version, status))
		return problem_set_reason(problem, EBUSY, name, "cannot read", "it has been changed meanwhile");
	const uint64_t bytes = source->is_part ? source->bytes : (uint64_t)status->st_size;

	*file_bytes = bytes;
	if ((*source->digest || source->sha512) && bytes != source->bytes)
		return problem_set_reason(problem, EINVAL, name, "cannot use",
		                          "it is damaged: it has %" PRIu64 " bytes, not %" PRIu64, bytes,
		                          source->bytes);
	return 0;
}

/* with_sha512: also the other digest, else it is empty. */
static errcode_t hash_file(int descriptor, uint64_t start, uint64_t bytes, char digits[SOURCE_DIGEST_DIGITS + 1],
                           bool with_sha512, char sha512[SOURCE_SHA512_DIGITS + 1])
{
	SCOPE_FREE uint8_t *buffer = malloc(BUFFER_BYTES);
	errcode_t error = buffer ? 0 : ENOMEM;
	struct sha256_ctx hash;
	struct sha512_ctx other;

	sha256_init(&hash);
	sha512_init(&other);
	*sha512 = '\0';
	for (uint64_t at = 0; !error && at < bytes; at += BUFFER_BYTES) {
		size_t count = bytes - at < BUFFER_BYTES ? bytes - at : BUFFER_BYTES;

		error = interrupt_pending() ? EINTR : whole_read(descriptor, buffer, count, start + at);
		if (!error)
			sha256_update(&hash, count, buffer);
		if (!error && with_sha512)
			sha512_update(&other, count, buffer);
	}
	if (!error)
		source_digest_text(&hash, digits);
	if (!error && with_sha512)
		source_sha512_text(&other, sha512);
	return error;
}

errcode_t source_digest_check(struct source *source, struct problem *problem)
{
	char digits[SOURCE_DIGEST_DIGITS + 1], sha512[SOURCE_SHA512_DIGITS + 1];
	SCOPE_CLOSE int descriptor = -1;
	struct stat status;
	uint64_t bytes = 0;
	errcode_t error = open_file(source, &descriptor, &status, &bytes, problem);

	if (!error)
		error = hash_file(descriptor, source->is_part ? source->start_bytes : 0, bytes, digits, source->sha512,
		                  sha512);
	if (error)
		return problem_set(problem, error, source_file_name(source), "cannot read");
	if (*source->digest && strcmp(digits, source->digest))
		return problem_set_reason(problem, EINVAL, source_file_name(source), "cannot use",
		                          "it is damaged: its sha256 is %s", digits);
	if (source->sha512 && strcmp(sha512, source->sha512))
		return problem_set_reason(problem, EINVAL, source_file_name(source), "cannot use",
		                          "it is damaged: its sha512 is %s", sha512);
	strcpy(source->digest, digits);
	source->sha512 = NULL;
	source->bytes = bytes;
	source->version = file_version_of(&status);
	source->is_checked = true;
	return 0;
}
