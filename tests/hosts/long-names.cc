// SPDX-License-Identifier: MIT
/* Names that are longer than a terminal is wide, and call sites that are reached by many ways. */
#include <atomic>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <semaphore.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace a_company_with_a_long_name::department_of_containers
{
template <typename Key, typename Value> struct table_of_things_to_remember {
	std::map<Key, std::vector<Value>> rows;
	__attribute__((noinline)) void remember_this_for_later_because_it_may_matter(Key key,
										     Value value)
	{
		rows[key].push_back(value);
	}
	__attribute__((noinline)) void through_another_way_that_is_as_long_as_the_first(Key key,
											Value value)
	{
		remember_this_for_later_because_it_may_matter(key, value);
	}
};
} // namespace a_company_with_a_long_name::department_of_containers
using table = a_company_with_a_long_name::department_of_containers::table_of_things_to_remember<
	std::string, std::string>;
static std::mutex mutex_of_all;
static sem_t *semaphores[2];
__attribute__((noinline)) static void first_caller(table *all, int i)
{
	all->remember_this_for_later_because_it_may_matter(std::string(40 + i % 7, 'k'),
							   std::string(100, 'v'));
}
__attribute__((noinline)) static void second_caller(table *all, int i)
{
	all->through_another_way_that_is_as_long_as_the_first(std::string(50 + i % 5, 'k'),
							      std::string(100, 'v'));
}
__attribute__((noinline)) static void outer_caller(table *all, int i, int depth)
{
	if (depth)
		outer_caller(all, i, depth - 1);
	else if (i % 3)
		first_caller(all, i);
	else
		second_caller(all, i);
}
__attribute__((noinline)) static sem_t *make_semaphore()
{
	sem_t *made = new sem_t;
	sem_init(made, 0, 0);
	return made;
}
int main()
{
	table *all = new table;
	for (int i = 0; i < 300; i++) {
		std::lock_guard<std::mutex> guard(mutex_of_all);
		outer_caller(all, i, i % 9);
		if (i % 50 == 0)
			open("/etc/passwd", O_RDONLY);
	}
	semaphores[0] = make_semaphore();
	semaphores[1] = make_semaphore();
	/* main waits for the lock, however late either thread is */
	static std::atomic<bool> is_locked, is_wanted;
	std::thread other([] {
		std::lock_guard<std::mutex> guard(mutex_of_all);
		is_locked = true;
		while (!is_wanted)
			usleep(1000);
		usleep(100000);
	});
	while (!is_locked)
		usleep(1000);
	is_wanted = true;
	mutex_of_all.lock();
	other.detach();
	return 0;
}
