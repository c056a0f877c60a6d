/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys and policies of encrypted directories, by the kernel's ioctls (fs/crypto). The master key is always the same: 64
 * bytes, 0 to 63.
 *
 * encryption add PATH v1|v2: gives the key to the filesystem that PATH is in.
 * encryption remove PATH v1|v2: takes it away; files that are open keep it.
 * encryption policy DIR v1|v2 [FLAG...]: makes an empty directory encrypted, and adds the key. FLAGs: iv-ino-lblk-64,
 * iv-ino-lblk-32, pad-16, pad-32, unit-512.
 *
 * Exit status 3: this kernel cannot do that.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fscrypt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define KEY_BYTES 64
#define UNABLE 3

static const char v1_descriptor[FSCRYPT_KEY_DESCRIPTOR_SIZE] = "ext2mb-1";

static __attribute__((noreturn)) void give_up(const char *what)
{
	int error = errno;

	fprintf(stderr, "encryption: %s: %s\n", what, strerror(error));
	exit(error == EOPNOTSUPP || error == ENOTTY || error == ENOPKG || error == ENOENT ? UNABLE : 1);
}

static void specify(const char *version, struct fscrypt_key_specifier *key)
{
	memset(key, 0, sizeof(*key));
	if (strcmp(version, "v1")) {
		key->type = FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER;
		return;
	}
	key->type = FSCRYPT_KEY_SPEC_TYPE_DESCRIPTOR;
	memcpy(key->u.descriptor, v1_descriptor, sizeof(key->u.descriptor));
}

/* Also finds out what a key of version 2 is called. */
static struct fscrypt_key_specifier add_key(int descriptor, const char *version)
{
	struct fscrypt_add_key_arg *add = calloc(1, sizeof(*add) + KEY_BYTES);

	if (!add)
		give_up("calloc");
	specify(version, &add->key_spec);
	add->raw_size = KEY_BYTES;
	for (unsigned int i = 0; i < KEY_BYTES; i++)
		add->raw[i] = (__u8)i;
	if (ioctl(descriptor, FS_IOC_ADD_ENCRYPTION_KEY, add))
		give_up("FS_IOC_ADD_ENCRYPTION_KEY");
	struct fscrypt_key_specifier key = add->key_spec;

	free(add);
	return key;
}

static void remove_key(int descriptor, const char *version)
{
	struct fscrypt_remove_key_arg removed = { .key_spec = add_key(descriptor, version) };

	if (ioctl(descriptor, FS_IOC_REMOVE_ENCRYPTION_KEY, &removed))
		give_up("FS_IOC_REMOVE_ENCRYPTION_KEY");
}

static void add_flag(const char *name, struct fscrypt_policy_v2 *policy)
{
	if (!strcmp(name, "iv-ino-lblk-64"))
		policy->flags |= FSCRYPT_POLICY_FLAG_IV_INO_LBLK_64;
	else if (!strcmp(name, "iv-ino-lblk-32"))
		policy->flags |= FSCRYPT_POLICY_FLAG_IV_INO_LBLK_32;
	else if (!strcmp(name, "pad-16"))
		policy->flags |= FSCRYPT_POLICY_FLAGS_PAD_16;
	else if (!strcmp(name, "pad-32"))
		policy->flags |= FSCRYPT_POLICY_FLAGS_PAD_32;
	else if (!strcmp(name, "unit-512"))
		/* log2_data_unit_size, which Debian 12's header does not name yet. */
		((__u8 *)policy)[4] = 9;
	else
		give_up(name);
}

static void set_policy(int descriptor, const char *version, char **flags)
{
	struct fscrypt_key_specifier key = add_key(descriptor, version);
	struct fscrypt_policy_v2 policy = {
		.version = FSCRYPT_POLICY_V2,
		.contents_encryption_mode = FSCRYPT_MODE_AES_256_XTS,
		.filenames_encryption_mode = FSCRYPT_MODE_AES_256_CTS,
	};

	for (; *flags; flags++)
		add_flag(*flags, &policy);
	memcpy(policy.master_key_identifier, key.u.identifier, sizeof(policy.master_key_identifier));
	struct fscrypt_policy_v1 first = {
		.version = FSCRYPT_POLICY_V1,
		.contents_encryption_mode = policy.contents_encryption_mode,
		.filenames_encryption_mode = policy.filenames_encryption_mode,
		.flags = policy.flags,
	};

	memcpy(first.master_key_descriptor, v1_descriptor, sizeof(first.master_key_descriptor));
	if (ioctl(descriptor, FS_IOC_SET_ENCRYPTION_POLICY, strcmp(version, "v1") ? (void *)&policy : (void *)&first))
		give_up("FS_IOC_SET_ENCRYPTION_POLICY");
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 1;
	int descriptor = open(argv[2], O_RDONLY | O_CLOEXEC);

	if (descriptor < 0)
		give_up(argv[2]);
	if (!strcmp(argv[1], "add"))
		add_key(descriptor, argv[3]);
	else if (!strcmp(argv[1], "remove"))
		remove_key(descriptor, argv[3]);
	else if (!strcmp(argv[1], "policy"))
		set_policy(descriptor, argv[3], argv + 4);
	else
		return 1;
	return 0;
}
