/* top_screen.c - a terminal while frames are drawn on it. */
#include "cli/top_screen.h"

#include <errno.h>
#include <poll.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/units.h"

/* The other page, no cursor, and lines that are too long are cut; and back. */
#define TAKE_PAGE "\x1b[?1049h\x1b[?25l\x1b[?7l"
#define GIVE_PAGE "\x1b[?7h\x1b[?25h\x1b[?1049l"

/* Keys come one by one and are not shown; Ctrl-C stays a signal, Ctrl-Z is none: the page would stay. */
static void take_keys(struct top_screen *s)
{
	struct termios keys;

	if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &s->old_keys) != 0)
		return;
	keys = s->old_keys;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	keys.c_cc[VSUSP] = _POSIX_VDISABLE;
	keys.c_cc[VMIN] = 1;
	keys.c_cc[VTIME] = 0;
	s->has_keys = tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
}

int top_screen_open(struct top_screen *s, FILE *out, struct err *err)
{
	static const int taken[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGWINCH };
	sigset_t mask;

	*s = (struct top_screen){ .out = out, .signals = -1, .is_terminal = isatty(fileno(out)) };
	sigemptyset(&mask);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		sigaddset(&mask, taken[i]);
	s->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals < 0)
		return err_set(err, -errno, "cannot wait for signals: %s", strerror(errno));
	sigprocmask(SIG_BLOCK, &mask, &s->old_mask);
	if (s->is_terminal) {
		take_keys(s);
		fputs(TAKE_PAGE, out);
	}
	return 0;
}

static unsigned lines_of(const struct top_screen *s)
{
	struct winsize size = { 0 };

	return ioctl(fileno(s->out), TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row : 24;
}

/* Over what is there: each line clears what is behind it, the last one what is below. */
static void draw(struct top_screen *s, const char *frame)
{
	unsigned left = lines_of(s) - 1;

	fputs("\x1b[H", s->out);
	while (left-- > 0 && *frame != '\0') {
		size_t len = strcspn(frame, "\n");

		fwrite(frame, 1, len, s->out);
		fputs("\x1b[K\n", s->out);
		frame += len + (frame[len] == '\n');
	}
	fputs("\x1b[J", s->out);
}

int top_screen_show(struct top_screen *s, const char *frame)
{
	if (s->is_terminal) {
		draw(s, frame);
	} else {
		fputs(s->has_shown ? "\n" : "", s->out);
		fputs(frame, s->out);
	}
	s->has_shown = true;
	if (fflush(s->out) == 0 && !ferror(s->out))
		return 0;
	if (errno != EPIPE)
		return -errno;
	__fpurge(s->out);
	clearerr(s->out);
	return TOP_SCREEN_ENOUGH;
}

static int take_signal(const struct top_screen *s)
{
	struct signalfd_siginfo signal;

	if (read(s->signals, &signal, sizeof(signal)) != (ssize_t)sizeof(signal))
		return 0;
	return signal.ssi_signo == SIGWINCH ? 0 : TOP_SCREEN_ENOUGH;
}

/* Whether it is q, or there are no keys any more. */
static int take_key(void)
{
	char key = 0;
	ssize_t got = read(STDIN_FILENO, &key, 1);

	return got <= 0 || key == 'q' || key == 'Q' ? TOP_SCREEN_ENOUGH : 0;
}

int top_screen_wait(struct top_screen *s, uint64_t wait_ns)
{
	struct pollfd waits[] = { { s->signals, POLLIN, 0 },
				  { s->has_keys ? STDIN_FILENO : -1, POLLIN, 0 } };
	int rc = poll(waits, 2, (int)(wait_ns / NS_PER_MS));

	if (rc <= 0)
		return 0;
	return waits[0].revents != 0 ? take_signal(s) : take_key();
}

void top_screen_close(struct top_screen *s)
{
	if (s->signals < 0)
		return;
	if (s->is_terminal) {
		fputs(GIVE_PAGE, s->out);
		fflush(s->out);
	}
	if (s->has_keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &s->old_keys);
	close(s->signals);
	s->signals = -1;
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
}
