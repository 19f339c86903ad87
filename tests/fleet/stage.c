/* stage.c - clusters of PostgreSQL for tests, each with a keeper: a process that makes it, starts and stops it on demand, and
 * removes all when the test's end of the line closes. */
#include "fleet/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/scoped.h"

#define PATH_BYTES   320
#define START_MOST_S 60

static const char base_conf[] = "listen_addresses = ''\n"
				"port = 5432\n"
				"fsync = off\n"
				"synchronous_commit = off\n"
				"full_page_writes = off\n"
				"shared_buffers = 16MB\n"
				"max_connections = 40\n"
				"wal_level = replica\n"
				"max_wal_senders = 4\n"
				"autovacuum = off\n"
				"shared_preload_libraries = 'pg_stat_statements'\n"
				"pg_stat_statements.track = all\n"
				"logging_collector = off\n"
				"log_min_messages = error\n";

/* The folder of PostgreSQL's programs: TARE_PG_BIN, or the newest release installed. */
static void find_programs(char *out, size_t size)
{
	const char *given = getenv("TARE_PG_BIN");
	glob_t found = { 0 };

	if (given != NULL) {
		snprintf(out, size, "%s", given);
		return;
	}
	if (glob("/usr/lib/postgresql/*/bin", 0, NULL, &found) != 0)
		fail_msg("PostgreSQL is not installed: apt-get install postgresql "
			 "postgresql-contrib");
	snprintf(out, size, "%s", found.gl_pathv[found.gl_pathc - 1]);
	globfree(&found);
}

/* In a child: never root. */
static void become_postgres(void)
{
	const struct passwd *who = geteuid() == 0 ? getpwnam("postgres") : NULL;

	if (geteuid() != 0)
		return;
	if (who == NULL || setgid(who->pw_gid) != 0 || setuid(who->pw_uid) != 0)
		_exit(120);
}

/* In the keeper: runs a program as postgres with its words in the log. Returns its pid. */
static pid_t launch(const char *dir, const char *const *words)
{
	char log[PATH_BYTES];
	pid_t child = fork();
	int out;

	if (child != 0)
		return child;
	snprintf(log, sizeof(log), "%s/log", dir);
	become_postgres();
	prctl(PR_SET_PDEATHSIG, SIGQUIT);
	setsid();
	out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (out < 0 || chdir(dir) != 0)
		_exit(121);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
	close_range(3, ~0U, 0);
	unsetenv("PGHOST");
	setenv("LC_ALL", "C", 1);
	execv(words[0], (char *const *)(uintptr_t)words);
	_exit(127);
}

static int run_to_its_end(const char *dir, const char *const *words)
{
	int status = -1;
	pid_t child = launch(dir, words);

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static void stop_postmaster(pid_t *postmaster, int sign)
{
	if (*postmaster <= 0)
		return;
	kill(*postmaster, sign);
	/* A stopped one would never see it. */
	kill(*postmaster, SIGCONT);
	while (waitpid(*postmaster, NULL, 0) < 0 && errno == EINTR)
		;
	*postmaster = 0;
}

static void start_postmaster(const char *dir, const char *programs, pid_t *postmaster)
{
	char program[PATH_BYTES], cluster[PATH_BYTES], sockets[PATH_BYTES];
	const char *words[] = { program, "-D", cluster, "-k", sockets, NULL };

	snprintf(program, sizeof(program), "%s/postgres", programs);
	snprintf(cluster, sizeof(cluster), "%s/d", dir);
	snprintf(sockets, sizeof(sockets), "%s/s", dir);
	*postmaster = launch(dir, words);
}

static void remove_folder(const char *dir)
{
	const char *words[] = { "/bin/rm", "-rf", dir, NULL };
	pid_t child = fork();

	if (child == 0) {
		execv(words[0], (char *const *)(uintptr_t)words);
		_exit(127);
	}
	waitpid(child, NULL, 0);
}

/* What the keeper does for one letter. Returns the answer. */
static char obey(char letter, const char *dir, const char *programs, pid_t *postmaster)
{
	switch (letter) {
	case 's':
		if (*postmaster > 0 && waitpid(*postmaster, NULL, WNOHANG) == 0)
			return '+'; /* on its way */
		start_postmaster(dir, programs, postmaster);
		return *postmaster > 0 ? '+' : '-';
	case 'f':
		stop_postmaster(postmaster, SIGINT);
		return '+';
	case 'k':
		stop_postmaster(postmaster, SIGKILL);
		return '+';
	default:
		return '-';
	}
}

/* The keeper's life: makes the cluster with `words`, then obeys until the test's end closes. */
__attribute__((noreturn)) static void keep(int line, const char *dir, const char *programs,
					   const char *const *words)
{
	pid_t postmaster = 0;
	char letter = '+';

	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	setsid();
	dup2(line, 3);
	close_range(4, ~0U, 0);
	if (run_to_its_end(dir, words) != 0)
		letter = '-';
	while (write(3, &letter, 1) == 1 && read(3, &letter, 1) == 1)
		letter = obey(letter, dir, programs, &postmaster);
	stop_postmaster(&postmaster, SIGQUIT);
	if (getenv("TARE_STAGE_KEEP") == NULL)
		remove_folder(dir);
	_exit(0);
}

/* Tells the keeper, and waits for its answer. */
static void tell(struct stage *s, char letter)
{
	char answer = '-';

	if (letter != 0)
		assert_int_equal(write(s->keeper, &letter, 1), 1);
	if (read(s->keeper, &answer, 1) != 1 || answer != '+')
		fail_msg("the cluster in %s cannot be made or started", s->dir);
}

static void make_folder(struct stage *s)
{
	const struct passwd *who = getpwnam("postgres");

	snprintf(s->dir, sizeof(s->dir), "/tmp/tare-pg-XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	snprintf(s->sockets, sizeof(s->sockets), "%s/s", s->dir);
	assert_int_equal(mkdir(s->sockets, 0700), 0);
	if (geteuid() != 0)
		return;
	if (who == NULL)
		fail_msg("there is no user postgres: apt-get install postgresql");
	assert_int_equal(chown(s->dir, who->pw_uid, who->pw_gid), 0);
	assert_int_equal(chown(s->sockets, who->pw_uid, who->pw_gid), 0);
}

static void open_with(struct stage *s, const char *programs, const char *const *words)
{
	int line[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line), 0);
	fflush(NULL);
	s->keeper_pid = fork();
	assert_true(s->keeper_pid >= 0);
	if (s->keeper_pid == 0)
		keep(line[1], s->dir, programs, words);
	close(line[1]);
	s->keeper = line[0];
	tell(s, 0);
}

void stage_conf(struct stage *s, const char *lines)
{
	char path[PATH_BYTES];
	FILE *f;

	snprintf(path, sizeof(path), "%s/d/postgresql.conf", s->dir);
	f = fopen(path, "a");
	assert_non_null(f);
	assert_true(fprintf(f, "%s\n", lines) > 0);
	assert_int_equal(fclose(f), 0);
}

/* A cluster that was made once by this program, to be copied: initdb takes seconds on a busy machine. Never started; gone with the program. */
static struct stage pattern = { .keeper = -1 };

static void make_pattern(void)
{
	char programs[PATH_BYTES - 16], program[PATH_BYTES], cluster[PATH_BYTES];
	const char *words[] = { program,
				"-D",
				cluster,
				"-U",
				"postgres",
				"-A",
				"trust",
				"--no-sync",
				"--locale=C",
				"--encoding=UTF8",
				"--no-instructions",
				NULL };

	if (pattern.keeper >= 0)
		return;
	find_programs(programs, sizeof(programs));
	make_folder(&pattern);
	snprintf(program, sizeof(program), "%s/initdb", programs);
	snprintf(cluster, sizeof(cluster), "%s/d", pattern.dir);
	open_with(&pattern, programs, words);
}

void stage_open(struct stage *out, const char *conf)
{
	char programs[PATH_BYTES - 16], from[PATH_BYTES], cluster[PATH_BYTES];
	const char *words[] = { "/bin/cp", "-a", from, cluster, NULL };

	*out = STAGE_EMPTY;
	make_pattern();
	find_programs(programs, sizeof(programs));
	make_folder(out);
	snprintf(from, sizeof(from), "%s/d", pattern.dir);
	snprintf(cluster, sizeof(cluster), "%s/d", out->dir);
	open_with(out, programs, words);
	stage_conf(out, base_conf);
	if (conf != NULL)
		stage_conf(out, conf);
	stage_start(out);
}

void stage_open_standby(struct stage *out, const struct stage *primary, const char *conf)
{
	char programs[PATH_BYTES - 16], program[PATH_BYTES], cluster[PATH_BYTES];
	const char *words[] = { program, "-D",	   cluster, "-h",	primary->sockets,
				"-p",	 "5432",   "-U",    "postgres", "-R",
				"-X",	 "stream", "-c",    "fast",	"--no-sync",
				NULL };

	*out = STAGE_EMPTY;
	find_programs(programs, sizeof(programs));
	make_folder(out);
	snprintf(program, sizeof(program), "%s/pg_basebackup", programs);
	snprintf(cluster, sizeof(cluster), "%s/d", out->dir);
	open_with(out, programs, words);
	if (conf != NULL)
		stage_conf(out, conf);
	stage_start(out);
}

void stage_stop(struct stage *s, char how)
{
	tell(s, how);
}

static void pause_ms(long ms)
{
	struct timespec t = { 0, ms * 1000000 };

	nanosleep(&t, NULL);
}

void stage_start(struct stage *s)
{
	char where[PATH_BYTES];

	tell(s, 's');
	snprintf(where, sizeof(where), "host=%s port=5432 dbname=postgres user=postgres",
		 s->sockets);
	for (int tries = 0; tries < START_MOST_S * 100; tries++) {
		if (PQping(where) == PQPING_OK)
			return;
		pause_ms(10);
		/* Refused while a backend of a killed one still holds its memory: once more. */
		if (tries % 100 == 99)
			tell(s, 's');
	}
	fail_msg("the cluster in %s does not answer", s->dir);
}

void stage_close(struct stage *s)
{
	if (s->keeper >= 0) {
		close(s->keeper);
		waitpid(s->keeper_pid, NULL, 0);
	}
	*s = STAGE_EMPTY;
}

static PGconn *connect_as(const struct stage *s, const char *user, const char *database,
			  const char *application)
{
	const char *keys[] = {
		"host", "port", "user", "dbname", "application_name", "connect_timeout", NULL
	};
	const char *values[] = { s->sockets,
				 "5432",
				 user != NULL ? user : "postgres",
				 database != NULL ? database : "postgres",
				 application,
				 "20",
				 NULL };

	return PQconnectdbParams(keys, values, 0);
}

static void drop_notice(void *owner, const PGresult *result)
{
	(void)owner;
	(void)result;
}

PGconn *stage_connect(const struct stage *s, const char *user, const char *database)
{
	PGconn *conn = connect_as(s, user, database, "test");

	if (PQstatus(conn) != CONNECTION_OK)
		fail_msg("cannot connect: %s", PQerrorMessage(conn));
	PQsetNoticeReceiver(conn, drop_notice, NULL);
	return conn;
}

PGconn *stage_connect_tare(const struct stage *s, const char *user, const char *database)
{
	PGconn *conn = connect_as(s, user, database, "tare");

	if (PQstatus(conn) == CONNECTION_OK)
		return conn;
	PQfinish(conn);
	return NULL;
}

static PGresult *run_on(PGconn *conn, const char *sql)
{
	PGresult *result = PQexec(conn, sql);
	ExecStatusType status = PQresultStatus(result);

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY)
		fail_msg("%s: %s", sql, PQerrorMessage(conn));
	return result;
}

void stage_run(const struct stage *s, const char *database, const char *sql)
{
	PGconn *conn = stage_connect(s, NULL, database);

	PQclear(run_on(conn, sql));
	PQfinish(conn);
}

char *stage_ask(const struct stage *s, const char *database, const char *sql)
{
	PGconn *conn = stage_connect(s, NULL, database);
	PGresult *result = run_on(conn, sql);
	char *text;

	assert_true(PQntuples(result) > 0);
	text = strdup(PQgetvalue(result, 0, 0));
	assert_non_null(text);
	PQclear(result);
	PQfinish(conn);
	return text;
}

int64_t stage_number(const struct stage *s, const char *database, const char *sql)
{
	char *text = stage_ask(s, database, sql);
	int64_t number = strtoll(text, NULL, 10);

	free(text);
	return number;
}
