/* SPDX-License-Identifier: MIT */
/* What happens to names of files is said with both names, and changes nothing that is held. */
#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

int main(void)
{
	char folder[] = "/tmp/holdtrace-names.XXXXXX";
	int at;

	if (!mkdtemp(folder) || chdir(folder))
		return 1;
	expect("chdir<event>(0x0)\n\t$path = %s", folder);
	at = open(".", O_RDONLY | O_DIRECTORY);
	if (fchdir(at) || chdir("no such place") != -1)
		return 1;
	expect("fchdir<event>(%#x)\nchdir<event>(0x0)\n\t$path = no such place", at);
	if (close(creat("a", 0600)) || rename("a", "b") || renameat(at, "b", AT_FDCWD, "c") ||
	    renameat2(at, "c", at, "d", RENAME_NOREPLACE))
		return 1;
	expect("rename<event>(0x0)\n\t$from = a\n\t$to = b");
	expect("renameat<event>(0x0)\n\t$fromfd = %d\n\t$from = b\n\t$tofd = -100\n\t$to = c", at);
	expect("renameat2<event>(0x0)\n\t$fromfd = %d\n\t$from = c\n\t$tofd = %d\n\t$to = "
	       "d\n\t$flags = 0x1",
	       at, at);
	if (link("d", "e") || linkat(at, "d", at, "f", 0) || symlink("d", "g") ||
	    symlinkat("nothing here", at, "h"))
		return 1;
	expect("link<event>(0x0)\n\t$from = d\n\t$to = e");
	expect("linkat<event>(0x0)\n\t$fromfd = %d\n\t$from = d\n\t$tofd = %d\n\t$to = f\n\t$flags "
	       "= 0x0",
	       at, at);
	expect("symlink<event>(0x0)\n\t$target = d\n\t$path = g");
	expect("symlinkat<event>(0x0)\n\t$target = nothing here\n\t$dirfd = %d\n\t$path = h", at);
	if (unlink("d") || unlink("e") || unlink("f") || unlink("g") || unlinkat(at, "h", 0))
		return 1;
	expect("unlink<event>(0x0)\n\t$path = d");
	expect("unlinkat<event>(0x0)\n\t$dirfd = %d\n\t$path = h\n\t$flags = 0x0", at);
	if (unlink("d") != -1 || errno != ENOENT)
		return 1;
	expect("unlink<event>(0x0)\n\t$path = d");
	if (!umount("not mounted") || !umount2("nor this", MNT_DETACH) ||
	    !mount(NULL, "no such place", NULL, MS_REMOUNT, NULL))
		return 1;
	expect("umount<event>(0x0)\n\t$target = not mounted");
	expect("umount2<event>(0x0)\n\t$target = nor this\n\t$flags = 0x2");
	expect("mount<event>(0x0)\n\t$source = *\n\t$target = no such place\n\t$type = *\n\t$flags "
	       "= 0x20");
	if (unlink((char *)8) != -1 || errno != EFAULT)
		return 1;
	expect("unlink<event>(0x0)\n\t$path = *");
	close(at);
	if (rmdir(folder))
		return 1;
	expect_print();
	return 0;
}
