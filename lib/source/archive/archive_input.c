// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/archive/archive_input.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "support/run/interrupt.h"
#include "support/vector.h"

/*
 * A multiple of tar's 512, so that headers are not cut in two and contents stay in place. Of Linux 6.1's source (84 000
 * members), 1 MiB took as long as 256 KiB.
 */
#define BUFFER_BYTES ((size_t)256 << 10)

/* A pipe can have less to give at first; ISO 9660 is known by what lies at 32769. */
#define LEAST_BEGINNING_BYTES ((size_t)64 << 10)

/* libarchive refuses an extended header, a long name and a long link of more than 1 MiB each. */
#define MOST_BYTES ((size_t)8 << 20)

/*
 * libarchive converts names to the locale's characters; in the C locale, which is ours, it fails to and hands over
 * bytes as they are, which is what we want. (In UTF-8 it would normalize them: other bytes, another name.) Formats
 * that store UTF-16 have no bytes to hand over; for them the thread gets a UTF-8 locale.
 */
static void choose_locale(struct archive_input *input)
{
	const char *name = input->kind->stores_utf16 ? "C.UTF-8" : "C";

	input->own_locale = newlocale(LC_CTYPE_MASK, name, (locale_t)0);
	if (input->own_locale)
		input->callers_locale = uselocale(input->own_locale);
}

/* How long a writer of a pipe that writes nothing can keep us from seeing a signal. */
#define WAIT_MILLISECONDS 100

/* Reading a pipe would go on after a signal, and the thread that reads need not be the one that gets it. */
static bool wait_for_bytes(int descriptor)
{
	struct pollfd waiting = { .fd = descriptor, .events = POLLIN };
	int ready = 0;

	while (!ready && !interrupt_pending()) {
		ready = poll(&waiting, 1, WAIT_MILLISECONDS);
		if (ready < 0 && errno == EINTR)
			ready = 0;
	}
	if (!ready)
		errno = EINTR;
	return ready > 0;
}

/* The next bytes into the buffer, at least as many unless it is the end. */
static errcode_t fill_buffer(struct archive_input *input, size_t least)
{
	size_t count = 0;
	ssize_t got;

	do {
		if (interrupt_pending())
			errno = EINTR, got = -1;
		else if (input->is_regular)
			got = pread(input->descriptor, input->buffer + count, BUFFER_BYTES - count,
			            (off_t)(input->at + count));
		else
			got = wait_for_bytes(input->descriptor) ?
			              read(input->descriptor, input->buffer + count, BUFFER_BYTES - count) :
			              -1;
		count += got > 0 ? (size_t)got : 0;
	} while ((got < 0 && errno == EINTR && !interrupt_pending()) || (got > 0 && count < least));
	if (got < 0) {
		input->error = errno;
		return errno;
	}
	input->buffer_at = input->at;
	input->buffer_bytes = count;
	input->at += count;
	return 0;
}

static la_ssize_t read_some(struct archive *archive, void *context, const void **bytes)
{
	struct archive_input *input = context;
	bool is_unread = input->is_unread;

	input->is_unread = false;
	*bytes = input->buffer;
	if (!is_unread && fill_buffer(input, 1)) {
		archive_set_error(archive, (int)input->error, "%s", strerror((int)input->error));
		return ARCHIVE_FATAL;
	}
	return (la_ssize_t)input->buffer_bytes;
}

/* The next bytes of the one member of what is packed, none at its end. */
static int unpack_block(struct archive *archive, const void **bytes, size_t *count)
{
	la_int64_t offset;
	int result;

	*count = 0;
	do
		result = archive_read_data_block(archive, bytes, count, &offset);
	while (result == ARCHIVE_OK && !*count);
	if (result == ARCHIVE_EOF)
		*count = 0;
	return result == ARCHIVE_EOF ? ARCHIVE_OK : result;
}

static la_ssize_t unpack_some(struct archive *archive, struct archive_input *input, const void **bytes)
{
	size_t count;

	if (unpack_block(input->unpacker, bytes, &count) != ARCHIVE_OK) {
		const char *reason = archive_error_string(input->unpacker);

		archive_set_error(archive, archive_errno(input->unpacker), "%s", reason ? reason : "it is damaged");
		return ARCHIVE_FATAL;
	}
	return (la_ssize_t)count;
}

static uint64_t kept_end(const struct header_tap *tap)
{
	return tap->kept_at + tap->kept_bytes;
}

static void drop(struct header_tap *tap, uint64_t before)
{
	if (before >= kept_end(tap)) {
		tap->kept_bytes = 0;
	} else if (before > tap->kept_at) {
		tap->kept_bytes = (size_t)(kept_end(tap) - before);
		memmove(tap->kept, tap->kept + (before - tap->kept_at), tap->kept_bytes);
		tap->kept_at = before;
	}
}

/* Keeps what the block has from `from` to `end`, after what is kept already if it goes on from there. */
static errcode_t keep(struct header_tap *tap, uint64_t from, uint64_t end)
{
	uint64_t block_end = tap->block_at + tap->block_bytes;

	if (!tap->block_bytes)
		return 0;
	if (tap->kept_bytes && (kept_end(tap) < tap->block_at || kept_end(tap) > block_end))
		tap->kept_bytes = 0;
	if (!tap->kept_bytes)
		tap->kept_at = from > tap->block_at ? from : tap->block_at;
	from = kept_end(tap);
	end = end < block_end ? end : block_end;
	if (from >= end)
		return 0;
	size_t bytes = (size_t)(end - from);

	if (bytes > MOST_BYTES - tap->kept_bytes)
		return EBADMSG;
	errcode_t error = vector_reserve(&tap->kept, &tap->kept_capacity, tap->kept_bytes + bytes, 1);

	if (error)
		return error;
	memcpy(tap->kept + tap->kept_bytes, tap->block + (from - tap->block_at), bytes);
	tap->kept_bytes += bytes;
	return 0;
}

/*
 * Before the block goes, of which libarchive has used what lies before `consumed`. EBADMSG: the header is larger than
 * any can be.
 */
static errcode_t leave_block(struct header_tap *tap, uint64_t consumed)
{
	uint64_t needed = tap->is_open && tap->from < consumed ? tap->from : consumed;

	drop(tap, needed);
	errcode_t error = keep(tap, needed, UINT64_MAX);

	tap->block_bytes = 0;
	return error;
}

/* What members are read from: the file, or what it unpacks to. */
static la_ssize_t read_members(struct archive *archive, void *context, const void **bytes)
{
	struct archive_input *input = context;
	la_int64_t consumed = archive_filter_bytes(archive, 0);
	errcode_t error = leave_block(&input->tap, consumed > 0 ? (uint64_t)consumed : 0);

	if (error) {
		archive_set_error(archive, (int)error, "%s",
		                  error == ENOMEM ? strerror(ENOMEM) : "a header is too large");
		return ARCHIVE_FATAL;
	}
	la_ssize_t count = input->unpacker ? unpack_some(archive, input, bytes) : read_some(archive, context, bytes);

	if (count > 0) {
		input->tap.block = *bytes;
		input->tap.block_at = input->unpacker ? input->unpacked_at : input->buffer_at - input->start;
		input->tap.block_bytes = (size_t)count;
		input->unpacked_at += (uint64_t)count;
	}
	return count;
}

/* More of a manifest that libarchive unpacks. */
static errcode_t unpack_text(struct archive_input *input)
{
	if (unpack_block(input->archive, (const void **)&input->text, &input->text_bytes) == ARCHIVE_OK)
		return 0;
	return input->error ? input->error : EBADMSG;
}

static ssize_t read_text(void *context, char *bytes, size_t count)
{
	struct archive_input *input = context;
	errcode_t error = 0;

	if (!input->text_bytes && input->archive) {
		error = unpack_text(input);
	} else if (!input->text_bytes) {
		error = fill_buffer(input, 1);
		input->text = input->buffer;
		input->text_bytes = error ? 0 : input->buffer_bytes;
	}
	if (error) {
		errno = (int)error;
		return -1;
	}
	count = count < input->text_bytes ? count : input->text_bytes;
	if (!count)
		return 0;
	memcpy(bytes, input->text, count);
	input->text += count;
	input->text_bytes -= count;
	return (ssize_t)count;
}

/* What has been read to look at it, libarchive has not seen. */
static void go_back(struct archive_input *input)
{
	if (input->is_unread)
		input->at = input->buffer_at;
	input->is_unread = false;
}

/* Less than asked is allowed: the rest is read, and found to be missing. */
static la_int64_t skip(struct archive *archive, void *context, la_int64_t count)
{
	struct archive_input *input = context;

	(void)archive;
	go_back(input);
	uint64_t left = input->at < input->end ? input->end - input->at : 0;

	if (count <= 0)
		return 0;
	uint64_t skipped = (uint64_t)count < left ? (uint64_t)count : left;

	input->at += skipped;
	return (la_int64_t)skipped;
}

static la_int64_t seek(struct archive *archive, void *context, la_int64_t offset, int from)
{
	struct archive_input *input = context;

	go_back(input);
	uint64_t base = from == SEEK_SET ? input->start : from == SEEK_CUR ? input->at : input->end;
	int64_t to;

	if (__builtin_add_overflow((int64_t)base, offset, &to) || to < (int64_t)input->start) {
		archive_set_error(archive, EINVAL, "it leads outside of the file");
		return ARCHIVE_FATAL;
	}
	input->at = (uint64_t)to;
	return to - (int64_t)input->start;
}

static errcode_t examine(struct archive_input *input)
{
	struct stat status;

	if (fstat(input->descriptor, &status))
		return errno;
	off_t at = lseek(input->descriptor, 0, SEEK_CUR);

	input->is_regular = S_ISREG(status.st_mode) && at >= 0;
	if (input->is_regular) {
		input->start = input->at = (uint64_t)at;
		input->end = (uint64_t)status.st_size;
	}
	return 0;
}

/* Reads the beginning, which is left to be read. */
static errcode_t begin(struct archive_input *input, int descriptor, const struct archive_kind *kind)
{
	*input = (struct archive_input){ .kind = kind, .descriptor = descriptor };
	errcode_t error = examine(input);

	if (error)
		return error;
	input->buffer = malloc(BUFFER_BYTES);
	error = input->buffer ? fill_buffer(input, LEAST_BEGINNING_BYTES) : ENOMEM;
	if (error)
		return error;
	input->is_unread = true;
	input->text = input->buffer;
	input->text_bytes = input->buffer_bytes;
	return 0;
}

/* libarchive leaves out what it has no memory for, such as the value of an xattr, and says that all is well. */
static int read_header(struct archive_input *input, uint64_t from, struct archive_entry **entry)
{
	input->tap.from = from;
	input->tap.is_open = true;
	errno = 0;
	int result = archive_read_next_header(input->archive, entry);

	input->tap.is_open = false;
	if ((result != ARCHIVE_OK && result != ARCHIVE_WARN) || errno != ENOMEM)
		return result;
	archive_set_error(input->archive, ENOMEM, "%s", strerror(ENOMEM));
	return ARCHIVE_FATAL;
}

/*
 * Whether the file is packed is known once libarchive has looked at its beginning, which is at hand. One that is not
 * is read anew, without this, so that libarchive can seek in it.
 */
static errcode_t open_unpacker(struct archive_input *input)
{
	struct archive_entry *entry;
	bool is_empty = !input->buffer_bytes;

	input->unpacker = archive_read_new();
	if (!input->unpacker || archive_kind_support_packers(input->kind, input->unpacker) ||
	    archive_read_set_callback_data(input->unpacker, input) != ARCHIVE_OK)
		return ENOMEM;
	archive_read_set_read_callback(input->unpacker, read_some);
	bool is_open = archive_read_open1(input->unpacker) == ARCHIVE_OK &&
	               archive_read_next_header(input->unpacker, &entry) == ARCHIVE_OK;

	/* Any byte is something to the raw format. */
	if (!is_open && !is_empty && archive_errno(input->unpacker) == ENOMEM)
		return ENOMEM;
	if (!is_open && !is_empty)
		return input->error ? input->error : EBADMSG;
	/* One filter is the file itself. */
	if (archive_filter_count(input->unpacker) > 1)
		return 0;
	if (input->buffer_at == input->start) {
		input->is_unread = true;
	} else if (input->is_regular) {
		input->at = input->start;
		input->is_unread = false;
	} else {
		return 0;
	}
	archive_read_free(TAKE(input->unpacker));
	return 0;
}

/*
 * Reads the first header. To the raw format, which is asked last, anything is an archive with one member: so packed
 * text is unpacked, and so is what is of no kind, to say what it is instead.
 */
static errcode_t begin_archive(struct archive_input *input)
{
	errcode_t error = open_unpacker(input);

	if (error)
		return error;
	input->archive = archive_read_new();
	if (!input->archive || archive_kind_support_formats(input->kind, input->archive) ||
	    archive_read_set_callback_data(input->archive, input) != ARCHIVE_OK)
		return ENOMEM;
	archive_read_set_read_callback(input->archive, read_members);
	if (input->is_regular && !input->unpacker) {
		archive_read_set_skip_callback(input->archive, skip);
		archive_read_set_seek_callback(input->archive, seek);
	}
	if (archive_read_open1(input->archive) != ARCHIVE_OK)
		return input->error ? input->error : EBADMSG;
	input->first_result = read_header(input, 0, &input->first);
	input->has_first = true;
	return 0;
}

static bool is_raw(const struct archive_input *input)
{
	return input->first_result == ARCHIVE_OK && archive_format(input->archive) == ARCHIVE_FORMAT_RAW;
}

/* Says why the source is not read; EBADMSG. */
static errcode_t refuse(struct archive_input *input)
{
	const struct archive_kind *is = archive_kind_recognize(input->text, input->text_bytes);
	const char *packer = is ? NULL : archive_kind_packer(input->text, input->text_bytes);

	if (packer)
		snprintf(input->refusal, sizeof(input->refusal), "it is packed with %s, which is not unpacked here",
		         packer);
	else if (input->kind == &archive_kind_layer && is)
		snprintf(input->refusal, sizeof(input->refusal), "it is %s, and a layer must be a tar archive",
		         is->what);
	else if (input->kind != &archive_kind_common)
		snprintf(input->refusal, sizeof(input->refusal), "it is not %s", input->kind->what);
	else if (is)
		snprintf(input->refusal, sizeof(input->refusal), "it is %s: give it as %s:FILE", is->what, is->prefix);
	else
		snprintf(input->refusal, sizeof(input->refusal), "it is neither a directory nor an archive");
	return EBADMSG;
}

static errcode_t open_archive(struct archive_input *input)
{
	choose_locale(input);
	errcode_t error = begin_archive(input);

	if (error)
		return error;
	if (input->kind == &archive_kind_layer && input->unpacker && archive_filter_count(input->unpacker) > 2) {
		snprintf(input->refusal, sizeof(input->refusal), "it is packed more than once");
		return EBADMSG;
	}
	/* Zeros are an empty tar archive; an ISO 9660 image begins with 32 KiB of them. */
	if (input->kind == &archive_kind_common && input->first_result == ARCHIVE_EOF) {
		snprintf(input->refusal, sizeof(input->refusal),
		         "it has no members; if that is right, give it as tar:FILE");
		return archive_kind_recognize(input->text, input->text_bytes) ? refuse(input) : EBADMSG;
	}
	if (!is_raw(input))
		return 0;
	/* Text that is not packed is at hand already. */
	if (input->unpacker)
		error = unpack_text(input);
	return error ? error : refuse(input);
}

static errcode_t open_manifest(struct archive_input *input)
{
	if (!input->text_bytes || mtree_recognize(input->text, input->text_bytes))
		return 0;
	input->text_bytes = 0;
	errcode_t error = begin_archive(input);

	if (!error && input->first_result != ARCHIVE_OK)
		error = input->error ? input->error : EBADMSG;
	return error;
}

errcode_t archive_input_open(struct archive_input *input, int descriptor, const struct archive_kind *kind)
{
	errcode_t error = begin(input, descriptor, kind);

	return error ? error : open_archive(input);
}

int archive_input_next(struct archive_input *input, struct archive_entry **entry)
{
	if (input->has_first) {
		input->has_first = false;
		*entry = input->first;
		return input->first_result;
	}
	/* As the next call would do first; but then nothing said where the header begins. */
	int skipped = archive_read_data_skip(input->archive);

	if (skipped == ARCHIVE_EOF || skipped == ARCHIVE_FATAL)
		return ARCHIVE_FATAL;
	int result = read_header(input, (uint64_t)archive_filter_bytes(input->archive, 0), entry);

	return result == ARCHIVE_OK ? skipped : result;
}

errcode_t archive_input_header(struct archive_input *input, const uint8_t **bytes, size_t *count)
{
	struct header_tap *tap = &input->tap;
	uint64_t end = (uint64_t)archive_filter_bytes(input->archive, 0);
	uint64_t block_end = tap->block_at + tap->block_bytes;

	*bytes = NULL;
	*count = 0;
	if (tap->from >= tap->block_at && tap->from < block_end) {
		*bytes = tap->block + (tap->from - tap->block_at);
		*count = (size_t)(block_end - tap->from);
		return 0;
	}
	if (!tap->kept_bytes || tap->from < tap->kept_at || tap->from >= kept_end(tap))
		return 0;
	errcode_t error = keep(tap, tap->from, end);

	if (!error && tap->from >= tap->kept_at && end <= kept_end(tap)) {
		*bytes = tap->kept + (tap->from - tap->kept_at);
		*count = (size_t)(kept_end(tap) - tap->from);
	}
	return error;
}

errcode_t archive_input_problem(const struct archive_input *input, errcode_t error, const char *path,
                                struct problem *problem)
{
	struct archive *failed = input->archive ? input->archive : input->unpacker;
	const char *reason = failed ? archive_error_string(failed) : NULL;

	if (error != EBADMSG || input->error)
		return problem_set(problem, error, path, "cannot read");
	if (input->at == input->start)
		reason = "it is empty";
	else if (*input->refusal)
		reason = input->refusal;
	return problem_set_reason(problem, error, path, "cannot read", "%s", reason ? reason : "it is damaged");
}

void archive_input_close(struct archive_input *input)
{
	if (input->archive)
		archive_read_free(input->archive);
	if (input->unpacker)
		archive_read_free(input->unpacker);
	free(input->tap.kept);
	free(input->buffer);
	if (input->callers_locale)
		uselocale(input->callers_locale);
	if (input->own_locale)
		freelocale(input->own_locale);
	*input = (struct archive_input){ 0 };
}

errcode_t archive_input_read_manifest(int descriptor, const char *name, mtree_visit visit, void *context,
                                      struct problem *problem)
{
	struct archive_input input;
	errcode_t error = begin(&input, descriptor, &archive_kind_manifest);

	if (!error)
		error = open_manifest(&input);
	if (!error) {
		SCOPE_FCLOSE FILE *stream = fopencookie(&input, "r", (cookie_io_functions_t){ .read = read_text });

		error = stream ? mtree_read(stream, name, visit, context, problem) : ENOMEM;
	}
	if (error)
		archive_input_problem(&input, error, name, problem);
	archive_input_close(&input);
	return error;
}

bool archive_input_locate(const struct archive_input *input, const void *bytes, size_t count, uint64_t *offset)
{
	uintptr_t start = (uintptr_t)input->buffer, at = (uintptr_t)bytes;

	if (!input->is_regular || at < start || at - start > input->buffer_bytes ||
	    count > input->buffer_bytes - (at - start))
		return false;
	*offset = input->buffer_at + (at - start);
	return true;
}
