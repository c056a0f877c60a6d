/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "doctor_findings.h"

#include <et/com_err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "command/tool.h"
#include "support/text/json.h"
#include "support/utf8.h"
#include "support/vector.h"

static const char *const states[] = {
	[FINDING_OK] = "ok",
	[FINDING_SLOW] = "slow",
	[FINDING_LACKS] = "lacks",
	[FINDING_FAILS] = "fails",
};

void finding_add(struct findings *findings, const char *key, enum finding_state state, const char *advice,
                 const char *format, ...)
{
	struct finding finding = { .key = key, .state = state, .advice = advice };
	va_list arguments;

	va_start(arguments, format);
	int bytes = vasprintf(&finding.value, format, arguments);
	va_end(arguments);
	if (bytes < 0 ||
	    vector_reserve(&findings->list, &findings->capacity, findings->count + 1, sizeof(*findings->list)))
		exit_without_memory();
	findings->list[findings->count++] = finding;
}

void finding_add_error(struct findings *findings, const char *key, errcode_t error, enum finding_state state,
                       const char *advice)
{
	if (error)
		finding_add(findings, key, state, advice, "no: %s", error_message(error));
	else
		finding_add_ok(findings, key, "yes");
}

void findings_print(const struct findings *findings)
{
	for (const struct finding *finding = findings->list; finding < findings->list + findings->count; finding++) {
		printf("%-6s", states[finding->state]);
		for (const char *byte = finding->key; *byte; byte++)
			putchar(*byte == '_' ? ' ' : *byte);
		fputs(": ", stdout);
		utf8_print(finding->value, stdout);
		putchar('\n');
		if (finding->advice)
			printf("      %s\n", finding->advice);
	}
}

errcode_t findings_print_json(const struct findings *findings)
{
	struct json json = { .stream = stdout };

	json_open_object(&json, NULL);
	json_boolean(&json, "usable", !findings_fail(findings));
	json_open_array(&json, "findings");
	for (const struct finding *finding = findings->list; finding < findings->list + findings->count; finding++)
		json_row(&json, NULL, JSON_TEXT("key", finding->key), JSON_TEXT("state", states[finding->state]),
		         JSON_TEXT("value", finding->value), JSON_TEXT("advice", finding->advice));
	json_close_array(&json);
	json_close_object(&json);
	return json_end(&json);
}

bool findings_fail(const struct findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		if (findings->list[i].state == FINDING_FAILS)
			return true;
	return false;
}

void findings_clear(struct findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		free(findings->list[i].value);
	free(findings->list);
	*findings = (struct findings){ 0 };
}
