/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random members of gzip, frames of zstd and streams of xz, whole, cut and damaged: what comes out is what zlib,
 * libzstd and liblzma say.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#if HAVE_LZMA
#include <lzma.h>
#endif
#if HAVE_ZSTD
#include <zstd.h>
#endif

#include "seeded_random.h"
#include "support/io/whole_io.h"
#include "unit.h"
#include "unpack/inflate.h"
#include "unpack/unpack_stream.h"

struct bytes {
	uint8_t *data;
	size_t count, capacity;
};

static void append(struct bytes *to, const void *data, size_t count)
{
	if (to->count + count > to->capacity) {
		to->capacity = 2 * (to->count + count);
		to->data = realloc(to->data, to->capacity);
		ck_assert_ptr_nonnull(to->data);
	}
	if (count)
		memcpy(to->data + to->count, data, count);
	to->count += count;
}

/* Pieces of what is there already, single bytes that repeat, and noise. */
static void append_random(struct random *random, struct bytes *to, size_t count)
{
	while (count) {
		uint8_t piece[256];
		size_t length = 1 + random_below(random, sizeof(piece)), kind = random_below(random, 4);

		length = length < count ? length : count;
		if (kind == 0 && to->count > length) {
			size_t far = to->count - length < 40000 ? to->count - length : 40000;

			memcpy(piece, to->data + to->count - length - random_below(random, far + 1), length);
		} else if (kind == 1) {
			memset(piece, (int)random_below(random, 256), length);
		} else {
			for (size_t i = 0; i < length; i++)
				piece[i] = (uint8_t)random_below(random, kind == 2 ? 8 : 256);
		}
		append(to, piece, length);
		count -= length;
	}
}

static void append_header(struct random *random, struct bytes *to)
{
	uint8_t flags = random_below(random, 2) ? 0 : (uint8_t)(2 * random_below(random, 16));
	const uint8_t header[10] = { 0x1f, 0x8b, 8, flags, 1, 2, 3, 4, 0, 3 };
	static const uint8_t extra[] = { 6, 0, 'B', 'C', 2, 0, 0x1f, 0x8b };

	append(to, header, sizeof(header));
	append(to, extra, flags & 4 ? sizeof(extra) : 0);
	append(to, "a name", flags & 8 ? 7 : 0);
	append(to, "a comment", flags & 16 ? 10 : 0);
	append(to, "xx", flags & 2 ? 2 : 0);
}

static void append_member(struct random *random, struct bytes *to, const uint8_t *data, size_t count)
{
	static const int strategies[] = { Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED };
	z_stream stream = { 0 };
	int level = (int)random_below(random, 10);
	size_t room = compressBound(count) + 1000;
	uint8_t *packed = malloc(room), trailer[8];
	uint32_t checksum = (uint32_t)crc32_z(0, data, count);

	append_header(random, to);
	ck_assert_int_eq(deflateInit2(&stream, level, Z_DEFLATED, -15, 1 + (int)random_below(random, 9),
	                              strategies[random_below(random, 5)]),
	                 Z_OK);
	stream.next_in = (uint8_t *)(uintptr_t)data;
	stream.next_out = packed;
	stream.avail_out = (uInt)room;
	/* Blocks end in the middle, some of them empty. */
	if (count > 10 && random_below(random, 2)) {
		stream.avail_in = (uInt)random_below(random, count);
		ck_assert_int_eq(deflate(&stream, random_below(random, 2) ? Z_SYNC_FLUSH : Z_FULL_FLUSH), Z_OK);
	}
	stream.avail_in = (uInt)(data + count - stream.next_in);
	ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
	append(to, packed, stream.total_out);
	for (unsigned int i = 0; i < 4; i++) {
		trailer[i] = (uint8_t)(checksum >> 8 * i);
		trailer[4 + i] = (uint8_t)(count >> 8 * i);
	}
	append(to, trailer, sizeof(trailer));
	deflateEnd(&stream);
	free(packed);
}

/* A packed file and what is known of it. */
struct sample {
	struct bytes packed, plain;
};

static void free_sample(struct sample *sample)
{
	free(sample->packed.data);
	free(sample->plain.data);
}

static struct sample make_members(struct random *random, size_t members, size_t most)
{
	struct sample sample = { 0 };

	for (size_t i = 0; i < members; i++) {
		size_t start = sample.plain.count;

		append_random(random, &sample.plain, random_below(random, most + 1));
		append_member(random, &sample.packed, sample.plain.data + start, sample.plain.count - start);
	}
	return sample;
}

struct setting {
	unsigned int threads;
	uint64_t memory;
	bool is_pipe;
};

static const struct setting settings[] = {
	{ 0, UINT64_MAX, false }, { 1, 0, false }, { 2, UINT64_MAX, false },
	{ 4, 3 << 20, false },    { 0, 0, true },  { 2, 1 << 20, true },
};

#define SETTINGS (sizeof(settings) / sizeof(*settings))

struct writer {
	const struct bytes *bytes;
	int descriptor;
};

static void *write_pipe(void *argument)
{
	struct writer *writer = argument;

	for (size_t at = 0; at < writer->bytes->count;) {
		ssize_t moved = write(writer->descriptor, writer->bytes->data + at, writer->bytes->count - at);

		if (moved <= 0)
			break;
		at += (size_t)moved;
	}
	close(writer->descriptor);
	return NULL;
}

static struct unpacked_budget *make_budget(uint64_t most_bytes)
{
	struct unpacked_budget *budget;

	ck_assert_int_eq(unpacked_budget_create(most_bytes, &budget), 0);
	return budget;
}

/* Unpacks it all; *plain gets what came, also before a failure. */
static errcode_t unpack_from(const struct decoder_format *format, struct packed_file *file,
                             const struct setting *setting, struct bytes *plain, char reason[160])
{
	struct unpacked_budget *budget = make_budget(setting->memory);
	struct unpacked_store *store;
	struct unpack_stream *stream;
	struct problem problem = { 0 };
	const uint8_t *bytes;
	size_t count;
	errcode_t error = unpacked_store_create(budget, ".", &store);
	const struct unpack_source source = { format, NULL, file, store, setting->threads, NULL, 0 };

	ck_assert_int_eq(error, 0);
	ck_assert_int_eq(unpack_stream_open(&source, &stream), 0);
	do {
		error = unpack_stream_next(stream, &bytes, &count, &problem);
		if (!error && count)
			unpacked_store_want(store, unpacked_store_end(store) - count, count);
	} while (!error && count);
	snprintf(reason, 160, "%s", error == EBADMSG ? unpack_stream_reason(stream) : "");
	unpack_stream_close(stream);
	plain->count = 0;
	size_t end = (size_t)unpacked_store_end(store);
	uint8_t *all = malloc(end + 1);

	/* In parts that know nothing of pieces. */
	for (size_t at = 0, part; at < end; at += part) {
		part = end - at < 77777 ? end - at : 77777;
		ck_assert_int_eq(unpacked_store_read(store, all + at, part, at), 0);
	}
	ck_assert_int_eq(unpacked_store_read(store, all, 1, end), ENODATA);
	append(plain, all, end);
	free(all);
	unpacked_store_destroy(store);
	unpacked_budget_release(budget);
	problem_clear(&problem);
	return error;
}

static errcode_t unpack(const struct decoder_format *format, const struct bytes *packed, const struct setting *setting,
                        struct bytes *plain, char reason[160])
{
	struct packed_file file = { .is_regular = !setting->is_pipe, .size_bytes = packed->count };
	pthread_t thread;
	int ends[2];
	struct writer writer = { packed, -1 };

	if (!setting->is_pipe) {
		file.descriptor = memfd_create("packed", 0);
		ck_assert_int_eq(whole_write(file.descriptor, packed->data, packed->count, 0), 0);
		errcode_t error = unpack_from(format, &file, setting, plain, reason);

		close(file.descriptor);
		return error;
	}
	ck_assert_int_eq(pipe(ends), 0);
	file.descriptor = ends[0];
	/* The bytes that the caller has read already. */
	file.beginning_bytes = packed->count < 100 ? packed->count : 100;
	file.beginning = packed->data;
	struct bytes rest = { packed->data + file.beginning_bytes, packed->count - file.beginning_bytes, 0 };

	writer = (struct writer){ &rest, ends[1] };
	ck_assert_int_eq(pthread_create(&thread, NULL, write_pipe, &writer), 0);
	errcode_t error = unpack_from(format, &file, setting, plain, reason);

	close(ends[0]);
	pthread_join(thread, NULL);
	return error;
}

static bool is_equal(const struct bytes *one, const struct bytes *other)
{
	return one->count == other->count && (!one->count || !memcmp(one->data, other->data, one->count));
}

static void check_whole(const struct decoder_format *format, const struct sample *sample)
{
	struct bytes plain = { 0 };
	char reason[160];

	for (size_t i = 0; i < SETTINGS; i++) {
		ck_assert_msg(unpack(format, &sample->packed, &settings[i], &plain, reason) == 0, "setting %zu: %s", i,
		              reason);
		ck_assert_msg(is_equal(&plain, &sample->plain), "setting %zu", i);
	}
	free(plain.data);
}

START_TEST(test_whole_members)
{
	struct random random = random_start(__func__);

	printf("# %s\n", inflate_libraries);
	for (size_t round = 0; round < (is_soak() ? 40 : 8); round++) {
		struct sample sample = make_members(&random, 1 + round % 5, round % 2 ? 100 : 200000);

		check_whole(&gzip_format, &sample);
		/* What comes after the last one is left alone, as gzip(1) does. */
		append(&sample.packed, "trailing \x1f\x8b\x08\x00 garbage", round % 3 ? 0 : 20);
		check_whole(&gzip_format, &sample);
		free_sample(&sample);
	}
}
END_TEST

/* So many that the file is cut into units, with what looks like the beginning of members within them. */
START_TEST(test_many_members)
{
	struct random random = random_start(__func__);

	for (size_t round = 0; round < 4; round++) {
		static const size_t counts[] = { 20, 1000, 4, 150 }, most[] = { 400000, 3000, 4000000, 65280 };
		struct sample sample =
			make_members(&random, is_soak() ? 2 * counts[round] : counts[round] / 2, most[round]);

		check_whole(&gzip_format, &sample);
		free_sample(&sample);
	}
	struct sample sample = { 0 };

	/* Stored blocks, so the packed file is full of beginnings that are none. */
	for (size_t i = 0; i < (is_soak() ? 30 : 6); i++) {
		size_t start = sample.plain.count;

		for (size_t n = 0; n < 3000; n++) {
			append_header(&random, &sample.plain);
			append_random(&random, &sample.plain, 30);
		}
		append_member(&random, &sample.packed, sample.plain.data + start, sample.plain.count - start);
	}
	check_whole(&gzip_format, &sample);
	free_sample(&sample);
}
END_TEST

/* zlib's verdict: 0 or EBADMSG; *end: where the first member ends. */
static errcode_t zlib_verdict(const struct bytes *packed, struct bytes *plain)
{
	z_stream stream = { .next_in = packed->data, .avail_in = (uInt)packed->count };
	uint8_t room[65536];
	int result;

	plain->count = 0;
	ck_assert_int_eq(inflateInit2(&stream, 15 + 16), Z_OK);
	for (;;) {
		stream.next_out = room;
		stream.avail_out = sizeof(room);
		result = inflate(&stream, Z_NO_FLUSH);
		append(plain, room, sizeof(room) - stream.avail_out);
		if (result == Z_STREAM_END && stream.avail_in >= 10 && stream.next_in[0] == 0x1f &&
		    stream.next_in[1] == 0x8b)
			inflateReset(&stream);
		else if (result != Z_OK || (!stream.avail_in && stream.avail_out))
			break;
	}
	inflateEnd(&stream);
	return result == Z_STREAM_END ? 0 : EBADMSG;
}

START_TEST(test_cut_members)
{
	struct random random = random_start(__func__);
	struct bytes plain = { 0 };
	char reason[160];

	for (size_t round = 0; round < (is_soak() ? 12 : 3); round++) {
		struct sample sample = make_members(&random, 1 + round % 2, 300);
		struct bytes cut = sample.packed;

		for (cut.count = 11; cut.count < sample.packed.count; cut.count++) {
			struct bytes expected = { 0 };
			errcode_t verdict = zlib_verdict(&cut, &expected);
			errcode_t error = unpack(&gzip_format, &cut, &settings[cut.count % 3], &plain, reason);

			/* A second header that is cut is no header to us, and nothing to zlib. */
			if (error)
				ck_assert_str_eq(reason, "truncated gzip input");
			ck_assert_msg(error || plain.count <= sample.plain.count, "cut at %zu", cut.count);
			ck_assert_msg(!error || verdict, "cut at %zu: %s", cut.count, reason);
			ck_assert(!plain.count || !memcmp(plain.data, sample.plain.data, plain.count));
			free(expected.data);
		}
		free_sample(&sample);
	}
	free(plain.data);
}
END_TEST

START_TEST(test_damaged_members)
{
	struct random random = random_start(__func__);
	struct bytes plain = { 0 }, expected = { 0 };
	char reason[160];
	const size_t rounds = is_soak() ? 3000 : 400;
	size_t refused = 0;

	for (size_t round = 0; round < rounds; round++) {
		struct sample sample = make_members(&random, 1 + round % 3, round % 8 ? 400 : 40000);
		size_t at = 10 + random_below(&random, sample.packed.count - 10);

		sample.packed.data[at] ^= (uint8_t)(1 + random_below(&random, 255));
		errcode_t verdict = zlib_verdict(&sample.packed, &expected);
		errcode_t error = unpack(&gzip_format, &sample.packed, &settings[round % 3], &plain, reason);

		refused += error != 0;
		if (!error && !verdict)
			ck_assert(is_equal(&plain, &expected));
		/* Only names, comments, times and a second header can be wrong unseen. */
		if (!error)
			ck_assert(plain.count <= sample.plain.count &&
			          (!plain.count || !memcmp(plain.data, sample.plain.data, plain.count)));
		free_sample(&sample);
	}
	ck_assert_uint_gt(refused, rounds / 3 * 2);
	free(plain.data);
	free(expected.data);
}
END_TEST

START_TEST(test_wrong_trailers)
{
	struct random random = random_start(__func__);
	struct sample sample = make_members(&random, 1, 5000);
	struct bytes plain = { 0 };
	char reason[160];

	for (size_t i = 0; i < 8; i++) {
		uint8_t *byte = &sample.packed.data[sample.packed.count - 8 + i];

		*byte ^= 0x10;
		for (size_t setting = 0; setting < SETTINGS; setting++) {
			ck_assert_int_eq(unpack(&gzip_format, &sample.packed, &settings[setting], &plain, reason),
			                 EBADMSG);
			ck_assert_str_eq(reason, i < 4 ? "gzip's checksum is not that of what it unpacks to" :
			                                 "gzip's length is not that of what it unpacks to");
		}
		*byte ^= 0x10;
	}
	free_sample(&sample);
	free(plain.data);
}
END_TEST

/* The same bytes and the same failure for any number of threads. */
START_TEST(test_damage_among_many)
{
	struct random random = random_start(__func__);
	struct sample sample = make_members(&random, 60, 200000);
	struct bytes first = { 0 }, plain = { 0 };
	char first_reason[160], reason[160];

	for (size_t round = 0; round < (is_soak() ? 20 : 8); round++) {
		size_t at = random_below(&random, sample.packed.count);
		uint8_t was = sample.packed.data[at];

		sample.packed.data[at] ^= 0xff;
		errcode_t error = unpack(&gzip_format, &sample.packed, &settings[0], &first, first_reason);

		for (size_t i = 2; i < 4; i++) {
			ck_assert_int_eq(unpack(&gzip_format, &sample.packed, &settings[i], &plain, reason), error);
			ck_assert_str_eq(reason, first_reason);
			ck_assert(is_equal(&plain, &first));
		}
		sample.packed.data[at] = was;
	}
	free_sample(&sample);
	free(first.data);
	free(plain.data);
}
END_TEST

/* Closing early does not wait: neither for unpacking threads, nor for a pipe's writer. */
START_TEST(test_early_close)
{
	struct random random = random_start(__func__);
	struct sample sample = make_members(&random, 60, 200000);
	struct unpacked_store *store;
	struct unpack_stream *stream;
	struct problem problem = { 0 };
	const uint8_t *bytes;
	size_t count;
	int ends[2];

	for (unsigned int round = 0; round < 20; round++) {
		bool is_pipe = round % 2;
		struct packed_file file = { .is_regular = !is_pipe, .size_bytes = sample.packed.count };

		ck_assert_int_eq(pipe(ends), 0);
		file.descriptor = is_pipe ? ends[0] : memfd_create("packed", 0);
		ck_assert_int_eq(unpacked_store_create(NULL, ".", &store), 0);
		if (is_pipe)
			ck_assert_int_eq(write(ends[1], sample.packed.data, 1000), 1000);
		else
			ck_assert_int_eq(whole_write(file.descriptor, sample.packed.data, sample.packed.count, 0), 0);
		const struct unpack_source source = { &gzip_format, NULL, &file, store, 1 + round % 4, NULL, 0 };

		ck_assert_int_eq(unpack_stream_open(&source, &stream), 0);
		for (unsigned int i = 0; !is_pipe && i < round; i++)
			ck_assert_int_eq(unpack_stream_next(stream, &bytes, &count, &problem), 0);
		unpack_stream_close(stream);
		unpacked_store_destroy(store);
		if (!is_pipe)
			close(file.descriptor);
		close(ends[0]);
		close(ends[1]);
	}
	free_sample(&sample);
}
END_TEST

#if HAVE_LZMA
static void append_stream(struct random *random, struct sample *sample, size_t count)
{
	static const lzma_check checks[] = { LZMA_CHECK_CRC32, LZMA_CHECK_CRC64, LZMA_CHECK_SHA256 };
	const size_t start = sample->plain.count, room = lzma_stream_buffer_bound(count);
	uint8_t *packed = calloc(1, room + 12);
	size_t used = 0;

	append_random(random, &sample->plain, count);
	ck_assert_int_eq(lzma_easy_buffer_encode(random_below(random, 3), checks[random_below(random, 3)], NULL,
	                                         sample->plain.data + start, count, packed, &used, room),
	                 LZMA_OK);
	append(&sample->packed, packed, used + 4 * random_below(random, 4));
	free(packed);
}

START_TEST(test_streams)
{
	struct random random = random_start(__func__);

	for (size_t round = 0; round < 4; round++) {
		struct sample sample = { 0 };
		struct bytes plain = { 0 };
		char reason[160];

		for (size_t i = 0; i < (round < 2 ? 3 : 10); i++)
			append_stream(&random, &sample, random_below(&random, round < 2 ? 1000 : 200000));
		for (size_t i = 0; i < SETTINGS; i++) {
			struct bytes cut = sample.packed;

			ck_assert_int_eq(unpack(xz_format, &sample.packed, &settings[i], &plain, reason), 0);
			ck_assert(is_equal(&plain, &sample.plain));
			cut.count -= 17 + random_below(&random, 10);
			ck_assert_int_eq(unpack(xz_format, &cut, &settings[i], &plain, reason), EBADMSG);
			sample.packed.data[sample.packed.count / 2] ^= 1;
			errcode_t error = unpack(xz_format, &sample.packed, &settings[i], &plain, reason);

			ck_assert_msg(error == EBADMSG || is_equal(&plain, &sample.plain), "round %zu", round);
			sample.packed.data[sample.packed.count / 2] ^= 1;
		}
		append(&sample.packed, "garbage", 7);
		ck_assert_int_eq(unpack(xz_format, &sample.packed, &settings[2], &plain, reason), EBADMSG);
		free(plain.data);
		free_sample(&sample);
	}
}
END_TEST
#endif

#if HAVE_ZSTD
static void append_frame(struct random *random, struct sample *sample, size_t count, int window_log)
{
	static const uint8_t skippable[] = { 0x52, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'x', 'y', 'z' };
	size_t start = sample->plain.count, room;
	ZSTD_CCtx *context = ZSTD_createCCtx();

	append_random(random, &sample->plain, count);
	room = ZSTD_compressBound(count);
	uint8_t *packed = malloc(room);

	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
	if (window_log)
		ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
	ZSTD_inBuffer in = { sample->plain.data + start, count, 0 };
	ZSTD_outBuffer out = { packed, room, 0 };

	/* In two steps, so that it does not know how short it is. */
	in.size = count / 2;
	ck_assert(!ZSTD_isError(ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush)));
	in.size = count;
	ck_assert_uint_eq(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end), 0);
	append(&sample->packed, packed, out.pos);
	append(&sample->packed, skippable, random_below(random, 5) ? 0 : sizeof(skippable));
	free(packed);
	ZSTD_freeCCtx(context);
}

START_TEST(test_frames)
{
	struct random random = random_start(__func__);

	for (size_t round = 0; round < 6; round++) {
		struct sample sample = { 0 };
		struct bytes plain = { 0 };
		char reason[160];

		/* Frames with a window that is too large to be tried are there, too. */
		for (size_t i = 0; i < (round < 3 ? 3 : 30); i++)
			append_frame(&random, &sample,
			             random_below(&random, round < 3 ? 1000 :
			                                   is_soak() ? 400000 :
			                                               200000),
			             round == 5 && i % 7 == 6 ? 25 : 0);
		check_whole(zstd_format, &sample);
		for (size_t i = 0; i < SETTINGS; i++) {
			struct bytes cut = sample.packed;

			cut.count -= 1 + random_below(&random, 10);
			errcode_t error = unpack(zstd_format, &cut, &settings[i], &plain, reason);

			ck_assert(error == EBADMSG || plain.count == sample.plain.count);
			sample.packed.data[sample.packed.count / 2] ^= 1;
			error = unpack(zstd_format, &sample.packed, &settings[i], &plain, reason);
			ck_assert_msg(error == EBADMSG || is_equal(&plain, &sample.plain), "round %zu", round);
			sample.packed.data[sample.packed.count / 2] ^= 1;
		}
		append(&sample.packed, "garbage", 7);
		ck_assert_int_eq(unpack(zstd_format, &sample.packed, &settings[2], &plain, reason), EBADMSG);
		free(plain.data);
		free_sample(&sample);
	}
}
END_TEST
#endif

START_TEST(test_copies)
{
	struct random random = random_start(__func__);

	for (unsigned int round = 0; round < 2; round++) {
		struct unpacked_budget *budget = make_budget(round ? 600000 : UINT64_MAX);
		struct unpacked_store *store;
		struct bytes all = { 0 };
		struct problem problem = { 0 };
		uint8_t piece[5000];

		ck_assert_int_eq(unpacked_store_create(budget, ".", &store), 0);
		append_random(&random, &all, 3000000);
		for (size_t at = 0, part; at < all.count; at += part) {
			part = random_below(&random, 700000);
			part = part < all.count - at ? part : all.count - at;
			ck_assert_int_eq(unpacked_store_copy(store, all.data + at, part, &problem), 0);
			ck_assert_uint_eq(unpacked_store_end(store), at + part);
		}
		for (unsigned int i = 0; i < 1000; i++) {
			size_t at = random_below(&random, all.count - sizeof(piece));

			ck_assert_int_eq(unpacked_store_read(store, piece, sizeof(piece), at), 0);
			ck_assert_mem_eq(piece, all.data + at, sizeof(piece));
		}
		unpacked_store_destroy(store);
		unpacked_budget_release(budget);
		free(all.data);
	}
	struct unpacked_store *store;
	struct problem problem = { 0 };
	uint8_t byte = 1;

	ck_assert_int_eq(unpacked_store_create(NULL, "/nowhere/at/all", &store), 0);
	ck_assert_int_eq(unpacked_store_copy(store, &byte, 1, &problem), 0);
	ck_assert_int_eq(unpacked_store_add(store, unpacked_store_buffer(store), 1, &problem), ENOENT);
	ck_assert_str_eq(problem.path, "/nowhere/at/all");
	problem_clear(&problem);
	unpacked_store_destroy(store);
}
END_TEST

/* The last two unwanted pieces stay; the memory of earlier ones is reused, and does not count. */
START_TEST(test_unwanted)
{
	struct unpacked_budget *budget = make_budget(4 * UNPACKED_PIECE_BYTES);
	struct unpacked_store *store;
	struct problem problem = { 0 };
	const size_t each = UNPACKED_PIECE_BYTES;
	uint8_t *distinct[30], byte;
	size_t distinct_count = 0;

	ck_assert_int_eq(unpacked_store_create(budget, "/nowhere/at/all", &store), 0);
	for (uint8_t i = 0; i < 30; i++) {
		uint8_t *buffer = unpacked_store_buffer(store);
		size_t known = 0;

		while (known < distinct_count && distinct[known] != buffer)
			known++;
		if (known == distinct_count)
			distinct[distinct_count++] = buffer;
		memset(buffer, i, each);
		ck_assert_int_eq(unpacked_store_add(store, buffer, each, &problem), 0);
		/* The last byte of one piece when the next is there, as of a member that begins at its end. */
		if (i == 8 || i == 21)
			unpacked_store_want(store, i * each - 1, 1);
	}
	ck_assert_uint_le(distinct_count, 2 + 3);
	for (uint8_t i = 0; i < 30; i++) {
		errcode_t error = unpacked_store_read(store, &byte, 1, i * each + 5);

		ck_assert_int_eq(error, i == 7 || i == 20 || i >= 28 ? 0 : ENODATA);
		if (!error)
			ck_assert_uint_eq(byte, i);
	}
	ck_assert_uint_le(unpacked_budget_used(budget), 4 * each);
	unpacked_store_destroy(store);
	unpacked_budget_release(budget);
}
END_TEST

static void expect_piece(const struct unpacked_store *store, uint64_t at, errcode_t error)
{
	uint8_t byte = 0, expected = (uint8_t)(at / UNPACKED_PIECE_BYTES + 1);

	ck_assert_int_eq(unpacked_store_read(store, &byte, 1, at), error);
	ck_assert_int_eq(byte, error ? 0 : expected);
}

/* What nobody wants any more is given up, in memory and in the file, and what was never wanted stays. */
START_TEST(test_release)
{
	const size_t piece = UNPACKED_PIECE_BYTES;

	for (unsigned int round = 0; round < 3; round++) {
		struct unpacked_budget *budget = make_budget(round * 2 * piece);
		struct unpacked_store *store;
		struct problem problem = { 0 };

		ck_assert_int_eq(unpacked_store_create(budget, ".", &store), 0);
		for (unsigned int number = 0; number < 4; number++) {
			uint8_t *buffer = unpacked_store_buffer(store);

			memset(buffer, (int)number + 1, piece);
			ck_assert_int_eq(unpacked_store_add(store, buffer, piece, &problem), 0);
			if (number == 0)
				unpacked_store_want(store, 0, 100);
			else if (number == 1)
				unpacked_store_want(store, 200, 2 * piece - 200);
			else
				unpacked_store_want(store, number * piece, 10);
		}
		unpacked_store_release(store, 0, 100);
		unpacked_store_release(store, 200, piece);
		expect_piece(store, piece - 1, ENODATA);
		expect_piece(store, piece, 0);
		expect_piece(store, 2 * piece, 0);
		unpacked_store_release(store, piece + 200, piece - 200);
		expect_piece(store, 2 * piece - 1, ENODATA);
		expect_piece(store, 2 * piece, 0);
		expect_piece(store, 3 * piece, 0);
		unpacked_store_destroy(store);
		unpacked_budget_release(budget);
	}
}
END_TEST

static struct unpacked_store *filled_store(struct unpacked_budget *budget, const char *directory, int value)
{
	struct unpacked_store *store;
	struct problem problem = { 0 };

	ck_assert_int_eq(unpacked_store_create(budget, directory, &store), 0);
	for (unsigned int number = 0; number < 3; number++) {
		uint8_t *buffer = unpacked_store_buffer(store);

		memset(buffer, value, UNPACKED_PIECE_BYTES);
		ck_assert_int_eq(unpacked_store_add(store, buffer, UNPACKED_PIECE_BYTES, &problem), 0);
		unpacked_store_want(store, number * UNPACKED_PIECE_BYTES, UNPACKED_PIECE_BYTES);
	}
	ck_assert_int_eq(unpacked_store_finish(store, &problem), 0);
	return store;
}

/* What a store had of the budget serves the next one, and zeros take nothing of it. */
START_TEST(test_budget)
{
	struct unpacked_budget *budget = make_budget(3 * UNPACKED_PIECE_BYTES);
	uint8_t byte;

	for (int round = 1; round <= 3; round++) {
		struct unpacked_store *store = filled_store(budget, "/nowhere/at/all", round);
		struct unpacked_store *zeros = filled_store(budget, "/nowhere/at/all", 0);

		ck_assert_uint_eq(unpacked_budget_used(budget), 3 * UNPACKED_PIECE_BYTES);
		ck_assert_int_eq(unpacked_store_read(store, &byte, 1, 3 * UNPACKED_PIECE_BYTES - 1), 0);
		ck_assert_int_eq(byte, round);
		ck_assert_int_eq(unpacked_store_read(zeros, &byte, 1, 7), 0);
		ck_assert_int_eq(byte, 0);
		unpacked_store_release(store, 0, UNPACKED_PIECE_BYTES);
		ck_assert_uint_eq(unpacked_budget_used(budget), 2 * UNPACKED_PIECE_BYTES);
		unpacked_store_destroy(store);
		unpacked_store_destroy(zeros);
		ck_assert_uint_eq(unpacked_budget_used(budget), 0);
	}
	unpacked_budget_release(budget);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("unpack");
	TCase *cases = tcase_create("unpack");

	/* Damaged data is not read to its end. */
	signal(SIGPIPE, SIG_IGN);
	tcase_set_timeout(cases, 300);
	tcase_add_test(cases, test_whole_members);
	tcase_add_test(cases, test_many_members);
	tcase_add_test(cases, test_cut_members);
	tcase_add_test(cases, test_damaged_members);
	tcase_add_test(cases, test_wrong_trailers);
	tcase_add_test(cases, test_damage_among_many);
	tcase_add_test(cases, test_early_close);
#if HAVE_ZSTD
	tcase_add_test(cases, test_frames);
#endif
#if HAVE_LZMA
	tcase_add_test(cases, test_streams);
#endif
	tcase_add_test(cases, test_copies);
	tcase_add_test(cases, test_unwanted);
	tcase_add_test(cases, test_release);
	tcase_add_test(cases, test_budget);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
