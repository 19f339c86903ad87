/* places.c - functions that are hard to name or to watch, in a library that is also a program's neighbour. */
#define KEPT __attribute__((noinline, used, visibility("default")))

extern int elsewhere(int n); /* defined nowhere that is searched */
extern int puts(const char *text);

int parse_text(const char *text) __asm__("_ZN3app6Parser5parseEPKc");
int parse_int(int n) __asm__("_ZN3app6Parser5parseEi");
int parse_const(int n) __asm__("_ZNK3app6Parser4peekEv");
int convert_int(int n) __asm__("_ZN3app6Parser4convIiEET_S2_");
int convert_long(int n) __asm__("_ZN3app6Parser4convIlEET_S2_");
int call(int n) __asm__("_ZN3app6ParserclEi");
int less(int n) __asm__("_ZNK3app6ParserltERKS0_");
int to_bool(int n) __asm__("_ZNK3app6ParsercvbEv");
int destroy(int n) __asm__("_ZN3app6ParserD1Ev");
int destroy_again(int n) __asm__("_ZN3app6ParserD2Ev");
int hidden_one(int n) __asm__("_ZN12_GLOBAL__N_13hidEi");
int thunk(int n) __asm__("_ZThn16_N3app6Parser5parseEi");
int strings(int n) __asm__(
	"_Z3sumRSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS5_EEPKc");
int whole_clone(int n) __asm__("cloned.constprop.0");
int part(int n) __asm__("parted.part.0");
int cold(int n) __asm__("chilly.cold");
int evil(int n) __asm__("evil_name");

int aligned_one(int n);
int aligned_two(int n);
int alined_three(int n);
int folds(int n);

__attribute__((visibility("default"))) int variable = 1;

#define FUNCTION(name, number)                  \
	KEPT int name(int n)                    \
	{                                       \
		return n + (number) + variable; \
	}

KEPT int parse_text(const char *text)
{
	return text[0] + variable;
}
FUNCTION(parse_int, 2)
FUNCTION(parse_const, 3)
FUNCTION(convert_int, 4)
FUNCTION(convert_long, 5)
FUNCTION(call, 6)
FUNCTION(less, 7)
FUNCTION(to_bool, 8)
FUNCTION(destroy, 9)
FUNCTION(destroy_again, 10)
FUNCTION(hidden_one, 11)
FUNCTION(thunk, 12)
FUNCTION(strings, 13)
FUNCTION(whole_clone, 14)
FUNCTION(part, 15)
FUNCTION(cold, 16)
FUNCTION(evil, 17)
FUNCTION(aligned_one, 18)
FUNCTION(aligned_two, 19)
FUNCTION(alined_three, 20)

/* Gone into its caller, but not out of the debug information. */
static inline __attribute__((always_inline)) int folded(int n)
{
	return n * 3 + variable;
}

KEPT int folds(int n)
{
	return folded(n) + elsewhere(n);
}

static int chosen(int n)
{
	return n;
}

static __attribute__((used)) int (*choose(void))(int)
{
	return chosen;
}

__attribute__((visibility("default"))) int chooses(int n) __attribute__((ifunc("choose")));

/* Begins with endbr64 and a push; comes back to neither. */
__asm__(".text\n"
	".globl pushes\n.type pushes, @function\n"
	"pushes: endbr64\n push %rbp\n 1: dec %edi\n jnz 1b\n pop %rbp\n ret\n"
	".size pushes, . - pushes\n"
	/* The same, and another function jumps to the push. */
	".globl entered\n.type entered, @function\n"
	"entered: endbr64\n 2: push %rbp\n pop %rbp\n ret\n"
	".size entered, . - entered\n"
	".globl enters\n.type enters, @function\n"
	"enters: xor %eax, %eax\n jmp 2b\n"
	".size enters, . - enters\n"
	/* A loop that begins at its second instruction. */
	".globl loops\n.type loops, @function\n"
	"loops: mov %edi, %eax\n 3: test %eax, %eax\n je 4f\n dec %eax\n jmp 3b\n 4: ret\n"
	".size loops, . - loops\n"
	/* A test and a jump, and no way back. */
	".globl tests\n.type tests, @function\n"
	"tests: test %edi, %edi\n je 5f\n inc %edi\n 5: mov %edi, %eax\n ret\n"
	".size tests, . - tests\n"
	/* No type, no size: may be anything. */
	".globl label\nlabel: nop\n ret\n"
	/* Two versions of one name. */
	".globl old_api, new_api\n.type old_api, @function\n.type new_api, @function\n"
	"old_api: push %rbp\n pop %rbp\n ret\n .size old_api, . - old_api\n"
	"new_api: push %rbx\n pop %rbx\n ret\n .size new_api, . - new_api\n"
	".symver old_api, api@PLACES_1\n .symver new_api, api@@PLACES_2\n");
