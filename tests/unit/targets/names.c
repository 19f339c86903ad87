/* names.c - functions with several names, with none, and with mangled ones; a library without a main. */
#define KEPT __attribute__((noinline, visibility("default")))

int plain(int n);
int _plain(int n) __attribute__((alias("plain"), visibility("default")));
int __plain(int n) __attribute__((alias("plain"), visibility("default")));
static int pl(int n) __attribute__((alias("plain"), used));
int weak_of_strong(int n) __attribute__((weak, alias("strong"), visibility("default")));
int strong(int n);
int cpp(int n) __asm__("_ZN5space5thing3runEi");
int rust_old(int n) __asm__("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE");
int rust_new(int n) __asm__("_RNvCskwGfYPst2Cb_3foo16example_function");
int use(int n);
extern int puts(const char *text);

KEPT int plain(int n)
{
	return n * 3 + puts("plain");
}

KEPT int strong(int n)
{
	return plain(n) + 1;
}

KEPT int cpp(int n)
{
	return n + 5;
}

KEPT int rust_old(int n)
{
	return n + 6;
}

KEPT int rust_new(int n)
{
	return n + 7;
}

/* No symbol once it is stripped; said to be on line 1234. */
#line 1234
static __attribute__((noinline)) int hidden(int n)
{
	return plain(n) * n;
}

KEPT int use(int n)
{
	return hidden(n) + hidden(n + 1);
}
