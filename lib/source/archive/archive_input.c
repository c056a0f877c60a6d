/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/archive/archive_input.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "source/archive/archive_packer.h"
#include "source/unpack/unpacked_store.h"
#include "support/buffer_size.h"
#include "support/io/whole_io.h"
#include "support/poison.h"
#include "support/vector.h"

/*
 * This is a multiple of tar's 512, so that headers are not cut in two and contents stay in place. For Linux 6.1's
 * source (84 000 members), 1 MiB took as long as 256 KiB.
 */
#define BUFFER_BYTES ((size_t)BUFFER_SIZE(256, 4) << 10)

/* A pipe can return fewer bytes at first. ISO 9660 is recognized by bytes at 32769. */
#define LEAST_BEGINNING_BYTES ((size_t)BUFFER_SIZE(64, 4) << 10)

/*
 * Chooses the locale to whose characters libarchive converts names. In the C locale, which is ours, the conversion
 * fails and libarchive returns the bytes as they are, which is our aim. (In UTF-8 it would normalize them: other bytes,
 * another name.) Formats that store UTF-16 have no such bytes; for them the thread gets a UTF-8 locale.
 */
static void choose_locale(struct archive_input *input)
{
	const char *name = input->kind->stores_utf16 ? "C.UTF-8" : "C";

	input->own_locale = newlocale(LC_CTYPE_MASK, name, (locale_t)0);
	if (input->own_locale)
		input->callers_locale = uselocale(input->own_locale);
}

/* Reads the next bytes into the buffer, at least `least` unless the input ends. */
static errcode_t fill_buffer(struct archive_input *input, size_t least)
{
	size_t kept = input->keeps_all ? (size_t)input->at : 0, count = 0, got = 0;
	errcode_t error = vector_reserve(&input->buffer, &input->buffer_capacity, kept + BUFFER_BYTES, 1);

	if (!error)
		poison_show(input->buffer, input->buffer_capacity);
	do {
		if (!error)
			error = packed_file_read(&input->file, input->buffer + kept + count, BUFFER_BYTES - count,
			                         input->at - input->start + count, &got);
		count += error ? 0 : got;
	} while (!error && got && count < least);
	input->error = error;
	if (error)
		return error;
	poison_hide(input->buffer + kept + count, input->buffer_capacity - kept - count);
	input->last_read = input->buffer + kept;
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
	if (!is_unread && fill_buffer(input, 1)) {
		archive_set_error(archive, (int)input->error, "%s", strerror((int)input->error));
		return ARCHIVE_FATAL;
	}
	*bytes = input->last_read;
	return (la_ssize_t)input->buffer_bytes;
}

static void note_failure(struct archive_input *input, errcode_t error)
{
	if (error != EBADMSG)
		input->error = error;
}

/* Unpacks a manifest. */
static la_ssize_t unpack_as_asked(struct archive *archive, struct archive_input *input, const void **bytes)
{
	size_t count;

	if (archive_packer_block(input->unpacker, bytes, &count) != ARCHIVE_OK) {
		const char *reason = archive_error_string(input->unpacker);

		archive_set_error(archive, archive_errno(input->unpacker), "%s", reason ? reason : "it is damaged");
		return ARCHIVE_FATAL;
	}
	return (la_ssize_t)count;
}

static la_ssize_t unpack_some(struct archive *archive, struct archive_input *input, const void **bytes)
{
	size_t count;
	errcode_t error = unpack_stream_next(input->stream, (const uint8_t **)bytes, &count, &input->problem);

	if (!error)
		return (la_ssize_t)count;
	note_failure(input, error);
	archive_set_error(archive, (int)error, "%s",
	                  error == EBADMSG ? unpack_stream_reason(input->stream) : strerror((int)error));
	return ARCHIVE_FATAL;
}

static bool is_hashed(const struct archive_input *input)
{
	const struct archive_facts *facts = input->options ? input->options->facts : NULL;

	return facts && facts->hashes_unpacked && input->filters;
}

/* The bytes come in order, each once: libarchive can go back only in a file that is not packed. */
static void hash_unpacked(const struct archive_input *input, const void *bytes, size_t count)
{
	if (is_hashed(input))
		sha256_update(&input->options->facts->unpacked, count, bytes);
}

/* Returns bytes from which members are read: those of the file, or those that it unpacks to. */
static la_ssize_t read_members(struct archive *archive, void *context, const void **bytes)
{
	struct archive_input *input = context;
	la_int64_t consumed = archive_filter_bytes(archive, 0);
	errcode_t error = header_tap_leave_block(&input->tap, consumed > 0 ? (uint64_t)consumed : 0);

	if (error) {
		archive_set_error(archive, (int)error, "%s",
		                  error == ENOMEM ? strerror(ENOMEM) : "a header is too large");
		return ARCHIVE_FATAL;
	}
	la_ssize_t count = input->stream   ? unpack_some(archive, input, bytes) :
	                   input->unpacker ? unpack_as_asked(archive, input, bytes) :
	                                     read_some(archive, context, bytes);

	if (count > 0) {
		hash_unpacked(input, *bytes, (size_t)count);
		header_tap_give(&input->tap, *bytes, (size_t)count,
		                input->stream || input->unpacker ? input->unpacked_at :
		                                                   input->buffer_at - input->start);
		input->unpacked_at += (uint64_t)count;
	}
	return count;
}

/* Unpacks more of a manifest that libarchive unpacks. */
static errcode_t unpack_text(struct archive_input *input)
{
	if (archive_packer_block(input->archive, (const void **)&input->text, &input->text_bytes) == ARCHIVE_OK)
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
		input->text = input->last_read;
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

/* Goes back over the beginning that we have looked at, since libarchive has not seen it. */
static void go_back(struct archive_input *input)
{
	if (input->is_unread)
		input->at = input->buffer_at;
	input->is_unread = false;
}

/* Skips bytes for libarchive. It may skip fewer than asked: libarchive then reads the rest and finds it missing. */
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

/* Looks at the beginning while it is at hand; the buffer is later used for other parts of the file. */
static void look_at_text(struct archive_input *input)
{
	input->looks_like = archive_kind_recognize(input->text, input->text_bytes);
	input->looks_packed = input->looks_like ? NULL : archive_kind_packer(input->text, input->text_bytes);
}

static errcode_t examine(struct archive_input *input, int descriptor, uint64_t most_bytes)
{
	struct stat status;

	if (fstat(descriptor, &status))
		return errno;
	off_t at = lseek(descriptor, 0, SEEK_CUR);
	bool is_regular = S_ISREG(status.st_mode) && at >= 0;

	if (is_regular) {
		input->start = input->at = (uint64_t)at;
		input->end = (uint64_t)status.st_size;
		if (input->end > input->start && input->end - input->start > most_bytes)
			input->end = input->start + most_bytes;
	}
	input->file.descriptor = descriptor;
	input->file.is_regular = is_regular;
	input->file.is_bounded = most_bytes != ARCHIVE_INPUT_ALL;
	input->file.start = input->start;
	input->file.size_bytes = input->end > input->start ? input->end - input->start : 0;
	return 0;
}

/* Reads the beginning and looks at it; libarchive still gets these bytes. */
static errcode_t begin(struct archive_input *input, int descriptor, const struct archive_kind *kind,
                       uint64_t most_bytes, const struct scan_options *options)
{
	*input = (struct archive_input){ .kind = kind, .options = options };
	input->position.progress = options ? options->progress : NULL;
	input->file.position = &input->position;
	input->file.windows = options ? options->windows : NULL;
	errcode_t error = examine(input, descriptor, most_bytes);

	/* The unpacker reads a pipe from its beginning, so all bytes are kept until then. */
	input->keeps_all = options && !input->file.is_regular;
	if (!error)
		error = fill_buffer(input, LEAST_BEGINNING_BYTES);
	if (error)
		return error;
	input->is_unread = true;
	input->text = input->buffer;
	input->text_bytes = input->buffer_bytes;
	look_at_text(input);
	return 0;
}

/*
 * Reads a header. libarchive leaves out parts for which it has no memory, such as the value of an xattr, and reports
 * success; errno shows it.
 */
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
 * Opens the unpacker. libarchive finds out whether the file is packed when it looks at the beginning, which is at hand.
 * A file that is not packed is read anew, without the unpacker, so that libarchive can seek in it.
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

	/* The raw format accepts any bytes. */
	if (!is_open && !is_empty && archive_errno(input->unpacker) == ENOMEM)
		return ENOMEM;
	if (!is_open && !is_empty)
		return input->error ? input->error : EBADMSG;
	/* One of libarchive's filters is the file itself. */
	input->filters = archive_filter_count(input->unpacker) - 1;
	return 0;
}

/* Begins to read anew without the unpacker, if the input allows it. */
static void rewind_input(struct archive_input *input)
{
	input->is_unread = input->buffer_at == input->start;
	if (!input->is_unread && !input->file.is_regular)
		return;
	if (!input->is_unread)
		input->at = input->start;
	archive_read_free(TAKE(input->unpacker));
}

/*
 * Returns the format of ours that unpacks a file with this beginning, if it is packed at all and only once; NULL:
 * libarchive unpacks it.
 */
static const struct decoder_format *recognize_format(const struct archive_input *input)
{
	const uint8_t *text = (const uint8_t *)input->text;

	if (input->kind->is_packed_by_filter)
		return NULL;
	if (gzip_format.begins(text, input->text_bytes))
		return &gzip_format;
	return zstd_format && zstd_format->begins(text, input->text_bytes) ? zstd_format : NULL;
}

/* Returns the format that unpacks the input; NULL: the file is read as it is, and contents stay in it. */
static const struct decoder_format *choose_format(const struct archive_input *input,
                                                  const struct decoder_format *recognized)
{
	if (!input->filters)
		return input->file.is_regular ? NULL : &plain_format;
	return input->filters == 1 && recognized ? recognized : &archive_packer_format;
}

static errcode_t open_stream(struct archive_input *input, const struct decoder_format *format)
{
	struct unpack_source source = {
		.format = format,
		.context = input->unpacker,
		.file = &input->file,
		.counts = input->options->counts,
		.threads = input->options->unpack_threads,
	};
	errcode_t error =
		unpacked_store_create(input->options->unpacked, input->options->spool_directory, &input->store);

	input->owns_store = true;
	input->keeps_all = false;
	source.store = input->store;
	if (format != &archive_packer_format) {
		archive_read_free(TAKE(input->unpacker));
		input->file.beginning = input->buffer;
		input->file.beginning_bytes = input->file.is_regular ? 0 : (size_t)input->at;
	}
	return error ? error : unpack_stream_open(&source, &input->stream);
}

/*
 * Reads the first header. libarchive tries the raw format last, which takes anything for an archive with one member. So
 * packed text is unpacked, and so is input of no known kind, so that the message can tell what it is.
 */
static errcode_t begin_archive(struct archive_input *input)
{
	const struct decoder_format *recognized = recognize_format(input);
	errcode_t error = open_unpacker(input);
	const struct decoder_format *format = error || !input->options ? NULL : choose_format(input, recognized);

	/* If more bytes have been read, the buffer has moved. */
	if (input->keeps_all)
		input->text = input->buffer;

	if (!error && format)
		error = open_stream(input, format);
	else if (!error && !input->filters)
		rewind_input(input);
	if (error)
		return error;
	if (input->options && input->options->facts) {
		input->options->facts->is_packed = input->filters;
		sha256_init(&input->options->facts->unpacked);
	}
	input->archive = archive_read_new();
	if (!input->archive || archive_kind_support_formats(input->kind, input->archive) ||
	    archive_read_set_callback_data(input->archive, input) != ARCHIVE_OK)
		return ENOMEM;
	archive_read_set_read_callback(input->archive, read_members);
	if (input->file.is_regular && !input->stream && !input->unpacker) {
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

/* Says why the source is not read. Returns EBADMSG. */
static errcode_t refuse(struct archive_input *input)
{
	const struct archive_kind *is = input->looks_like;
	const char *packer = input->looks_packed;

	if (input->kind->is_left_out)
		snprintf(input->refusal, sizeof(input->refusal), "the static tools cannot read %s", input->kind->what);
	else if (packer)
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
	if (input->kind == &archive_kind_layer && input->filters > 1) {
		snprintf(input->refusal, sizeof(input->refusal), "it is packed more than once");
		return EBADMSG;
	}
	/* A file of zeros is an empty tar archive, but an ISO 9660 image also begins with 32 KiB of zeros. */
	if (input->kind == &archive_kind_common && input->first_result == ARCHIVE_EOF) {
		snprintf(input->refusal, sizeof(input->refusal),
		         "it has no members; if that is right, give it as tar:FILE");
		return input->looks_like ? refuse(input) : EBADMSG;
	}
	if (!is_raw(input))
		return 0;
	/* The beginning of text that is not packed is at hand already. */
	if (input->filters) {
		error = unpack_text(input);
		look_at_text(input);
	}
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

errcode_t archive_input_open(struct archive_input *input, int descriptor, const struct archive_kind *kind,
                             uint64_t most_bytes, const struct scan_options *options)
{
	errcode_t error = begin(input, descriptor, kind, most_bytes, options);

	return error ? error : open_archive(input);
}

struct unpacked_store *archive_input_release_store(struct archive_input *input)
{
	input->owns_store = false;
	return input->store;
}

/* Like unpack_stream_drain(), but the bytes are hashed. */
static errcode_t hash_rest(struct archive_input *input)
{
	const uint8_t *bytes;
	size_t count;
	errcode_t error;

	do {
		error = unpack_stream_next(input->stream, &bytes, &count, &input->problem);
		if (!error)
			hash_unpacked(input, bytes, count);
	} while (!error && count);
	return error;
}

errcode_t archive_input_finish(struct archive_input *input)
{
	if (!input->stream || !input->filters || (input->unpacker && !is_hashed(input)))
		return 0;
	errcode_t error = is_hashed(input) ? hash_rest(input) : unpack_stream_drain(input->stream);

	note_failure(input, error);
	if (error == EBADMSG)
		archive_set_error(input->archive, EBADMSG, "%s", unpack_stream_reason(input->stream));
	return error;
}

int archive_input_next(struct archive_input *input, struct archive_entry **entry)
{
	if (input->has_first) {
		input->has_first = false;
		*entry = input->first;
		return input->first_result;
	}
	/* archive_read_next_header() would also do this first, but it would not tell where the header begins. */
	int skipped = archive_read_data_skip(input->archive);

	if (skipped == ARCHIVE_EOF || skipped == ARCHIVE_FATAL)
		return ARCHIVE_FATAL;
	int result = read_header(input, (uint64_t)archive_filter_bytes(input->archive, 0), entry);

	return result == ARCHIVE_OK ? skipped : result;
}

errcode_t archive_input_header(struct archive_input *input, const uint8_t **bytes, size_t *count)
{
	return header_tap_get(&input->tap, (uint64_t)archive_filter_bytes(input->archive, 0), bytes, count);
}

errcode_t archive_input_problem(const struct archive_input *input, errcode_t error, const char *path,
                                struct problem *problem)
{
	struct archive *failed = input->archive ? input->archive : input->unpacker;
	const char *reason = failed ? archive_error_string(failed) : NULL;

	if (error == EDQUOT && input->options && input->options->counts)
		return source_counts_problem(input->options->counts, problem);
	if (input->problem.error)
		return problem_set(problem, error, input->problem.path, input->problem.action);
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
	/* The stream's threads use all that is freed below. */
	unpack_stream_close(input->stream);
	if (input->owns_store)
		unpacked_store_destroy(input->store);
	problem_clear(&input->problem);
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
	errcode_t error = begin(&input, descriptor, &archive_kind_manifest, ARCHIVE_INPUT_ALL, NULL);

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

errcode_t archive_input_read_back(const struct archive_input *input, void *bytes, size_t count, uint64_t offset)
{
	return input->stream ? unpacked_store_read(input->store, bytes, count, offset) :
	                       whole_read(input->file.descriptor, bytes, count, offset);
}

static bool is_stored_at(const struct archive_input *input, const uint8_t *bytes, size_t count, uint64_t offset)
{
	uint8_t stored[4096];

	while (count) {
		size_t part = count < sizeof(stored) ? count : sizeof(stored);

		if (unpacked_store_read(input->store, stored, part, offset) || memcmp(stored, bytes, part))
			return false;
		bytes += part;
		count -= part;
		offset += part;
	}
	return true;
}

/*
 * Finds bytes from libarchive in the input. libarchive has copied bytes that begin in one block of the input and end in
 * the next one. For them its position tells where they are, and a comparison of the bytes whether that is right.
 */
bool archive_input_locate(const struct archive_input *input, const void *bytes, size_t count, uint64_t *offset)
{
	const struct header_tap *tap = &input->tap;
	uintptr_t start = (uintptr_t)tap->block, at = (uintptr_t)bytes;
	la_int64_t position;

	*offset = tap->block_at + (at - start) + (input->stream ? 0 : input->start);
	if (at >= start && at - start <= tap->block_bytes && count <= tap->block_bytes - (at - start))
		return input->stream || input->file.is_regular;
	position = archive_filter_bytes(input->archive, 0);
	if (!input->stream || position < 0)
		return false;
	*offset = (uint64_t)position;
	return is_stored_at(input, bytes, count, *offset);
}
