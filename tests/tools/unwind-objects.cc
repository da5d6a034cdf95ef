// SPDX-License-Identifier: MIT
// C++ in four threads: exceptions through several frames, sorting with callbacks, virtual calls,
// containers, lambdas, and what the runtime allocates by itself while it unwinds.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{

struct Shape {
	virtual ~Shape() = default;
	virtual std::string name(int depth) const = 0;
};

struct Box : Shape {
	alignas(64) char room[64] = {};
	std::string name(int depth) const override
	{
		if (depth == 0)
			throw std::runtime_error("the bottom, told in more than fifteen letters");
		return "a box that is long enough for the heap " + name(depth - 1);
	}
};

void exceptions(int depth)
{
	for (int i = 0; i < depth; i++) {
		try {
			std::unique_ptr<Shape> box(new Box);
			box->name(i % 10);
		} catch (const std::exception &error) {
			std::ostringstream text;
			text << error.what() << i;
			try {
				throw;
			} catch (std::runtime_error &) {
				std::string copy = text.str() + text.str();
			}
		}
	}
}

void sorting(int size)
{
	std::vector<std::string> words;
	std::map<std::string, std::function<std::string(int)>> table;

	for (int i = 0; i < size; i++)
		words.push_back("a word that is long enough for the heap " +
				std::to_string(i * 7919 % size));
	std::sort(words.begin(), words.end(),
		  [](const std::string &left, const std::string &right) {
			  return std::string(left) < std::string(right);
		  });
	std::stable_sort(words.begin(), words.end(),
			 [](std::string left, std::string right) { return left > right; });
	for (const auto &word : words)
		table[word] = [word](int times) { return word + std::to_string(times); };
	for (auto &entry : table)
		entry.second(3);
}

} // namespace

int main()
{
	std::vector<std::thread> threads;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([i] {
			exceptions(20 + i);
			sorting(40 + i);
		});
	for (auto &thread : threads)
		thread.join();
	return 0;
}
