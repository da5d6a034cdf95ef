/* SPDX-License-Identifier: MIT */
/*
 * Blocks of known types, and blocks whose type nothing tells. Prints for each type "COUNT BYTES
 * PATTERN", where PATTERN is one of fnmatch(3), with ? before it if a compiler may not describe them,
 * and "COUNT BYTES -" for those without a type.
 */
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#define NOINLINE __attribute__((noinline))

struct Foo {
	int cells[10];
};

struct Left {
	virtual ~Left()
	{
	}
	long left = 1;
};

struct Right {
	virtual ~Right()
	{
	}
	long right = 2;
};

struct Both : Left, Right {
	long both[4] = {};
};

template <class T, int N> struct Grid {
	T cells[N];
};

/* Its constructor allocates, too. */
struct Deep {
	std::string text;
	Deep() : text(100, 'x')
	{
	}
};

/* Has an operator new of its own. */
struct Own {
	long cells[5];
	static void *operator new(size_t size)
	{
		return malloc(size);
	}
};

/* An allocator of the program. */
template <class T> struct Pool {
	using value_type = T;
	Pool()
	{
	}
	template <class U> Pool(const Pool<U> &)
	{
	}
	T *allocate(size_t count)
	{
		return static_cast<T *>(malloc(count * sizeof(T)));
	}
	void deallocate(T *at, size_t)
	{
		free(at);
	}
	bool operator==(const Pool &) const
	{
		return true;
	}
	bool operator!=(const Pool &) const
	{
		return false;
	}
};

/* Classes whose new-expressions the debug information describes. */
namespace outer::inner
{
struct Item {
	long cells[6];
	explicit Item(long first) : cells{ first }
	{
	}
};
} // namespace outer::inner
using outer::inner::Item;

/* As large as Item, and made with one. */
struct Holder {
	Item *item;
	long cells[5];
	Holder(Item *of, long first) : item(of), cells{ first }
	{
	}
};

/* Has a constructor that is not inlined. */
struct Remote : Left {
	long cells[9];
	explicit Remote(long first);
};

NOINLINE Remote::Remote(long first) : cells{ first }
{
}

/* As large as its base, and as its first member. */
struct Same : Right {
};
struct Wrap {
	Both first;
};

/* Two classes of the same size, made by the same template. */
template <int N> struct Kind {
	long cells[3];
	Kind() : cells{ N }
	{
	}
};
template <class T> static inline T *make()
{
	return new T();
}

static std::map<int, Foo> tree;
static std::list<Grid<short, 7>> grids;
static std::list<Deep> deep;
static std::list<Foo, Pool<Foo>> pooled;
static std::vector<Foo> foos;
static std::vector<Both *> pointers;
static std::vector<std::shared_ptr<Both>> shared;
static std::vector<void *> plain;
static std::vector<char> storage;

NOINLINE static void fill_containers()
{
	for (int i = 0; i < 2000; i++)
		tree[i] = Foo();
	for (int i = 0; i < 2000; i++)
		grids.push_back(Grid<short, 7>());
	for (int i = 0; i < 1000; i++)
		deep.emplace_back();
	for (int i = 0; i < 1000; i++)
		pooled.push_back(Foo());
	foos.reserve(500);
}

NOINLINE static void fill_pointers()
{
	pointers.reserve(2000);
	for (int i = 0; i < 2000; i++)
		pointers.push_back(new Both());
	shared.reserve(1000);
	for (int i = 0; i < 1000; i++)
		shared.push_back(std::make_shared<Both>());
}

NOINLINE static void fill_plain()
{
	plain.reserve(3500);
	for (int i = 0; i < 1000; i++)
		plain.push_back(new (malloc(sizeof(Foo))) Foo());
	for (int i = 0; i < 1000; i++)
		plain.push_back(new Foo[3]);
	for (int i = 0; i < 1000; i++)
		plain.push_back(new Own());
	for (int i = 0; i < 500; i++)
		plain.push_back(std::make_unique<Foo[]>(7).release());
	/* an object inside the memory of a container has no block of its own */
	storage.resize(sizeof(Both) * 2);
	new (storage.data()) Both();
}

NOINLINE static void fill_new()
{
	plain.reserve(9500);
	for (int i = 0; i < 1000; i++) {
		plain.push_back(new Holder(new Item(i), i));
		plain.push_back(new Remote(i));
		plain.push_back(new Same);
		plain.push_back(new Wrap{});
		plain.push_back(make<Kind<1>>());
		plain.push_back(make<Kind<2>>());
	}
}

static void say(size_t count, size_t bytes, const char *pattern)
{
	printf("%zu %zu %s\n", count, bytes, pattern);
}

int main()
{
	fill_containers();
	fill_pointers();
	fill_plain();
	fill_new();
	say(2000, 2000 * sizeof(std::_Rb_tree_node<std::pair<const int, Foo>>),
	    "std::_Rb_tree_node<std::pair<int const, Foo>*>");
	say(2000, 2000 * sizeof(std::_List_node<Grid<short, 7>>),
	    "std::_List_node<Grid<short, 7>*>");
	say(1000, 1000 * sizeof(std::_List_node<Deep>), "std::_List_node<Deep>");
	say(1000, 1000 * 101, "std::string");
	say(1, sizeof(Both) * 2, "char");
	say(501, 500 * sizeof(Foo) + 500 * 7 * sizeof(Foo), "Foo");
	say(2000, 2000 * sizeof(Both), "?Both");
	say(1000, 1000 * sizeof(Holder), "Holder");
	say(1000, 1000 * sizeof(Item), "outer::inner::Item");
	say(1000, 1000 * sizeof(Remote), "Remote");
	say(1000, 1000 * sizeof(Same), "Same");
	say(1000, 1000 * sizeof(Kind<1>), "Kind<1>");
	say(1000, 1000 * sizeof(Kind<2>), "Kind<2>");
	say(1, 2000 * sizeof(Both *), "Both[*]");
	say(1, 1000 * sizeof(std::shared_ptr<Both>), "std::shared_ptr<Both>");
	say(1000, 1000 * (sizeof(Both) + 16), "std::_Sp_counted_ptr_inplace<Both, *>");
	say(1, 9500 * sizeof(void *), "void[*]");
	say(1000, 1000 * sizeof(Wrap), "?Wrap"); /* gcc 14 tells it, gcc 12 does not */
	say(4000,
	    1000 * sizeof(std::_List_node<Foo>) + 4000 * sizeof(Foo) + 1000 * sizeof(Own), "-");
	fflush(stdout);
	quick_exit(0);
}
