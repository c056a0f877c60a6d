# SPDX-License-Identifier: GPL-2.0-or-later
tools += e2extract e2frag e2populate e2update
e2frag_sources := \
	misc/e2frag.c \
	misc/e2frag_history.c \
	misc/e2frag_options.c \
	misc/e2frag_subject.c \
	misc/against_option.c
e2extract_sources := \
	misc/e2extract.c \
	misc/e2extract_options.c \
	misc/program_version.c \
	misc/run_files_json.c
e2populate_sources := \
	misc/dm_verity_options.c \
	misc/doctor.c \
	misc/doctor_findings.c \
	misc/doctor_folders.c \
	misc/doctor_host.c \
	misc/doctor_programs.c \
	misc/layer_cache_command.c \
	misc/layer_cache_option.c \
	misc/e2populate.c \
	misc/e2populate_options.c \
	misc/e2populate_rows.c \
	misc/e2populate_set.c \
	misc/against_option.c \
	misc/oci_config_option.c \
	misc/platform_option.c \
	misc/program_version.c \
	misc/run_files_json.c \
	misc/share_option.c \
	misc/source_option.c \
	misc/verity_options.c
e2update_sources := \
	misc/against_option.c \
	misc/e2update.c \
	misc/e2update_options.c \
	misc/layer_cache_option.c \
	misc/platform_option.c \
	misc/program_version.c \
	misc/run_files_json.c \
	misc/share_option.c \
	misc/source_option.c
