# SPDX-License-Identifier: MIT
# plain-text.pl FILE...: names those that are empty, or have what breaks terminals: control characters but
# tab and newline, U+0080 to U+009F, marks of writing direction, bytes that are no UTF-8, or the new line
# that names-badly has in its names. Ends with 1 if there is one.
use strict;
use warnings;

my $bad = 0;
for my $file (@ARGV) {
	open my $in, '<:raw', $file or die "$file: $!";
	local $/;
	my $text = <$in> // '';
	my $why = !length $text ? 'is empty' : !utf8::decode($text) ? 'has bytes that are no UTF-8' :
		$text =~ /([\x00-\x08\x0b-\x1f\x7f-\x9f\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{2069}])/ ?
		sprintf('has U+%04X', ord $1) : $text =~ /\n(?:\\x|m)\\x(?:c2|9b|e2)/ ? 'has a line that a name began' : next;
	print "$file $why\n";
	$bad = 1;
}
exit $bad;
