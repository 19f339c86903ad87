/* keeper.c - what a program costs that measures nothing, but keeps a file as a recorder does: usage: keeper FILE SECONDS.
 * Looks at a file of /proc once a second, saves at the end, packs the file and leaves. Writes its CPU time until then and
 * the time it took before the first second, in ns: what is between is the machine's price of waking up and of a save. */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ROWS 16

static long long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void run(sqlite3 *db, const char *sql)
{
	char *why = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) {
		fprintf(stderr, "keeper: %s: %s\n", sql, why);
		exit(1);
	}
}

static void look(void)
{
	char text[128];
	int fd = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text)) <= 0)
		exit(1);
	close(fd);
}

static void save(sqlite3 *db)
{
	run(db, "BEGIN IMMEDIATE");
	for (int i = 0; i < ROWS; i++)
		run(db, "INSERT OR REPLACE INTO ledger VALUES (abs(random() % 16), 1, 2, 3)");
	run(db, "INSERT OR REPLACE INTO label VALUES (1, 'what', 'it', 'cost')");
	run(db, "COMMIT; PRAGMA wal_checkpoint(PASSIVE)");
}

int main(int argc, char **argv)
{
	long long start_ns;
	sqlite3 *db;

	if (argc < 3 || sqlite3_open(argv[1], &db) != SQLITE_OK)
		return 1;
	run(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
		"CREATE TABLE ledger (id INTEGER PRIMARY KEY, a, b, c);"
		"CREATE TABLE label (id INTEGER PRIMARY KEY, a, b, c)");
	save(db);
	start_ns = cpu_ns();
	for (int i = 0; i < atoi(argv[2]); i++) {
		sleep(1);
		look();
	}
	save(db);
	run(db, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE");
	sqlite3_close(db);
	printf("%lld\n", cpu_ns() - start_ns);
	return 0;
}
