/* inlined.c - functions that are put into one another, on lines that are known. */
#define ALWAYS __attribute__((always_inline)) static inline

int use_inlined(int n);
int uses_none(int n);
extern volatile int sink;
volatile int sink;

#line 50 "inlined.c"
ALWAYS int inner_one(int n)
{
	sink = n;
	sink = n * 3;
	return n + sink;
}

#line 100 "inlined.c"
ALWAYS int middle_one(int n)
{
	sink = n + 1;
	return inner_one(n) + sink;
}

#line 200 "inlined.c"
__attribute__((noinline, visibility("default"))) int use_inlined(int n)
{
	sink = n + 2;
	return middle_one(n) * sink;
}

#line 300 "inlined.c"
__attribute__((noinline, visibility("default"))) int uses_none(int n)
{
	sink = n;
	return sink + 1;
}
