/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef EXT2FS_MESSAGES_H
#define EXT2FS_MESSAGES_H

/* Makes the messages of our error codes known to com_err, once. Any thread. */
void messages_register(void);

#endif
