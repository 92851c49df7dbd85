// A Perl module of Debian.
import { bug, change, impossible, question } from "../kinds.ts";
import type { BenchTask, Repository } from "../types.ts";

export const repository: Repository = {
  name: "number-format",
  language: "Perl",
  source: {
    registry: "debian",
    name: "libnumber-format-perl",
    version: "1.75-3",
    sha256: "b959d3ab12390fcff8577dd64719a1478dae48ee68abbe264992ec86cd0dd3ff",
    folder: "usr/share/perl5",
  },
  files: {
    "t/format.t": `use strict;
use warnings;
use Test::More tests => 3;
use Number::Format;

my $format = Number::Format->new(-thousands_sep => ',', -decimal_point => '.');
is($format->round(2.345, 2), 2.35, 'rounds half up');
is($format->format_number(1234567.89), '1,234,567.89', 'separates thousands');
is($format->format_bytes(1536), '1.5K', 'formats bytes');
`,
  },
  test: "prove -I. t",
};

const perl = repository.name;
const path = "Number/Format.pm";
const made = "use Number::Format; my $f = Number::Format->new(-thousands_sep => ',', -decimal_point => '.');";

export const tasks: BenchTask[] = [
  bug({
    id: "perl-round",
    repository: perl,
    request: "round cuts off: 2.345 should become 2.35 with two digits. Please fix it.",
    path,
    right: "$result = int($product + .5 + 1e-14) / $multiplier;",
    wrong: "$result = int($product + 1e-14) / $multiplier;",
    hidden: `${made} exit 1 unless $f->round(2.345, 2) == 2.35 && $f->round(-1.5, 0) == -2`,
  }),
  bug({
    id: "perl-kilo",
    repository: perl,
    request: "format_bytes counts a kilobyte as 512 bytes. The table of multipliers is wrong.",
    path,
    right: "kilo => 0x00000400,",
    wrong: "kilo => 0x00000200,",
    hidden: `${made} exit 1 unless $f->format_bytes(1536) eq '1.5K' && $f->format_bytes(600) eq '600'`,
  }),
  change("feature", {
    id: "perl-percent",
    repository: perl,
    request: "Add a method format_percent($number, $precision): 0.256 becomes 25.6%. It multiplies by 100 and uses format_number.",
    solution: [
      {
        path,
        from: "sub format_negative\n{",
        to: 'sub format_percent\n{\n    my ($self, $number, $precision) = _get_self @_;\n\n    return $self->format_number($number * 100, $precision) . "%";\n}\n\nsub format_negative\n{',
      },
    ],
    hidden: `${made} exit 1 unless $f->format_percent(0.256, 1) eq '25.6%' && $f->format_percent(1) eq '100%'`,
  }),
  change("rename", {
    id: "perl-rename-seps",
    repository: perl,
    request: "Rename the internal method _check_seps to _check_separators.",
    solution: [{ path, from: "_check_seps", to: "_check_separators", everywhere: true }],
    hidden: `${made} exit 1 if $f->can('_check_seps') || !$f->can('_check_separators') || $f->format_number(1234) ne '1,234'`,
  }),
  question({
    id: "perl-question-negative",
    repository: perl,
    request: "What does format_bytes do with negative numbers?",
    read: path,
    answer: 'It dies (croak) with "Negative number not allowed in format_bytes".',
    says: /croak|not allowed|dies/i,
  }),
  impossible({
    id: "perl-missing-method",
    repository: perl,
    request: "The method format_roman has a fault with 4. Please fix it.",
    tries: [{ name: "search_workspace", args: { query: "format_roman" } }],
    answer: "There is no method format_roman in this repository, so I changed nothing.",
    says: /no method|does not exist|no such|not found/i,
  }),
];
