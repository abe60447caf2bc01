"""Guards the parts of modules that Monty lacks: each prints what it prints in CPython, and none harms its host."""

import time

import pytest
from programrun import in_cpython, once

from restgpt.tools.sandbox.result import Status
from restgpt.tools.sandbox.runner import run_python

URLS = ["https://a:b@h.test:80/p/q;x?y=1&z=%20#f", "//h/p", "mailto:a@b", "", "p?q", "http://[::1]:5/"]


@pytest.mark.parametrize(
    "code",
    [
        f"from urllib.parse import urlsplit, urlparse\nfor u in {URLS}:\n    for s in (urlsplit(u), urlparse(u)):\n"
        "        print(s, tuple(s), s[1], s.hostname, s.port, s.username, s.geturl(), s == tuple(s),"
        " s._replace(path='/n'))",
        "import urllib.parse as up\nu = up.urlparse('http://h/p?a=1')\n"
        "print(up.urlunparse(u._replace(query=up.urlencode({'b': 'c d'}))), up.urlunsplit(('s', 'h', 'p', '', '')))",
        "from urllib import parse\nscheme, host, *rest = parse.urlsplit('//h/p', scheme='http')\n"
        "print(scheme, host, rest)",
        "import re\np = re.compile(r'(?P<a>\\d)b?')\n"
        "print(p.sub(lambda m: f'<{m[\"a\"]}>', '1b2', count=1), p.sub(r'\\1', '1b'))",
        "import re\nprint(re.sub('x+', lambda m: '-', 'axb'), re.sub(r'(?<=a)b', 'c', 'ab b'))",
        "import re\nprint(re.sub(pattern='a', repl=lambda m: m[0] * 2, string='banana', count=2, flags=re.I))",
        "import re\np = re.compile(r'''[ #]  # a class\n (\\d+) \\ (?: x | y )* # the rest''', re.VERBOSE | re.I)\n"
        "print(p.findall('#12 xY'), re.findall(r'a b', 'ab a b', flags=re.X))",
        "print('abc'.translate({97: 'x', 98: None}), 'a-b'.translate(str.maketrans('ab', 'xy', '-')),"
        " str.maketrans({'a': 1}))",
        "from datetime import date, datetime\nfor d in (date(2023, 12, 31), datetime(2021, 1, 1, 5, 6, 7)):\n"
        "    y, w, wd = d.isocalendar()\n    print(y, w, wd, d.isocalendar(), d.isocalendar().week,"
        " d.timetuple(), d.timetuple()[7])\n"
        "    print({d.isocalendar()[:2]: 1}, d.isocalendar() == (2023, 52, 7))",
        "import io, csv\nf = io.StringIO('a,b\\r\\n1,\\u2028\\n')\n"
        "print(list(csv.reader(f)), list(io.StringIO('x\\n\\ny')))\n"
        "print(list(csv.DictReader(io.StringIO('n\\n5'))))",
        "import sys\nprint(sys.stdout.write('a\\n'))\nprint('b', file=sys.stdout, flush=True)\nsys.stdout.flush()",
        "from sys import stdout\nstdout.write('a')",
        "print('é'.encode('latin-1'), b'\\x80'.decode('cp1252'), 'ü'.encode('utf-16-le'),"
        " 'a\\ué'.encode('ascii', 'replace')"
        ", 'münchen'.encode('idna'), 'é'.encode('ascii', errors='xmlcharrefreplace'))".replace("\\u", "\\\\u"),
        "try: '€'.encode('latin-1')\nexcept UnicodeEncodeError as e: print('no', e)\n"
        "try: b'\\x81'.decode('cp1252')\nexcept UnicodeDecodeError as e: print('no', e)\n"
        "try: 'a'.encode('nope')\nexcept LookupError as e: print('no')",
        "import ast\nprint(ast.literal_eval(\"{'a': [1, 2.5, None, True, (b'x', {1})], 'b': -1}\"))\n"
        "for bad in ('f()', 'x', '1+'):\n    try: ast.literal_eval(bad)\n"
        "    except (ValueError, SyntaxError) as e: print(type(e).__name__)",
        "import shlex, fnmatch\nprint(shlex.split('a \"b c\"'), shlex.quote('a b'), fnmatch.filter(['a.py',"
        " 'b'], '*.py'), fnmatch.fnmatch('a', '?'))",
        "import ipaddress as ip\na, n = ip.ip_address('10.0.0.1'), ip.ip_network('2001:db8::/32')\n"
        "print(a, [a], a.is_private, a.version, n, ip.ip_address('2001:db8::5') in n, a =="
        " ip.ip_address('10.0.0.1'))",
        "from email.utils import parsedate_to_datetime as p\n"
        "print(p('Wed, 21 Oct 2015 07:28:00 GMT'), repr(p('1 Jan 2020 00:00:00 +0200')))",
        "sets = [{1, 2}, {2, 3}]\nprint(set().union(*sets), {1, 2, 3}.intersection(*sets), {1,"
        " 5}.difference([1], [2]), {1}.union())\n"
        "print(frozenset([1]).union([2], [3]), sorted({'x'}.union('ab')))",
        "print('{a}'.format_map({'a': 1}))\ntry: '{b}'.format_map({})\nexcept KeyError as e: print(e)",
        "class A:\n    def sub(self, a, b): return a + b\n    def union(self, *a): return a\n"
        "    def translate(self): return 't'\n"
        "print(A().sub(1, 2), A().translate())",
        "import string, calendar, operator\n"
        "print(string.digits, calendar.day_name[0], sorted([{'n': 2}, {'n': 1}], key=operator.itemgetter('n')))",
    ],
)
def test_what_monty_lacks_prints_what_it_prints_in_python(code: str) -> None:
    run = once(code)
    assert run.result.output == in_cpython(code), run.problem


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import statistics, decimal\nstatistics.mean([decimal.Decimal('1e999999999')])", "too large together"),
        ("import statistics\nstatistics.variance([10**400_000, 1])", "too large together"),
        ("import textwrap\ntextwrap.indent('a\\n' * 50_000, 'x' * 1000)", "textwrap.indent is not here"),
        ("import textwrap\ntextwrap.fill('\\t' * 100_000, tabsize=10**7)", "tabsize"),
        ("import fnmatch\nfnmatch.fnmatch('a' * 10_000, '*a' * 5_000)", "at most 2000 texts of 200 characters"),
        ("import fnmatch\nfnmatch.filter(5, '*')", ""),
        ("import ast\nast.literal_eval('(' * 100_000)", ""),
        ("import ast\nast.literal_eval('-' * 100_000 + '1')", ""),
        ("import ast\nast.literal_eval('9' * 100_000)", ""),
        ("import ast\nast.literal_eval('1j')", "no complex numbers"),
        ("import ast\nast.literal_eval('...')", "no complex numbers"),
        ('import ast\nast.literal_eval("\'" + chr(92) + "ud800\'")', ""),
        ("import ast\nast.literal_eval(5)", ""),
        ("import ast\nast.literal_eval('foo()')", "malformed node or string"),
        ("('ä' * 10_000).encode('idna')", "label too long"),
        ("b'xn--a'.decode('idna')", "the encoding idna is not here"),
        ("b'eJw='.decode('base64')", "is not here"),
        ("'a'.encode('rot13')", "is not here"),
        ("b'a'.decode('utf-16', 'surrogatepass')", "is not here"),
        ("b'a'.decode('unicode_escape')", "is not here"),
        ("'a'.encode(5)", ""),
        ("5 .encode('latin-1')", ""),
        ("import ipaddress\nipaddress.ip_network(10**50)", ""),
        ("import ipaddress\nipaddress.ip_address('1' * 100_000)", ""),
        ("from urllib.parse import urlsplit\nurlsplit('http://[')", ""),
        ("from urllib.parse import urlsplit\nurlsplit(None)", "takes a text here"),
        ("from urllib.parse import urlsplit\nprint(urlsplit('//h:99999').port)", "Port out of range"),
        ("from urllib.parse import urlunparse\nurlunparse([1, 2, 3, 4, 5, 6])", "takes a text here"),
        ("from email.utils import parsedate_to_datetime\nparsedate_to_datetime('9' * 100_000)", ""),
        ("from email.utils import parsedate_to_datetime\nparsedate_to_datetime('1 Jan 99999999999 00:00:00')", ""),
        ("from email.utils import parsedate_to_datetime\nparsedate_to_datetime(5)", ""),
        ("import shlex\nshlex.split('\"')", ""),
        ("import shlex\nshlex.split(None)", "takes a text here"),
        ("'{0.__class__.__init__.__globals__}'.format_map({'0': 1})", ""),
        ("import textwrap\ntextwrap.dedent(1)", ""),
        ("import html\nhtml.escape([1])", ""),
        ("import re\nre.sub('x*', lambda m: '-', 'axb')", "matches no empty text"),
    ],
)
def test_a_function_of_the_host_ends_soon_with_an_error(code: str, told: str) -> None:
    began = time.monotonic()
    result = run_python(code, 1)
    assert result.status in (Status.RUNTIME_ERROR, Status.MEMORY_LIMIT, Status.UNSUPPORTED, Status.SYNTAX_ERROR), result
    assert told in result.feedback()
    assert "0x" not in result.feedback()
    assert time.monotonic() - began < 20
