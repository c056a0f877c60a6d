# SPDX-License-Identifier: GPL-2.0-or-later
tools := e2allocsim e2extract e2frag e2populate e2update ext2mb-run
tool_sources := misc/command_line.c misc/completion.c misc/help.c misc/help_topic.c misc/option_row.c misc/tool.c
e2frag_sources := \
	misc/e2frag.c \
	misc/e2frag_history.c \
	misc/e2frag_options.c \
	misc/e2frag_subject.c \
	misc/against_option.c \
	misc/source_limits_option.c \
	$(tool_sources)
e2extract_sources := \
	misc/e2extract.c \
	misc/e2extract_options.c \
	misc/program_version.c \
	misc/run_files_json.c \
	misc/source_limits_option.c \
	$(tool_sources)
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
	misc/mke2fs_options.c \
	misc/oci_config_option.c \
	misc/platform_option.c \
	misc/program_version.c \
	misc/run_files_json.c \
	misc/share_option.c \
	misc/source_option.c \
	misc/source_limits_option.c \
	misc/verity_options.c \
	$(tool_sources)
e2update_sources := \
	misc/against_option.c \
	misc/e2update.c \
	misc/e2update_options.c \
	misc/layer_cache_option.c \
	misc/platform_option.c \
	misc/program_version.c \
	misc/run_files_json.c \
	misc/share_option.c \
	misc/source_option.c \
	misc/source_limits_option.c \
	$(tool_sources)
e2allocsim_sources := \
	misc/e2allocsim.c \
	misc/e2allocsim_compared.c \
	misc/e2allocsim_options.c \
	misc/mke2fs_options.c \
	misc/source_limits_option.c \
	$(tool_sources)
ext2mb-run_sources := \
	misc/ext2mb_run.c \
	misc/ext2mb_run_options.c \
	misc/ext2mb_run_program.c \
	preload/settings.c \
	$(tool_sources)
# Where make install puts the library, seen from the tool, so that both can be moved together.
misc/ext2mb_run.o: cppflags += -I$(srcdir) -DPRELOAD_FOLDER='"$(shell realpath -m --relative-to=$(sbindir) $(preload_dir))"'
