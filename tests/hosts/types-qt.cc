/* SPDX-License-Identifier: MIT */
/* As types.cc, for containers of Qt 5. */
#include <QHash>
#include <QList>
#include <QMap>
#include <QString>
#include <QVector>
#include <cstdio>
#include <cstdlib>

struct Foo {
	int cells[10];
};

static QVector<Foo> foos;
static QList<Foo> list;
static QHash<int, Foo> hash;
static QMap<int, Foo> map;
static QList<QString> *texts;

__attribute__((noinline)) static void fill()
{
	foos.reserve(500);
	list.reserve(1000);
	texts->reserve(1000);
	for (int i = 0; i < 1000; i++) {
		list.append(Foo());
		hash.insert(i, Foo());
		map.insert(i, Foo());
		texts->append(QString(50, 'x'));
	}
}

static void say(size_t count, size_t bytes, const char *pattern)
{
	printf("%zu %zu %s\n", count, bytes, pattern);
}

int main()
{
	texts = new QList<QString>;
	fill();
	say(1001, 1500 * sizeof(Foo) + sizeof(QArrayData), "Foo");
	say(1, sizeof(QListData::Data) + 999 * sizeof(void *), "QList<Foo>::Node");
	say(1, sizeof(QListData::Data) + 999 * sizeof(void *), "QList<QString>::Node");
	say(1000, 1000 * sizeof(QHashNode<int, Foo>), "QHashNode<int, Foo>");
	say(1000, 1000 * sizeof(QMapNode<int, Foo>), "QMapNode<int, Foo>");
	say(1000, 1000 * (sizeof(QArrayData) + 51 * sizeof(QChar)), "QString");
	say(1, sizeof(QList<QString>), "QList<QString>");
	fflush(stdout);
	quick_exit(0);
}
