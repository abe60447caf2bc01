#: a regular expression with groups | issues
import re
for issue in data:
    for number in re.findall(r"#(\d+)", issue["body"] or ""):
        print(issue["number"], "->", number)
#> 12 -> 7
#> 3 -> 2
#: re.sub with a function and verbose flag | issues
import re
pattern = re.compile(r"""https?://   # scheme
                         [\w./?=]+   # the rest""", re.VERBOSE)
print(pattern.sub(lambda m: "<" + m.group(0).upper() + ">", data[0]["body"]).splitlines()[-1])
#> See <HTTPS://EXAMPLE.TEST/LOG/1> and #7.
#: split, strip, join, replace, partition | issues
title = data[2]["title"]
kind, _, rest = title.partition(":")
print(kind.strip(), "|", rest.strip().replace("typo", "TYPO"), "|", "-".join(title.lower().split()))
#> Docs | TYPO in README | docs:-typo-in-readme
#: format mini-language | shop
print("{:>10}|{:<6}|{:^7}|{:+.1e}|{!r}".format("right", "left", "mid", 12345.678, "q'"))
print("%s has %d (%05.1f%%)" % (data["currency"], 5, 12.345))
#>      right|left  |  mid  |+1.2e+04|"q'"
#> EUR has 5 (012.3%)
#: str.format with fields and format_map | shop
p = data["products"][0]
print("{0[name]} {0[dimensions][w]}".format(p), "{name}-{sku}".format_map(p))
#> Desk lamp 12.5 Desk lamp-A-100
#: f-string debug and nesting | shop
x, width = 3.14159, 8
print(f"{x=:.2f} [{x:{width}.3f}] {'nested ' + f'{x:.1f}'}")
#> x=3.14 [   3.142] nested 3.1
#: unicode | movies
import unicodedata
title = data["results"][1]["title"]
plain = "".join(c for c in unicodedata.normalize("NFKD", title) if not unicodedata.combining(c))
print(title, plain, len(data["results"][3]["title"]), title.casefold())
#> Café de la Lune Cafe de la Lune 4 café de la lune
#: surrogates and emoji | odd
print(data["pair"], len(data["pair"]), repr(data["surrogate"]))
#> 😀 1 '\ud83d'
#: a lone surrogate printed | odd
print("half:", data["surrogate"])
#> half: \ud83d
#: string methods | shop
s = "Hello, World"
print(s.swapcase(), s.center(20, "*"), s.find("World"), s.count("l"), s.title(), s.zfill(15), s.isalpha())
#> hELLO, wORLD ****Hello, World**** 7 3 Hello, World 000Hello, World False
#: translate and string constants | shop
import string
print("b-l-a".translate(str.maketrans("", "", string.punctuation)), string.ascii_lowercase[:3])
#> bla abc
#: string.Template | shop
from string import Template
print(Template("$name costs $price").substitute(data["products"][1]))
#> Paper clips costs 2.35
#: textwrap and shorten | issues
import textwrap
print(textwrap.fill("word " * 12, width=20))
print(textwrap.shorten(data[3]["body"], width=25, placeholder="..."))
#> word word word word
#> word word word word
#> word word word word
#> Takes 12.5 s....
#: html | odd
import html, re
print(html.unescape(re.sub(r"<[^>]+>", "", data["html"])), html.escape("<a&b>"))
#> Fish & chips &lt;a&amp;b&gt;
#: html parser class | odd
from html.parser import HTMLParser
class Bold(HTMLParser):
    def __init__(self):
        super().__init__()
        self.inside, self.found = False, []
    def handle_starttag(self, tag, attrs):
        self.inside = tag == "b"
    def handle_endtag(self, tag):
        self.inside = False
    def handle_data(self, text):
        if self.inside:
            self.found.append(text)
parser = Bold()
parser.feed(data["html"])
print(parser.found)
#> ['chips']
#: xml | odd
import xml.etree.ElementTree as ET
root = ET.fromstring(data["xml"])
print([(e.get("id"), e.findtext("title")) for e in root.iter("entry")])
#> [('1', 'One'), ('2', 'Two')]
#: csv from a string | odd
import csv, io
for row in csv.DictReader(io.StringIO(data["csv"])):
    print(row["id"], row["name"])
#> 1 Smith, J
#> 2 Lee
#: csv written to stdout | shop
import csv, sys
writer = csv.writer(sys.stdout)
writer.writerow(["sku", "name"])
for p in data["products"][3:]:
    writer.writerow([p["sku"], p["name"]])
#> sku,name
#> B-201,"Hose, 20 m"
#> C-300,"""Classic"" mug"
#: urllib.parse | odd
from urllib.parse import urlparse, parse_qs, urljoin, quote, urlencode
u = urlparse(data["url"])
print(u.netloc, u.path, parse_qs(u.query), u.fragment, urljoin(data["url"], "../c"), quote("a b/c"), urlencode({"q": "é"}))
#> example.test /a/b {'q': ['x y'], 'page': ['2']} frag https://example.test/c a%20b/c q=%C3%A9
#: the next page's offset | playlists
from urllib.parse import urlsplit, parse_qsl
print(dict(parse_qsl(urlsplit(data["next"]).query))["offset"])
#> 3
#: base64 and bytes | odd
import base64
raw = base64.b64decode(data["b64"])
print(raw.decode("utf-8"), raw[:5], list(raw[:2]), "é".encode("latin-1"), b"\xff".decode("cp1252"))
#> hello world b'hello' [104, 101] b'\xe9' ÿ
#: more encodings | empty
print("hi".encode("utf-16-le"), "naïve".encode("ascii", "ignore"), "münchen".encode("idna"), "ü".encode("unicode_escape"))
#> b'h\x00i\x00' b'nave' b'xn--mnchen-3ya' b'\\xfc'
#: hashlib and hmac | shop
import hashlib, hmac
print(hashlib.sha256(b"x").hexdigest()[:16], hashlib.md5(b"x").hexdigest()[:8], hmac.new(b"k", b"m", "sha1").hexdigest()[:8])
#> 2d711642b726b044 9dd4e461 772b71c8
#: difflib | movies
import difflib
print(difflib.get_close_matches("Orbit nine", [m["title"] for m in data["results"]], n=1, cutoff=0.4))
#> ['Orbit 9']
#: json dumps with indent | credits
import json
print(json.dumps(data["crew"][0], indent=2))
#> {
#>   "id": 9,
#>   "name": "Dana Ruiz",
#>   "job": "Director",
#>   "department": "Directing"
#> }
#: json dumps sorted and unicode | movies
import json
print(json.dumps({"t": data["results"][3]["title"], "a": [1, None, True]}, ensure_ascii=False, sort_keys=True))
#> {"a": [1, null, true], "t": "東京の朝"}
#: json inside json | odd
import json
inner = json.loads(data["nested_json"])
print(inner["inner"][2]["deep"])
#> True
#: a JSONDecodeError handled | odd
import json
try:
    json.loads(data["html"])
except json.JSONDecodeError as error:
    print("not JSON:", error)
#> not JSON: Expecting value: line 1 column 1 (char 0)
#: tomllib | odd
import tomllib
print(tomllib.loads(data["toml"])["server"]["port"])
#> 8080
#: pprint | credits
from pprint import pprint
pprint(data["cast"][0])
#> {'character': 'Captain Voss',
#>  'gender': 1,
#>  'id': 1,
#>  'known_for_department': 'Acting',
#>  'name': 'Ada Merle',
#>  'order': 0,
#>  'profile_path': '/ada.jpg'}
#: shlex, fnmatch and ipaddress | empty
import shlex, fnmatch, ipaddress
print(shlex.split("a 'b c'"), fnmatch.filter(["a.py", "b.txt"], "*.py"), ipaddress.ip_address("10.0.0.1").is_private)
#> ['a', 'b c'] ['a.py'] True
#: print with sep, end and file | shop
import sys
print("a", "b", sep="; ", end="!\n")
print("seen", file=sys.stdout, flush=True)
sys.stdout.write("written\n")
print("not seen", file=sys.stderr)
#> a; b!
#> seen
#> written
