/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Makes the messages of our error codes known to com_err, once. Any thread. */
void messages_register(void);
