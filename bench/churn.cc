/* SPDX-License-Identifier: MIT */
/*
 * churn THREADS ROUNDS: uses the heap as C++ programs do. Each thread allocates and frees strings,
 * maps and vectors; a queue passes some of them to other threads, which free them.
 */
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using piece = std::map<std::string, std::vector<int>>;

static std::mutex lock;
static std::vector<std::unique_ptr<piece>> queue;

static std::unique_ptr<piece> make(int round)
{
	auto made = std::make_unique<piece>();

	for (int i = 0; i < 40; i++)
		(*made)["key number " + std::to_string(round * 7919 % 1009 + i)].assign(i % 9 + 1, i);
	return made;
}

static void work(int rounds)
{
	for (int round = 0; round < rounds; round++) {
		std::unique_ptr<piece> mine = make(round);

		if (round % 8)
			continue;
		std::lock_guard<std::mutex> guard(lock);
		queue.push_back(std::move(mine));
		if (queue.size() > 64)
			queue.erase(queue.begin(), queue.begin() + 32);
	}
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? std::atoi(argv[1]) : 1, rounds = argc > 2 ? std::atoi(argv[2]) : 1000;
	std::vector<std::thread> crowd;

	for (int i = 0; i < threads; i++)
		crowd.emplace_back(work, rounds / threads);
	for (auto &thread : crowd)
		thread.join();
	std::printf("%zu\n", queue.size());
}
