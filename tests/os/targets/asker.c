/* asker.c - a target that asks a PostgreSQL server, by the variables that libpq reads (PGHOST): `asker query MS` runs queries of 10 ms until so
 * many have passed. Ends with a line "TID WALL_NS". */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <libpq-fe.h>

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((noinline)) static void ask(PGconn *server)
{
	PGresult *answer = PQexec(server, "SELECT pg_sleep(0.01)");

	if (PQresultStatus(answer) != PGRES_TUPLES_OK)
		exit(3);
	PQclear(answer);
}

int main(int argc, char **argv)
{
	uint64_t began_ns = now_ns();
	uint64_t end_ns = began_ns + (argc > 2 ? strtoull(argv[2], NULL, 10) : 0) * 1000000u;
	PGconn *server = PQconnectdb("user=postgres dbname=postgres");

	if (PQstatus(server) != CONNECTION_OK)
		return 2;
	while (now_ns() < end_ns)
		ask(server);
	PQfinish(server);
	printf("%ld %llu\n", syscall(SYS_gettid), (unsigned long long)(now_ns() - began_ns));
	return 0;
}
