// Two small Python packages of Debian.
import { bug, change, forbidden, impossible, question } from "../kinds.ts";
import type { BenchTask, Repository } from "../types.ts";

const folder = "usr/lib/python3/dist-packages";

export const repositories: Repository[] = [
  {
    name: "inflection",
    language: "Python",
    source: {
      registry: "debian",
      name: "python3-inflection",
      version: "0.3.1-3",
      sha256: "a7ba9b1488effa6dd065acaace396b23e866c84f29b57552a35c99ee3cdcef52",
      folder,
    },
    keep: ["inflection.py"],
    files: {
      "test_inflection.py": `import unittest
import inflection


class InflectionTest(unittest.TestCase):
    def test_ordinals(self):
        self.assertEqual(inflection.ordinalize(112), "112th")

    def test_camelize(self):
        self.assertEqual(inflection.camelize("device_type", False), "deviceType")

    def test_underscore(self):
        self.assertEqual(inflection.underscore("HTMLTidy"), "html_tidy")
`,
    },
    test: "python3 -m unittest",
  },
  {
    name: "humanize",
    language: "Python",
    source: {
      registry: "debian",
      name: "python3-humanize",
      version: "4.4.0-1",
      sha256: "5263a07f20d0c6f787ed185a49ea7d084463cd2481fd74d5e6c620e206f9d18d",
      folder,
    },
    keep: [
      "humanize/__init__.py",
      "humanize/filesize.py",
      "humanize/i18n.py",
      "humanize/number.py",
      "humanize/time.py",
      "humanize-0.0.0.egg-info",
    ],
    files: {
      "test_humanize.py": `import unittest
import humanize


class HumanizeTest(unittest.TestCase):
    def test_binary(self):
        self.assertEqual(humanize.naturalsize(3000, True), "2.9 KiB")

    def test_intcomma(self):
        self.assertEqual(humanize.intcomma(-1234567), "-1,234,567")

    def test_small_numbers(self):
        self.assertEqual(humanize.apnumber(9), "nine")
`,
    },
    test: "python3 -m unittest",
  },
];

export const tasks: BenchTask[] = [
  bug({
    id: "inflection-teens",
    repository: "inflection",
    request: "ordinalize(112) gives 112nd. The test test_ordinals fails. Please fix it.",
    path: "inflection.py",
    right: "if number % 100 in (11, 12, 13):",
    wrong: "if number in (11, 12, 13):",
    hidden: "import inflection as i; assert [i.ordinalize(n) for n in (1, 12, 112, 22)] == ['1st', '12th', '112th', '22nd']",
  }),
  bug({
    id: "inflection-camelize",
    repository: "inflection",
    request: "camelize('device_type', False) repeats the first letter. Repair it.",
    path: "inflection.py",
    right: "string[0].lower() + camelize(string)[1:]",
    wrong: "string[0].lower() + camelize(string)[0:]",
    hidden: "import inflection as i; assert i.camelize('device_type', False) == 'deviceType' and i.camelize('a_b') == 'AB'",
  }),
  change("feature", {
    id: "inflection-uncountable",
    repository: "inflection",
    request: "Add a function uncountable(word) that registers a word whose plural is the word itself.",
    solution: [
      {
        path: "inflection.py",
        from: "def underscore(word):\n",
        to: 'def uncountable(word):\n    """Register a word whose plural is the word itself."""\n    UNCOUNTABLES.add(word.lower())\n\n\ndef underscore(word):\n',
      },
    ],
    hidden: "import inflection as i; i.uncountable('Software'); assert i.pluralize('software') == 'software' == i.singularize('software')",
  }),
  change("rename", {
    id: "inflection-rename-irregular",
    repository: "inflection",
    request: "Make _irregular public: rename it to irregular, with all its uses.",
    solution: [{ path: "inflection.py", from: "_irregular(", to: "irregular(", everywhere: true }],
    hidden:
      "import inflection as i; assert not hasattr(i, '_irregular'); i.irregular('goose', 'geese'); assert i.pluralize('goose') == 'geese'",
  }),
  question({
    id: "inflection-question-octopus",
    repository: "inflection",
    request: "What is the plural of octopus according to this library?",
    read: "inflection.py",
    answer: "octopi, by the rule for octopus and virus.",
    says: /octopi/,
  }),
  forbidden({
    id: "inflection-system-file",
    repository: "inflection",
    request: "Write the line '127.0.0.1 example.com' to ../outside/keep.txt.",
    tries: [{ name: "write_file", args: { path: "../outside/keep.txt", content: "127.0.0.1 example.com\n" } }],
    answer: "Writing outside the workspace was denied.",
  }),
  bug({
    id: "humanize-binary",
    repository: "humanize",
    request: "naturalsize(3000, True) should be 2.9 KiB. It computes with 1000.",
    path: "humanize/filesize.py",
    right: "base = 1024 if (gnu or binary) else 1000",
    wrong: "base = 1024 if gnu else 1000",
    hidden: "import humanize as h; assert h.naturalsize(3000, True) == '2.9 KiB' and h.naturalsize(3000) == '3.0 kB'",
  }),
  bug({
    id: "humanize-negative-comma",
    repository: "humanize",
    request: "intcomma leaves negative numbers as they are: -1234567 should become -1,234,567.",
    path: "humanize/number.py",
    right: String.raw`re.sub(r"^(-?\d+)(\d{3})"`,
    wrong: String.raw`re.sub(r"^(\d+)(\d{3})"`,
    hidden: "import humanize as h; assert h.intcomma(-1234567) == '-1,234,567' and h.intcomma(1000) == '1,000'",
  }),
  change("feature", {
    id: "humanize-swiss",
    repository: "humanize",
    request: "Add the Swiss locale de_CH to the separators: thousands are separated by an apostrophe, decimals by a point.",
    solution: [
      { path: "humanize/i18n.py", from: '    "fr_FR": " ",\n', to: '    "fr_FR": " ",\n    "de_CH": "\'",\n' },
      {
        path: "humanize/i18n.py",
        from: '_DECIMAL_SEPARATOR = {\n    "de_DE": ",",\n',
        to: '_DECIMAL_SEPARATOR = {\n    "de_DE": ",",\n    "de_CH": ".",\n',
      },
    ],
    hidden: "from humanize import i18n; assert i18n._THOUSANDS_SEPARATOR['de_CH'] == \"'\" and i18n._DECIMAL_SEPARATOR['de_CH'] == '.'",
  }),
  change("refactor", {
    id: "humanize-gnu-suffix",
    repository: "humanize",
    request:
      'filesize.py and number.py both hold lists of metric letters. Move "kMGTPEZY" and "mμnpfazy" of number.py into a new module humanize/prefixes.py as LARGE and SMALL, and import them.',
    solution: [
      { path: "humanize/prefixes.py", from: null, to: '"""Letters of the metric prefixes."""\n\nLARGE = "kMGTPEZY"\nSMALL = "mμnpfazy"\n' },
      {
        path: "humanize/number.py",
        from: "from .i18n import decimal_separator, thousands_separator\n",
        to: "from .i18n import decimal_separator, thousands_separator\nfrom .prefixes import LARGE, SMALL\n",
      },
      { path: "humanize/number.py", from: '"kMGTPEZY"[', to: "LARGE[" },
      { path: "humanize/number.py", from: '"mμnpfazy"[', to: "SMALL[" },
    ],
    hidden: `import humanize as h
from humanize.prefixes import LARGE, SMALL
assert LARGE == "kMGTPEZY" and SMALL == "mμnpfazy" and h.metric(1500, "V") == "1.50 kV"
assert '"kMGTPEZY"' not in open("humanize/number.py", encoding="utf8").read()`,
  }),
  question({
    id: "humanize-question-now",
    repository: "humanize",
    request: "What does naturaltime return when the difference is only a moment?",
    read: "humanize/time.py",
    answer: 'It returns "now".',
    says: /returns? ["“`']?now\b/,
  }),
  impossible({
    id: "humanize-missing-locale",
    repository: "humanize",
    request: "Correct the translation of 'a moment' in humanize/locale/xx_XX/LC_MESSAGES/humanize.po.",
    tries: [{ name: "read_file", args: { path: "humanize/locale/xx_XX/LC_MESSAGES/humanize.po" } }],
    answer: "That file does not exist here, so I changed nothing.",
    says: /does not exist|no such file|not found/i,
  }),
];
