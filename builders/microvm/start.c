/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "init.h"

#include <errno.h>
#include <json-c/json.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define USUAL_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Words with a NULL after them. */
struct words {
	char **list;
	size_t count;
};

static void add_word(struct words *words, const char *word)
{
	words->list = realloc(words->list, (words->count + 2) * sizeof(*words->list));
	if (!words->list) {
		complain("no memory");
		exit(1);
	}
	words->list[words->count++] = text_of("%s", word);
	words->list[words->count] = NULL;
}

/* A variable that is set already gets the new value. */
static void set_variable(struct words *words, const char *variable)
{
	const char *equals = strchr(variable, '=');

	if (!equals)
		return;
	for (size_t i = 0; i < words->count; i++) {
		if (strncmp(words->list[i], variable, (size_t)(equals - variable) + 1))
			continue;
		words->list[i] = text_of("%s", variable);
		return;
	}
	add_word(words, variable);
}

/* What a member of the configuration says; NULL: it is not there. */
static const char *text_in(json_object *configuration, const char *name)
{
	json_object *member;

	return json_object_object_get_ex(configuration, name, &member) && member ? json_object_get_string(member) :
	                                                                           NULL;
}

static void add_list(json_object *configuration, const char *name, struct words *words,
                     void (*add)(struct words *words, const char *word))
{
	json_object *member;

	if (!json_object_object_get_ex(configuration, name, &member) || !json_object_is_type(member, json_type_array))
		return;
	for (size_t i = 0; i < json_object_array_length(member); i++) {
		json_object *word = json_object_array_get_idx(member, i);

		if (json_object_is_type(word, json_type_string))
			add(words, json_object_get_string(word));
	}
}

/* As a shell names it, or a number. */
static int signal_of(const char *text)
{
	static const struct {
		const char *name;
		int number;
	} known[] = { { "HUP", SIGHUP },     { "INT", SIGINT },   { "QUIT", SIGQUIT }, { "KILL", SIGKILL },
		      { "USR1", SIGUSR1 },   { "USR2", SIGUSR2 }, { "TERM", SIGTERM }, { "CONT", SIGCONT },
		      { "WINCH", SIGWINCH }, { "PWR", SIGPWR },   { "STOP", SIGSTOP } };

	if (!text || !*text)
		return SIGTERM;
	int number = atoi(text);

	if (!strncmp(text, "SIG", 3))
		text += 3;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(text, known[i].name))
			number = known[i].number;
	if (!strncmp(text, "RTMIN+", 6))
		number = SIGRTMIN + atoi(text + 6);
	if (number > 0 && number <= SIGRTMAX)
		return number;
	complain("StopSignal: %s: not known; SIGTERM is used", text);
	return SIGTERM;
}

static void set_environment(struct start *start, const struct machine *machine, json_object *configuration)
{
	struct words words = { 0 };
	const char *terminal = getenv("TERM");

	set_variable(&words, "PATH=" USUAL_PATH);
	set_variable(&words, text_of("HOME=%s", start->user.home));
	set_variable(&words, text_of("HOSTNAME=%s", machine->hostname));
	if (terminal)
		set_variable(&words, text_of("TERM=%s", terminal));
	add_list(configuration, "Env", &words, set_variable);
	start->environment = words.list;
}

/* A working directory that is not there is made, and belongs to root, as with container runtimes. */
static void set_directory(struct start *start, json_object *configuration)
{
	const char *directory = text_in(configuration, "WorkingDir");

	start->directory = directory && *directory ? text_of("%s", directory) : "/";
	make_folders(start->directory);
}

static bool read_members(struct start *start, const struct machine *machine, json_object *configuration, int word_count,
                         char **words)
{
	struct words arguments = { 0 };

	if (!user_find(text_in(configuration, "User"), &start->user))
		return false;
	add_list(configuration, "Entrypoint", &arguments, add_word);
	if (!word_count)
		add_list(configuration, "Cmd", &arguments, add_word);
	for (int i = 0; i < word_count; i++)
		add_word(&arguments, words[i]);
	if (!arguments.count) {
		complain(
			"the image's configuration has neither Entrypoint nor Cmd: give words after -- on the kernel's "
			"command line");
		return false;
	}
	start->arguments = arguments.list;
	start->stop_signal = signal_of(text_in(configuration, "StopSignal"));
	set_environment(start, machine, configuration);
	set_directory(start, configuration);
	return true;
}

bool start_read(struct start *start, const struct machine *machine, int word_count, char **words)
{
	char *path = text_of("%s/config.json", machine->folder);
	json_object *document = json_object_from_file(path), *configuration = NULL;

	if (!json_object_is_type(document, json_type_object)) {
		complain("%s: it is not there, or not a JSON object", path);
		return false;
	}
	/* Without "config" nothing is said. */
	if (!json_object_object_get_ex(document, "config", &configuration) || !configuration)
		configuration = json_object_new_object();
	return read_members(start, machine, configuration, word_count, words);
}
