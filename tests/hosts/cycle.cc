// SPDX-License-Identifier: MIT
// A cycle of shared_ptr that nothing leads to any more, and one that a variable keeps.
#include <memory>
#include <unistd.h>

struct Node {
	std::shared_ptr<Node> other;
	char rest[200];
};

static std::shared_ptr<Node> kept;

__attribute__((noinline)) static void culprit_cycle()
{
	auto one = std::make_shared<Node>(), two = std::make_shared<Node>();

	one->other = two;
	two->other = one;
}

__attribute__((noinline)) static void keep_cycle()
{
	kept = std::make_shared<Node>();
	kept->other = std::make_shared<Node>();
	kept->other->other = kept;
}

// Where calls before left words behind.
__attribute__((noinline)) static void wipe_stack()
{
	volatile char bytes[65536];

	for (auto &byte : bytes)
		byte = 0;
}

int main()
{
	culprit_cycle();
	keep_cycle();
	wipe_stack();
	// the variable is destroyed behind our last word, and the cycle with it would be lost
	_exit(0);
}
