/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/archive/archive_input.h"

#include <archive_entry.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "source/archive/archive_feed.h"
#include "source/archive/pax_cut.h"
#include "source/archive/tar_header.h"
#include "support/buffer_size.h"
#include "support/io/whole_io.h"
#include "unpack/sparse_file.h"
#include "unpack/unpacked_store.h"

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

static ssize_t read_text(void *context, char *bytes, size_t count)
{
	struct archive_input *input = context;
	errcode_t error = 0;
	uint64_t at;

	if (!input->text_bytes)
		error = archive_feed_next(input, (const uint8_t **)&input->text, &input->text_bytes, &at);
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

/* Looks at the beginning while it is at hand; the buffer is later used for other parts of the file. */
static void look_at_text(struct archive_input *input, const uint8_t *bytes, size_t count)
{
	if (!count)
		return;
	input->looks_like = archive_kind_recognize((const char *)bytes, count);
	input->looks_packed = input->looks_like ? NULL : packing_name(bytes, count);
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

/* A boot block of zeros is an empty tar archive, too: what comes after it tells. */
static void look_for_disk(struct archive_input *input, const uint8_t *bytes, size_t count)
{
	input->disk = disk_form_of(bytes, count);
	input->has_disk = input->disk || (count >= 512 && bytes[510] == 0x55 && bytes[511] == 0xaa);
}

/* Reads the beginning, and takes off what the file is packed with. libarchive still gets these bytes. */
static errcode_t begin(struct archive_input *input, int descriptor, const struct archive_kind *kind,
                       uint64_t most_bytes, const struct scan_options *options, const struct packed_rest *read)
{
	*input = (struct archive_input){ .kind = kind, .options = options };
	input->position.progress = options ? options->progress : NULL;
	input->file.position = &input->position;
	input->file.windows = options ? options->windows : NULL;
	errcode_t error = examine(input, descriptor, most_bytes);

	input->file.beginning = read->bytes;
	input->file.beginning_bytes = read->count;
	if (!error)
		error = archive_feed_fill(input, LEAST_BEGINNING_BYTES);
	if (error)
		return error;
	input->is_unread = true;
	input->is_empty = !input->buffer_bytes;
	input->unpacking.kind = kind;
	input->unpacking.options = options;
	error = unpacking_open(&input->unpacking, &input->file, (const uint8_t *)input->buffer, input->buffer_bytes);
	look_at_text(input, input->unpacking.beginning, input->unpacking.beginning_bytes);
	look_for_disk(input, input->unpacking.beginning, input->unpacking.beginning_bytes);
	return error;
}

/* Is what is read said at its end? Then libarchive seeks in it, where it can. */
static bool is_sought(const struct archive_input *input)
{
	const struct unpacking *unpacking = &input->unpacking;
	bool is_zip = unpacking->beginning_bytes >= 2 && !memcmp(unpacking->beginning, "PK", 2);

	return input->kind->is_sought || (input->kind == &archive_kind_common && is_zip);
}

/* Keeps all that is unpacked, so that libarchive can seek in it. */
static errcode_t spool(struct archive_input *input)
{
	const uint8_t *bytes;
	size_t count;
	errcode_t error;

	do {
		error = unpacking_next(&input->unpacking, &bytes, &count);
		if (!error)
			unpacked_store_want(input->store, input->end, count);
		input->end += error ? 0 : count;
	} while (!error && count);
	if (error && error != EBADMSG)
		input->error = error;
	input->is_spooled = !error;
	input->is_unread = false;
	return error;
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

static bool is_tar(const struct archive_input *input)
{
	return (archive_format(input->archive) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;
}

/* Looks at a header that libarchive has got. It may have skipped it since. */
static bool look_at_block(const struct archive_input *input, uint64_t at, char *block)
{
	size_t got = 0;

	while (got < TAR_BLOCK_BYTES) {
		const uint8_t *bytes;
		size_t count = header_tap_look(&input->tap, at + got, &bytes);

		if (!count)
			break;
		count = count < TAR_BLOCK_BYTES - got ? count : TAR_BLOCK_BYTES - got;
		memcpy(block + got, bytes, count);
		got += count;
	}
	return got == TAR_BLOCK_BYTES || (!archive_feed_is_stream(input) &&
	                                  !archive_input_read_back(input, block, TAR_BLOCK_BYTES, input->start + at));
}

/* Is one of a member's headers, of which the first lies there, larger than libarchive reads? */
static bool is_too_large(const struct archive_input *input, uint64_t at)
{
	char block[TAR_BLOCK_BYTES];

	while (is_tar(input) && look_at_block(input, at, block) && tar_header_is_extension(block)) {
		if (pax_cut_is_for(block))
			return true;
		uint64_t body = tar_header_body_bytes(block);

		at += TAR_BLOCK_BYTES + body + -body % TAR_BLOCK_BYTES;
	}
	return false;
}

/* The bytes of the archive from somewhere on, of which libarchive has got a part. */
struct from {
	struct archive_input *input;
	uint64_t at;
};

static errcode_t next_from(void *context, const uint8_t **bytes, size_t *count)
{
	struct from *from = context;
	uint64_t at;

	*count = header_tap_look(&from->input->tap, from->at, bytes);
	from->at += *count;
	return *count ? 0 : archive_feed_next(from->input, bytes, count, &at);
}

/* Has libarchive begin anew with a member whose headers are too large, without what they have too much. */
static errcode_t cut_header(struct archive_input *input, uint64_t at)
{
	struct from from = { input, at };
	struct pax_cut cut = { .next = next_from,
		               .context = &from,
		               .without_xattrs = input->options && input->options->without_xattrs };

	if (!archive_feed_is_stream(input)) {
		input->at = input->start + at;
		input->is_unread = false;
		input->tap.block_bytes = input->tap.kept_bytes = 0;
	}
	errcode_t error = pax_cut_make(&cut);

	if (error) {
		free(cut.bytes);
		return error;
	}
	free(input->resumed);
	input->resumed = cut.bytes;
	input->resumed_bytes = cut.count;
	input->resumed_capacity = cut.capacity;
	input->cut_xattr = cut.has_lost_xattr;
	memcpy(input->too_large, cut.too_large, sizeof(input->too_large));
	return archive_feed_reopen(input, at + cut.taken - cut.count);
}

/* read_header() of any size. */
static int read_any_header(struct archive_input *input, uint64_t from, struct archive_entry **entry)
{
	int result = read_header(input, from, entry);

	input->cut_xattr = false;
	*input->too_large = '\0';
	if (input->error || !is_too_large(input, from))
		return result;
	errcode_t error = cut_header(input, from);

	if (!error) {
		result = read_header(input, input->base, entry);
		error = is_tar(input) ? 0 : EBADMSG;
	}
	if (!error)
		return result;
	if (error != EBADMSG)
		input->error = error;
	const char *reason = unpacking_reason(&input->unpacking);

	if (input->archive)
		archive_set_error(input->archive, (int)error, "%s", reason ? reason : "an extended header is damaged");
	return ARCHIVE_FATAL;
}

/* Reads up to the first header, which is kept for the caller. */
static void read_first(struct archive_input *input)
{
	input->first_result = read_any_header(input, input->base, &input->first);
	input->has_first = true;
}

/* Begins to read a file that has been looked at. */
static errcode_t begin_file(struct archive_input *input)
{
	struct unpacking *unpacking = &input->unpacking;
	errcode_t error = 0;

	if (input->options && input->options->facts) {
		input->options->facts->is_packed = unpacking->packed;
		sha256_init(&input->options->facts->unpacked);
	}
	if (unpacking->count)
		input->store = unpacking_last(unpacking)->store;
	if (unpacking->count && is_sought(input)) {
		input->start = input->at = input->end = 0;
		error = spool(input);
	}
	if (!error)
		error = archive_feed_open(input);
	if (!error)
		read_first(input);
	return error;
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
	else if (input->disk)
		snprintf(input->refusal, sizeof(input->refusal), "it is %s: give it as image:FILE",
		         disk_form_name(input->disk));
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

/* Is it an archive of this kind? */
static errcode_t check_kind(struct archive_input *input)
{
	if (input->kind == &archive_kind_layer && input->unpacking.packed > 1) {
		snprintf(input->refusal, sizeof(input->refusal), "it is packed more than once");
		return EBADMSG;
	}
	/* What begins as an archive does is one, whatever comes then. */
	if (input->is_further || (input->first_result != ARCHIVE_EOF && !is_raw(input))) {
		input->disk = DISK_NONE;
		input->has_disk = false;
	}
	if (input->disk)
		return refuse(input);
	/* A file of zeros is an empty tar archive, but an ISO 9660 image also begins with 32 KiB of zeros. */
	if (input->kind == &archive_kind_common && input->first_result == ARCHIVE_EOF && !input->is_further) {
		snprintf(input->refusal, sizeof(input->refusal),
		         "it has no members; if that is right, give it as tar:FILE");
		return input->looks_like ? refuse(input) : EBADMSG;
	}
	return is_raw(input) ? refuse(input) : 0;
}

static errcode_t open_input(struct archive_input *input, int descriptor, const struct archive_kind *kind,
                            uint64_t most_bytes, const struct scan_options *options, const struct packed_rest *rest)
{
	errcode_t error = begin(input, descriptor, kind, most_bytes, options, rest);

	if (error)
		return error;
	input->is_further = rest->at;
	input->is_moved = rest->at && !input->file.is_regular;
	choose_locale(input);
	error = begin_file(input);
	return error ? error : check_kind(input);
}

errcode_t archive_input_open(struct archive_input *input, int descriptor, const struct archive_kind *kind,
                             uint64_t most_bytes, const struct scan_options *options)
{
	return open_input(input, descriptor, kind, most_bytes, options, &(struct packed_rest){ 0 });
}

errcode_t archive_input_resume(struct archive_input *input, uint64_t at)
{
	input->is_further = true;
	errcode_t error = archive_feed_reopen(input, at);

	if (!error)
		read_first(input);

	return error ? error : check_kind(input);
}

errcode_t archive_input_reopen(struct archive_input *input, uint64_t at)
{
	const struct archive_input old = *input;
	const uint64_t most_bytes = old.file.is_bounded ? old.end - old.start - at : ARCHIVE_INPUT_ALL;

	SCOPE_FREE uint8_t *bytes = TAKE(input->resumed);
	const struct packed_rest rest = { old.file.is_regular ? at : 1, bytes, old.resumed_bytes };

	archive_input_close(input);
	if (old.file.is_regular && lseek(old.file.descriptor, (off_t)(old.start + at), SEEK_SET) < 0)
		return errno;
	return open_input(input, old.file.descriptor, old.kind, most_bytes, old.options, &rest);
}

errcode_t archive_input_spool(struct archive_input *input, const char *name, int *descriptor, struct problem *problem)
{
	SCOPE_FREE uint8_t *kept = NULL;
	SCOPE_CLOSE int made = -1;
	const uint8_t *bytes;
	size_t count = archive_feed_is_stream(input) ? (size_t)input->unpacked_at : 0;
	uint64_t at = 0;

	*descriptor = -1;
	if (!archive_feed_is_stream(input) || input->file.is_regular)
		return 0;
	errcode_t error = sparse_file_create(&made, problem);

	bytes = kept = malloc(count + 1);
	if (!error)
		error = kept ? unpacked_store_read(input->store, kept, count, 0) : ENOMEM;
	while (!error && count) {
		error = sparse_file_write(made, bytes, count, at, name, problem);
		at += count;
		if (!error)
			error = unpacking_next(&input->unpacking, &bytes, &count);
	}
	if (!error)
		error = sparse_file_end(made, at, name, problem);
	if (error)
		return archive_input_problem(input, error, name, problem);
	*descriptor = made;
	made = -1;
	return 0;
}

struct unpacked_store *archive_input_release_store(struct archive_input *input)
{
	unpacking_last(&input->unpacking)->owns_store = false;
	return input->store;
}

bool archive_input_lacks_padding(const struct archive_input *input)
{
	const uint64_t end = archive_feed_is_stream(input) ? input->unpacked_at : input->end - input->start;

	return input->kind == &archive_kind_layer && !input->error &&
	       (input->is_at_end || !archive_feed_is_stream(input)) && input->data_end && input->data_end <= end &&
	       end - input->data_end < -input->data_end % 512u;
}

/* Notes where the stored contents of the member end. */
static void note_member(struct archive_input *input, int result, struct archive_entry *entry)
{
	bool is_whole = (result == ARCHIVE_OK || result == ARCHIVE_WARN) && !archive_entry_sparse_reset(entry) &&
	                archive_entry_size(entry) > 0;

	input->data_end = is_whole ? archive_input_position(input) + (uint64_t)archive_entry_size(entry) : 0;
}

int archive_input_next(struct archive_input *input, struct archive_entry **entry)
{
	if (input->has_first) {
		input->has_first = false;
		*entry = input->first;
		note_member(input, input->first_result, *entry);
		return input->first_result;
	}
	/* archive_read_next_header() would also do this first, but it would not tell where the header begins. */
	int skipped = archive_read_data_skip(input->archive);

	if (skipped == ARCHIVE_EOF || skipped == ARCHIVE_FATAL)
		return ARCHIVE_FATAL;
	int result = read_any_header(input, archive_input_position(input), entry);

	note_member(input, result, *entry);
	return result == ARCHIVE_OK ? skipped : result;
}

errcode_t archive_input_header(struct archive_input *input, const uint8_t **bytes, size_t *count)
{
	return header_tap_get(&input->tap, archive_input_position(input), bytes, count);
}

errcode_t archive_input_problem(const struct archive_input *input, errcode_t error, const char *path,
                                struct problem *problem)
{
	const struct problem *unpacking = unpacking_problem(&input->unpacking);
	const char *reason = input->archive ? archive_error_string(input->archive) : NULL;

	if (error == EDQUOT && input->options && input->options->counts)
		return source_counts_problem(input->options->counts, problem);
	if (unpacking)
		return problem_set(problem, error, unpacking->path, unpacking->action);
	if (error != EBADMSG || input->error)
		return problem_set(problem, error, path, "cannot read");
	if (!reason)
		reason = input->unpacking.refusal ? input->unpacking.refusal : unpacking_reason(&input->unpacking);
	if (input->is_empty)
		reason = "it is empty";
	else if (*input->refusal)
		reason = input->refusal;
	return problem_set_reason(problem, error, path, "cannot read", "%s", reason ? reason : "it is damaged");
}

void archive_input_close(struct archive_input *input)
{
	unpacking_close(&input->unpacking);
	if (input->archive)
		archive_read_free(input->archive);
	free(input->tap.kept);
	free(input->resumed);
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
	errcode_t error =
		begin(&input, descriptor, &archive_kind_manifest, ARCHIVE_INPUT_ALL, NULL, &(struct packed_rest){ 0 });

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
	return input->store ? unpacked_store_read(input->store, bytes, count, offset) :
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

	*offset = tap->block_at + (at - start) + (input->store ? 0 : input->start);
	if (at >= start && at - start <= tap->block_bytes && count <= tap->block_bytes - (at - start))
		return true;
	*offset = archive_input_position(input);
	return archive_feed_is_stream(input) && is_stored_at(input, bytes, count, *offset);
}
