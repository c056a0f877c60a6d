/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "analyze/forms/forms.h"
#include "support/io/whole_io.h"
#include "support/utf8.h"

/* Which of K, M, G ...: the end of a row is given in its start's. */
static unsigned int unit_of(uint64_t kilobytes)
{
	unsigned int unit = 0;

	for (; kilobytes >= 1024; kilobytes /= 1024)
		unit++;
	return unit;
}

static void print_histogram(const struct report *report, FILE *stream)
{
	const struct histogram *sizes = &report->free.sizes;
	static const char units[] = "KMGTPE";
	uint32_t block_bytes = report->filesystem.block_bytes;

	fputs("\nHISTOGRAM OF FREE EXTENT SIZES:\n", stream);
	fprintf(stream, "%s :  %12s  %12s  %7s\n", "Extent Size Range", "Free extents", "Free Blocks", "Percent");
	/* No filesystem has 2^49 blocks. */
	for (unsigned int power = 0; power < 49; power++) {
		uint64_t count, blocks;

		histogram_power(sizes, power, &count, &blocks);
		if (!count)
			continue;
		uint64_t kilobytes = (uint64_t)(block_bytes / 1024) << power;
		unsigned int unit = unit_of(kilobytes);
		uint64_t first = kilobytes >> (10 * unit);

		fprintf(stream, "%5" PRIu64 "%c...%5" PRIu64 "%c-  :  %12" PRIu64 "  %12" PRIu64 "  %6.2f%%\n", first,
		        units[unit], 2 * first, units[unit], count, blocks, report_percent(blocks, sizes->sum));
	}
}

errcode_t form_e2freefrag(const struct report *report, const struct form_parts *parts, FILE *stream)
{
	const struct report_free *space = &report->free;
	const struct report_filesystem *filesystem = &report->filesystem;
	uint64_t block_kilobytes = filesystem->block_bytes / 1024;
	uint64_t mean = space->sizes.count ? space->sizes.sum / space->sizes.count : 0;

	(void)parts;
	fputs("Device: ", stream);
	utf8_print(filesystem->target, stream);
	fprintf(stream, "\nBlocksize: %u bytes\nTotal blocks: %" PRIu64 "\n", filesystem->block_bytes,
	        filesystem->blocks);
	fprintf(stream, "Free blocks: %" PRIu64 " (%0.1f%%)\n", space->sizes.sum,
	        report_percent(space->sizes.sum, filesystem->blocks));
	if (space->chunk_blocks) {
		fprintf(stream, "\nChunksize: %" PRIu64 " bytes (%" PRIu64 " blocks)\n",
		        space->chunk_blocks * filesystem->block_bytes, space->chunk_blocks);
		fprintf(stream, "Total chunks: %" PRIu64 "\nFree chunks: %" PRIu64 " (%0.1f%%)\n", space->chunks,
		        space->free_chunks, report_percent(space->free_chunks, space->chunks));
	}
	fprintf(stream, "\nMin. free extent: %" PRIu64 " KB \nMax. free extent: %" PRIu64 " KB\n",
	        space->sizes.minimum * block_kilobytes, space->sizes.maximum * block_kilobytes);
	fprintf(stream, "Avg. free extent: %" PRIu64 " KB\nNum. free extent: %" PRIu64 "\n", mean * block_kilobytes,
	        space->sizes.count);
	print_histogram(report, stream);
	return flush_output(stream);
}
