/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sink that writes to an existing filesystem: metadata goes through its transaction, data directly to blocks that
 * were free at the last commit (ext2mb_transaction_write_data()). So the code that writes a new image can also write
 * into an image that other programs read.
 */
#pragma once

#include <ext2fs/ext2fs.h>

#include "image/sink.h"

struct transaction_sink {
	struct sink sink;
	ext2_filsys fs; /* borrowed */
};

/*
 * fs has been opened with ext2mb_transaction_io_manager(), and outlives the sink. A step is one of its transaction's; a
 * barrier commits. Errors are those of its functions: EXT2MB_ET_NOT_FREE of write_data() for a block that was in use;
 * the caller writes such a block as metadata.
 */
void transaction_sink_init(struct transaction_sink *sink, ext2_filsys fs);
