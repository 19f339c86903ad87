/* test_link_tls.c - links that are encrypted and verified, and passwords: against a real PostgreSQL on addresses of loopback of its own. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/scoped.h"
#include "fleet/link.h"
#include "fleet/link_scripts.h"
#include "fleet/stage.h"

#define WORD "canary-b7Xq"

static struct stage stage = STAGE_EMPTY;
static char folder[64], named[32], unnamed[32]; /* addresses: in the certificate, and not */

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void run(const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (system(line) != 0) /* NOLINT(cert-env33-c): words of ours */
		fail_msg("failed: %s", line);
}

/* An authority, a certificate by it for one address, and another authority. */
static void make_certificates(void)
{
	run("cd %s && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ours -keyout "
	    "ca.key "
	    "-out ca.crt 2>/dev/null && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "
	    "/CN=other -keyout other.key -out other.crt 2>/dev/null",
	    folder);
	run("cd %s && openssl req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out "
	    "server.csr 2>/dev/null && printf 'subjectAltName=IP:%s\\n' >ext && openssl x509 -req "
	    "-in "
	    "server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out "
	    "server.crt "
	    "2>/dev/null",
	    folder, named);
	run("chmod 755 %s && chmod 600 %s/server.key && { [ $(id -u) -ne 0 ] || chown postgres "
	    "%s/server.key; }",
	    folder, folder, folder);
	run("printf 'local all all trust\\nhostssl all all all scram-sha-256\\n' >%s/hba && chmod "
	    "644 "
	    "%s/hba",
	    folder, folder);
}

static int start(void **state)
{
	char conf[512];
	unsigned own = (unsigned)getpid();

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/tare-tls-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(named, sizeof(named), "127.77.%u.%u", own >> 8 & 255, own & 255);
	snprintf(unnamed, sizeof(unnamed), "127.78.%u.%u", own >> 8 & 255, own & 255);
	make_certificates();
	snprintf(conf, sizeof(conf),
		 "listen_addresses = '%s,%s'\nssl = on\nssl_cert_file = '%s/server.crt'\n"
		 "ssl_key_file = '%s/server.key'\nhba_file = '%s/hba'\n",
		 named, unnamed, folder, folder, folder);
	stage_open(&stage, conf);
	stage_run(&stage, NULL, "CREATE ROLE watcher LOGIN PASSWORD '" WORD "'");
	setenv("TARE_TEST_WORD", WORD, 1);
	setenv("TARE_TEST_OTHER", WORD "x", 1);
	return 0;
}

static int end(void **state)
{
	(void)state;
	stage_close(&stage);
	run("rm -rf %s", folder);
	return 0;
}

static int visit(const char *host, const char *sslmode, const char *root, const char *password,
		 char *out_cell, struct err *err)
{
	struct asked a = { .asks = { { .kind = ASK_QUERY,
				       .sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = "
					      "pg_backend_pid()" } },
			   .count = 1,
			   .stops_at = -1 };
	struct link_limits limits = LINK_LIMITS_DEFAULT;
	struct script script = asked_script(&a);
	char words[6][128], *at[6];
	const char *from[6] = { host, sslmode, root, password, "watcher", "postgres" };
	struct server_settings server;
	int code;

	for (int i = 0; i < 6; i++) {
		snprintf(words[i], sizeof(words[i]), "%s", from[i]);
		at[i] = words[i];
	}
	server = (struct server_settings){ .name = at[0],
					   .host = at[0],
					   .sslmode = at[1],
					   .sslrootcert = at[2],
					   .password = at[3],
					   .user = at[4],
					   .database = at[5] };
	*err = ERR_EMPTY;
	code = link_drive(&server, &limits, &script, err);
	snprintf(out_cell, 64, "%s", a.cells[0]);
	assert_null(strstr(err->msg, WORD));
	return code;
}

static void an_encrypted_link_is_what_its_mode_promises(void **state)
{
	static const struct {
		const char *shows, *mode, *root, *word, *fails;
		bool is_named;
	} cases[] = {
		{ "verified whole", "verify-full", "ca.crt", "env:TARE_TEST_WORD", NULL, true },
		{ "the wrong name", "verify-full", "ca.crt", "env:TARE_TEST_WORD",
		  "does not match host name", false },
		{ "the wrong name, asked for", "verify-ca", "ca.crt", "env:TARE_TEST_WORD", NULL,
		  false },
		{ "the wrong authority", "verify-full", "other.crt", "env:TARE_TEST_WORD",
		  "certificate verify failed", true },
		{ "the system's authorities", "verify-full", NULL, "env:TARE_TEST_WORD", "", true },
		{ "not verified", "require", NULL, "env:TARE_TEST_WORD", NULL, false },
		{ "loopback needs no word", "", NULL, "env:TARE_TEST_WORD", NULL, true },
		{ "not encrypted", "disable", NULL, "env:TARE_TEST_WORD", "no encryption", true },
		{ "the wrong password", "verify-full", "ca.crt", "env:TARE_TEST_OTHER",
		  "password authentication failed", true },
		{ "no password", "verify-full", "ca.crt", "", "no password supplied", true },
		{ "a password that is not there", "verify-full", "ca.crt", "env:TARE_TEST_NONE",
		  "TARE_TEST_NONE", true },
	};

	(void)state;
	setenv("PGPASSWORD", WORD, 1); /* is not for us */
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char root[128] = "", cell[64];
		struct err err;
		int code;

		print_message("%s\n", cases[i].shows);
		if (cases[i].root != NULL)
			snprintf(root, sizeof(root), "%s/%s", folder, cases[i].root);
		code = visit(cases[i].is_named ? named : unnamed, cases[i].mode, root,
			     cases[i].word, cell, &err);
		if (cases[i].fails == NULL) {
			assert_string_equal(err.msg, "");
			assert_int_equal(code, 0);
			assert_string_equal(cell, "t");
		} else {
			assert_true(code == -ENOTCONN || code == -EACCES);
			if (strstr(err.msg, cases[i].fails) == NULL)
				fail_msg("'%s'", err.msg);
		}
	}
	unsetenv("PGPASSWORD");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_encrypted_link_is_what_its_mode_promises),
	};

	return cmocka_run_group_tests(tests, start, end);
}
