/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Registers the messages of our error codes with com_err, once. Any thread. */
void messages_register(void);
