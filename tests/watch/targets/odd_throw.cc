/* odd_throw.cc - exceptions out of watched functions: 1,000 through two of them, then 100 normal calls of each; overloads
 * and a template, whose names are demangled ones. */
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "truth.h"

namespace odd
{
class Thrower
{
      public:
	WATCHED uint64_t work(uint64_t x, bool is_thrown);
	WATCHED uint64_t work(const std::string &text);
};

uint64_t Thrower::work(uint64_t x, bool is_thrown)
{
	uint64_t y = spin(x, is_thrown ? 1000 : 200000);

	if (is_thrown)
		throw std::runtime_error("odd");
	return y;
}

uint64_t Thrower::work(const std::string &text)
{
	return spin(text.size(), 100000);
}

template <typename T> WATCHED uint64_t through(Thrower &thrower, T x, bool is_thrown)
{
	return thrower.work(static_cast<uint64_t>(x), is_thrown) + 1;
}
} /* namespace odd */

int main()
{
	odd::Thrower thrower;
	uint64_t sum = 1, caught = 0;

	for (int i = 0; i < 1000; i++) {
		try {
			sum += odd::through<int>(thrower, i, true);
		} catch (const std::runtime_error &) {
			caught++;
		}
	}
	for (int i = 0; i < 100; i++)
		sum += odd::through<int>(thrower, i, false);
	for (int i = 0; i < 50; i++)
		sum += thrower.work("text of an overload");
	say_calls("caught", caught);
	std::printf("checksum %016" PRIx64 "\n", sum);
	return 0;
}
