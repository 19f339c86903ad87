/* test_settings.c - every setting: its preset, its bounds, a typo of it; files that are refused whole; URLs without their password. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/fleet.h"
#include "core/scoped.h"
#include "fleet/settings.h"

static struct collect_settings got;
static struct err err;
static char warned[2048];

static void note(void *owner, const char *text)
{
	(void)owner;
	strncat(warned, text, sizeof(warned) - strlen(warned) - 2);
	strcat(warned, "\n");
}

static int parse_bytes(const char *bytes, size_t len)
{
	settings_free(&got);
	err = ERR_EMPTY;
	warned[0] = '\0';
	return settings_parse(bytes, len, "tare.conf", &got, note, NULL, &err);
}

static int parse(const char *text)
{
	return parse_bytes(text, strlen(text));
}

static int parse_one(const struct setting_def *def, const char *key, const char *value)
{
	char text[4096];

	snprintf(text, sizeof(text), "%s\n%s = %s\n",
		 def->place == IN_COLLECT ? "[collect]" : "[server \"a\"]", key, value);
	return parse(text);
}

/* Where the value of the last parse_one() is. */
static const void *held(const struct setting_def *def)
{
	return (const char *)(def->place == IN_COLLECT ? (void *)&got : (void *)got.servers) +
	       def->offset;
}

static bool is_number(const struct setting_def *def)
{
	return def->type == SETTING_DURATION || def->type == SETTING_SIZE ||
	       def->type == SETTING_COUNT || def->type == SETTING_U32;
}

static uint64_t number_of(const struct setting_def *def)
{
	return def->type == SETTING_U32 ? *(const uint32_t *)held(def)
					: *(const uint64_t *)held(def);
}

static void type_number(const struct setting_def *def, uint64_t value, char *out, size_t size)
{
	snprintf(out, size, "%llu%s", (unsigned long long)value,
		 def->type == SETTING_DURATION ? "ns" : "");
}

static void every_number_is_held_to_its_bounds(void **state)
{
	(void)state;
	for (size_t i = 0; i < setting_def_count; i++) {
		const struct setting_def *def = &setting_defs[i];
		char text[64];

		if (!is_number(def))
			continue;
		print_message("%s\n", def->key);
		assert_true(def->least < def->most);
		/* backoff and backoff_most are bound to each other: a test of its own */
		if (strncmp(def->key, "backoff", 7) != 0) {
			type_number(def, def->least, text, sizeof(text));
			assert_int_equal(parse_one(def, def->key, text), 0);
			assert_int_equal(number_of(def), def->least);
			type_number(def, def->most, text, sizeof(text));
			assert_int_equal(parse_one(def, def->key, text), 0);
			assert_int_equal(number_of(def), def->most);
		}
		type_number(def, def->most + 1, text, sizeof(text));
		assert_int_equal(parse_one(def, def->key, text), -EINVAL);
		assert_non_null(strstr(err.msg, "out of bounds"));
		assert_non_null(strstr(err.msg, "line 2 of 'tare.conf'"));
		assert_non_null(strstr(err.mend, def->bounds));
		if (def->least == 0)
			continue;
		type_number(def, def->least - 1, text, sizeof(text));
		assert_int_equal(parse_one(def, def->key, text), -EINVAL);
	}
}

/* What each kind of text refuses and takes. */
static const struct {
	enum setting_type type;
	const char *good, *bad;
} words[] = {
	{ SETTING_PATH, "/a/b", "a/b" },
	{ SETTING_ADDRESS, "127.0.0.1:9497", "0.0.0.0:9497" },
	{ SETTING_ADDRESS, "[::1]:9497", "127.0.0.1:0" },
	{ SETTING_ADDRESS, "127.9.9.9:1", "localhost" },
	{ SETTING_PORT, "65535", "65536" },
	{ SETTING_PORT, "1", "0" },
	{ SETTING_WHOLE, "-3", "3.5" },
	{ SETTING_WHOLE, "600", "four" },
	{ SETTING_SWITCH, "no", "maybe" },
	{ SETTING_READINGS, "io, statements", "statement" },
	{ SETTING_READINGS, "all", "plans" },
	{ SETTING_TEXT, "word", "a\tb" },
};

static void every_other_setting_takes_what_it_says_and_nothing_else(void **state)
{
	(void)state;
	for (size_t i = 0; i < setting_def_count; i++) {
		const struct setting_def *def = &setting_defs[i];

		print_message("%s\n", def->key);
		for (size_t j = 0; j < ARRAY_LEN(words); j++) {
			if (words[j].type != def->type)
				continue;
			assert_int_equal(parse_one(def, def->key, words[j].good), 0);
			assert_int_equal(parse_one(def, def->key, words[j].bad), -EINVAL);
			assert_non_null(strstr(err.mend, def->bounds));
		}
		if (def->type == SETTING_WORD) {
			assert_int_equal(parse_one(def, def->key, "unheard-of"), -EINVAL);
			assert_non_null(strstr(err.mend, def->bounds));
			assert_int_equal(parse_one(def, def->key, "postgres"), -EINVAL);
		}
	}
}

static void a_typo_of_every_key_names_the_line_and_the_nearest_key(void **state)
{
	(void)state;
	for (size_t i = 0; i < setting_def_count; i++) {
		const struct setting_def *def = &setting_defs[i];
		char key[64], want[160];

		snprintf(key, sizeof(key), "%sx", def->key);
		print_message("%s\n", key);
		assert_int_equal(parse_one(def, key, def->preset), -EINVAL);
		snprintf(want, sizeof(want), "cannot use '%s' in line 2 of 'tare.conf'", key);
		assert_non_null(strstr(err.msg, want));
		snprintf(want, sizeof(want), "the nearest one is %s;", def->key);
		assert_non_null(strstr(err.mend, want));
	}
}

static void every_preset_is_what_a_user_may_write(void **state)
{
	(void)state;
	for (size_t i = 0; i < setting_def_count; i++) {
		const struct setting_def *def = &setting_defs[i];

		print_message("%s\n", def->key);
		if (def->type != SETTING_SECRET)
			assert_int_equal(parse_one(def, def->key, def->preset), 0);
		assert_true(strlen(def->bounds) > 0 && strlen(def->help) > 0);
		assert_null(strchr(def->help, '|'));
	}
}

static void presets_are_those_of_the_manual(void **state)
{
	(void)state;
	assert_int_equal(parse("[server \"a\"]\n"), 0);
	assert_int_equal(got.cycle_ns, 60 * NS_PER_S);
	assert_int_equal(got.one_in, 4);
	assert_int_equal(got.at_once, 20);
	assert_int_equal(got.budget_ns, 120 * NS_PER_S);
	assert_int_equal(got.visit.candidates, 150);
	assert_int_equal(got.visit.lock_timeout_ns, 100 * NS_PER_MS);
	assert_int_equal(got.keep_payload_bytes, UINT64_C(1) << 30);
	assert_int_equal(got.server_count, 1);
	assert_string_equal(got.servers[0].name, "a");
	assert_string_equal(got.servers[0].port, "5432");
	assert_int_equal(got.servers[0].readings, 0x7f);
	assert_true(got.servers[0].plans);
	assert_int_equal(got.servers[0].line, 1);
}

static void a_key_in_the_wrong_section_is_sent_to_the_right_one(void **state)
{
	(void)state;
	assert_int_equal(parse("[server \"a\"]\ncycle = 5s\n"), -EINVAL);
	assert_non_null(strstr(err.mend, "belongs to [collect]"));
	assert_int_equal(parse("[collect]\nhost = db\n"), -EINVAL);
	assert_non_null(strstr(err.mend, "belongs to [server]"));
}

static void a_server_has_its_own_else_what_collect_says(void **state)
{
	(void)state;
	assert_int_equal(parse("[server \"a\"]\nuser = own\nplans = yes\n"
			       "[collect]\nuser = all\nplans = no\nreadings = io\nport = 6000\n"
			       "[server \"b\"]\nhost = b.example\n"),
			 0);
	assert_int_equal(got.server_count, 2);
	assert_string_equal(got.servers[0].user, "own");
	assert_true(got.servers[0].plans);
	assert_string_equal(got.servers[0].port, "6000");
	assert_string_equal(got.servers[1].user, "all");
	assert_false(got.servers[1].plans);
	assert_int_equal(got.servers[1].readings, 1u << READING_IO);
	assert_string_equal(got.servers[1].host, "b.example");
}

/* Texts that are refused, with what the message says. */
static const struct {
	const char *text, *says;
} refused[] = {
	{ "cycle = 5s\n", "line 1 of 'tare.conf': a key stands before the first section" },
	{ "[collect]\n\ncycle = 5s\ncycle = 6s\n", "line 4 of 'tare.conf': line 3 has it too" },
	{ "[server \"a\"]\n[server \"a\"]\n", "server 'a' stands in line 1 too" },
	{ "[server]\n", "a server needs a name" },
	{ "[server \"\"]\n", "1 to 200 bytes" },
	{ "[server \"a]\n", "ends in a quote" },
	{ "[server \"a\" x]\n", "ends in a quote" },
	{ "[collect\n", "does not end in ]" },
	{ "[collect] x\n", "stands behind the section" },
	{ "[servers \"a\"]\n", "needs a name in quotes" },
	{ "[store]\n", "no such section" },
	{ "[collect]\ncycle\n", "line 2 of 'tare.conf': it has no '='" },
	{ "[collect]\nbackoff = 20min\n", "backoff_most is less than backoff" },
	{ "[collect]\nbackoff_most = 5s\n", "backoff_most is less than backoff" },
	{ "[collect]\nstore = postgresql://u:p@h/d\n", "the store's URL holds a password" },
	{ "[server \"a\"]\npassword =\n", "empty password of server 'a' in line 2" },
	{ "[collect]\nstore =\n", "cannot use '' for store" },
};

static void what_is_wrong_is_told_with_its_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		print_message("%s", refused[i].text);
		assert_int_equal(parse(refused[i].text), -EINVAL);
		if (strstr(err.msg, refused[i].says) == NULL)
			fail_msg("it said: %s", err.msg);
		assert_null(got.store); /* nothing is taken over */
	}
}

static void lines_of_all_kinds_are_read(void **state)
{
	char name[256], text[1024];

	(void)state;
	assert_int_equal(
		parse("\xef\xbb\xbf# first\r\n[collect]\r\n  cycle = 5s ; why\r\n\t one_in=2\r\n"
		      ";[store]\n  # [x]\n[server \"a b]c\"] # it\nhost=/run/pg"),
		0);
	assert_int_equal(got.cycle_ns, 5 * NS_PER_S);
	assert_int_equal(got.one_in, 2);
	assert_string_equal(got.servers[0].name, "a b]c");
	assert_string_equal(got.servers[0].host, "/run/pg");
	memset(name, 'n', 200);
	name[200] = '\0';
	snprintf(text, sizeof(text), "[server \"%s\"]\n", name);
	assert_int_equal(parse(text), 0);
	assert_string_equal(got.servers[0].name, name);
	snprintf(text, sizeof(text), "[server \"%sn\"]\n", name);
	assert_int_equal(parse(text), -EINVAL);
	snprintf(text, sizeof(text), "[collect]\nstore = /%s\n", name);
	assert_int_equal(parse(text), -EINVAL);
	assert_non_null(strstr(err.msg, "line 2 of 'tare.conf': it is too long"));
	assert_int_equal(parse_bytes("[collect]\ncycle = 5s\0\n", 22), -EINVAL);
	assert_non_null(strstr(err.msg, "holds a NUL"));
}

static void a_literal_password_is_warned_of_each_time_and_never_shown(void **state)
{
	const char *text = "[collect]\npassword = hush-1\n[server \"a\"]\npassword = hush-2\n"
			   "[server \"b\"]\npassword = env:HUSH\n[server \"c\"]\n";

	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		assert_int_equal(parse(text), 0);
		assert_non_null(
			strstr(warned, "password of [collect] stands in 'tare.conf' (line 2)"));
		assert_non_null(
			strstr(warned, "password of server 'a' stands in 'tare.conf' (line 4)"));
		assert_null(strstr(warned, "server 'b'"));
		assert_null(strstr(warned, "hush"));
		assert_string_equal(got.servers[2].password, "hush-1");
	}
	assert_int_equal(parse("[server \"a\"]\npassword = hush\x01\n"), -EINVAL);
	assert_null(strstr(err.msg, "hush"));
	assert_int_equal(parse("[server \"a\"]\npasswort = hush\n"), -EINVAL);
	assert_null(strstr(err.msg, "hush"));
}

static void a_url_makes_one_server_and_its_password_is_apart(void **state)
{
	const struct server_settings *s;
	char address[256];

	(void)state;
	settings_free(&got);
	err = ERR_EMPTY;
	assert_int_equal(
		settings_from_url("postgresql://ann:p%40ss@db.example:6000/shop?sslmode=require",
				  &got, &err),
		0);
	s = &got.servers[0];
	assert_int_equal(got.server_count, 1);
	assert_string_equal(s->name, "db.example:6000");
	assert_string_equal(s->user, "ann");
	assert_string_equal(s->password, "p@ss");
	assert_string_equal(s->database, "shop");
	assert_string_equal(s->sslmode, "require");
	settings_address(s, address, sizeof(address));
	assert_string_equal(address, "db.example:6000/shop");
	assert_false(settings_is_local(s));
	settings_free(&got);
	assert_int_equal(settings_from_url("postgres://%2frun%2fpg/", &got, &err), 0);
	assert_string_equal(got.servers[0].name, "local");
	assert_string_equal(got.servers[0].host, "/run/pg");
	assert_string_equal(got.servers[0].database, "postgres");
	assert_true(settings_is_local(&got.servers[0]));
}

static const char *const bad_urls[] = {
	"postgresql://u:hush@h:99999/d",
	"postgresql://u:hush@h:5432:1/d",
	"postgresql://u:hush%@h/d",
	"postgresql://u:hush@h1,h2/d",
	"postgresql://u:hush@[::1/d",
	"postgresql://u:hush@h/d?options=-c%20x",
	"postgresql://u:hush@h/d?sslmode=hush",
	"mysql://u:hush@h/d",
	"u:hush@h",
};

static void no_message_about_a_url_holds_a_part_of_it(void **state)
{
	(void)state;
	settings_free(&got);
	for (size_t i = 0; i < ARRAY_LEN(bad_urls); i++) {
		print_message("%s\n", bad_urls[i]);
		err = ERR_EMPTY;
		assert_int_equal(settings_from_url(bad_urls[i], &got, &err), -EINVAL);
		assert_null(strstr(err.msg, "hush"));
		assert_null(strstr(err.mend, "hush"));
		assert_true(err.mend[0] != '\0');
	}
}

static const struct {
	const char *url, *password;
} with_password[] = {
	{ "postgresql://u:secret@h/d", "secret" },
	{ "postgres://:secret@/d", "secret" },
	{ "postgresql://u:a:b%40@h/d", "a:b%40" },
	{ "postgresql://u@h/d?sslmode=require&password=secret&x=1", "secret" },
	{ "postgresql://h/d?password=secret", "secret" },
	{ "postgresql://u@h/d", NULL },
	{ "postgresql://u:@h/d", NULL },
	{ "postgresql://h:5432/a@b", NULL },
	{ "/var/lib/x:y@z", NULL },
	{ "", NULL },
};

static void the_password_of_a_url_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(with_password); i++) {
		const char *url = with_password[i].url, *want = with_password[i].password;
		size_t at = 0, len = 0;

		print_message("%s\n", url);
		assert_int_equal(settings_url_password(url, &at, &len), want != NULL);
		if (want == NULL)
			continue;
		assert_int_equal(len, strlen(want));
		assert_memory_equal(url + at, want, len);
	}
}

static void all_passwords_of_a_url_are_overwritten(void **state)
{
	char both[] = "postgresql://u:hush@h/d?x=1&password=hush&sslpassword=hush";
	char none[] = "postgresql://u@h/d?passwords=x";
	char slash[] = "postgresql://u:hu/sh@h/d"; /* libpq takes u for a host */
	char at[] = "postgresql://u:hu@sh?@h/d";

	(void)state;
	assert_true(settings_url_hide(both));
	assert_string_equal(both, "postgresql://u:****@h/d?x=1&password=****&sslpassword=****");
	assert_false(settings_url_hide(none));
	assert_string_equal(none, "postgresql://u@h/d?passwords=x");
	assert_true(settings_url_hide(slash));
	assert_string_equal(slash, "postgresql://u:*****@h/d");
	assert_true(settings_url_hide(at));
	assert_string_equal(at, "postgresql://u:******@h/d");
}

static void only_this_machine_is_local(void **state)
{
	static const struct {
		const char *host;
		bool is_local;
	} hosts[] = { { "/run/postgresql", true },
		      { "localhost", true },
		      { "127.3.2.1", true },
		      { "::1", true },
		      { "10.0.0.1", false },
		      { "localhost.example", false },
		      { "::2", false },
		      { "127.example", false } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		char host[32];
		struct server_settings s = { .host = host };

		strcpy(host, hosts[i].host);
		print_message("%s\n", host);
		assert_int_equal(settings_is_local(&s), hosts[i].is_local);
	}
}

static int wipe(void **state)
{
	(void)state;
	settings_free(&got);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_is_held_to_its_bounds),
		cmocka_unit_test(every_other_setting_takes_what_it_says_and_nothing_else),
		cmocka_unit_test(a_typo_of_every_key_names_the_line_and_the_nearest_key),
		cmocka_unit_test(every_preset_is_what_a_user_may_write),
		cmocka_unit_test(presets_are_those_of_the_manual),
		cmocka_unit_test(a_key_in_the_wrong_section_is_sent_to_the_right_one),
		cmocka_unit_test(a_server_has_its_own_else_what_collect_says),
		cmocka_unit_test(what_is_wrong_is_told_with_its_line),
		cmocka_unit_test(lines_of_all_kinds_are_read),
		cmocka_unit_test(a_literal_password_is_warned_of_each_time_and_never_shown),
		cmocka_unit_test(a_url_makes_one_server_and_its_password_is_apart),
		cmocka_unit_test(no_message_about_a_url_holds_a_part_of_it),
		cmocka_unit_test(the_password_of_a_url_is_found),
		cmocka_unit_test(all_passwords_of_a_url_are_overwritten),
		cmocka_unit_test(only_this_machine_is_local),
	};

	return cmocka_run_group_tests_name("settings", tests, NULL, wipe);
}
