/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ext2fs/messages.h"

#include <pthread.h>

#include <et/com_err.h>

#include "ext2fs/ext2mb_err.h"

static void add(void)
{
	(void)!add_error_table(&et_e2mb_error_table);
}

void messages_register(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, add);
}
