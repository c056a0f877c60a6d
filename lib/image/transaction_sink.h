/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sink that is a filesystem which exists: metadata go through its transaction, data past it to blocks that were free
 * at the last commit (ext2mb_transaction_write_data()). So what writes a new image writes into one that others read,
 * too.
 */
#pragma once

#include <ext2fs/ext2fs.h>

#include "image/sink.h"

struct transaction_sink {
	struct sink sink;
	ext2_filsys fs; /* borrowed */
};

/*
 * fs has been opened with ext2mb_transaction_io_manager(), and outlasts the sink. A step is one of its transaction's; a
 * barrier commits. Errors are those of its functions: EXT2MB_ET_NOT_FREE of write_data() for a block that was in use,
 * which is metadata then.
 */
void transaction_sink_init(struct transaction_sink *sink, ext2_filsys fs);
