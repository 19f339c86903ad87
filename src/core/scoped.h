/* scoped.h - the one place where scoped cleanup is spelled: SCOPED(f) calls f(&variable) at the end of
 * the block. f accepts the empty value. */
#ifndef TARE_CORE_SCOPED_H
#define TARE_CORE_SCOPED_H

#define SCOPED(f)    __attribute__((cleanup(f)))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* The descriptor in `*fd`, out of reach of its cleanup: it is the caller's to close. */
static inline int scoped_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#endif
