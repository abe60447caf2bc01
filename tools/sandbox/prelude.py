"""What stands before a program in its process: its errors, `gather`, `headers`, and the functions of the library."""

import ast
import builtins
import re
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from textwrap import indent

from restgpt.tools.sandbox.code import bound_names, syntax_tree
from restgpt.tools.sandbox.dialect import LIBRARY, in_dialect
from restgpt.tools.sandbox.modules import HOST_VALUES, part

# A branch of `gather` waits in an `asyncio.run` inside of another, which Monty has and CPython has not. It keeps its
# error until all are at their end, else those that still run would make calls after the error.
_ALWAYS = """
import asyncio as _host_asyncio, binascii as _host_binascii, decimal as _host_decimal, json as _host_json
ApiError, Rejected = _host_binascii.Incomplete, _host_decimal.Clamped
_host_type, _host_own_getattr, _host_own_hasattr, _host_own_round, _host_iter = type, getattr, hasattr, round, iter
_host_functions = ("function", "builtin_function_or_method", "method", "type")
_host_urls = ("SplitResult", "ParseResult")
_host_answers, _host_over = [], []
def _host_wait(future):
    number, value, is_json = _host_asyncio.run(future)
    if is_json:
        try:
            value = _host_json.loads(value)
        except ValueError:  # it is too deep, or no JSON
            value = _host_parsed(number)
    if _host_keeps:
        _host_answers.append((value, number))
    return value
async def _host_branch(branch):
    if _host_over:
        return [True, None]
    try:
        return [True, branch() if _host_type(branch).__name__ in _host_functions else branch]
    except SystemExit as error:
        _host_over.append(error)
        return [False, error]
    except BaseException as error:
        return [False, error]
_host_depth = [0]
def gather(*branches, return_exceptions=False):
    if _host_depth[0] > 40:
        raise RecursionError("gather is nested too deeply")
    async def together():
        return await _host_asyncio.gather(*[_host_branch(branch) for branch in branches])
    _host_depth[0] += 1
    found = list(_host_asyncio.run(together()))
    _host_depth[0] -= 1
    for is_there, value in found:
        if not is_there and (not return_exceptions or not isinstance(value, Exception)):
            raise value
    return [value for _, value in found]
_host_last = []
def headers(answer=_host_last):
    if answer is _host_last:
        return _host_headers()
    found = [number for value, number in _host_answers if value is answer]
    return _host_headers(*(found or [-1]))
def _host_getattr(owner, name, *default):
    if isinstance(owner, ApiError) and name in ("status", "body"):
        return _host_error(str(owner), name)
    if name in ("hostname", "password", "port", "username") and _host_type(owner).__name__ in _host_urls:
        return _host_urllib_parse__server(owner.netloc, name)
    value = _host_own_getattr(owner, name, *default)
    return {"Incomplete": "ApiError", "Clamped": "Rejected"}.get(value, value) if name == "__name__" else value
getattr = _host_getattr
def hasattr(owner, name):
    return (isinstance(owner, ApiError) and name in ("status", "body")) or _host_own_hasattr(owner, name)
def callable(value):
    return _host_type(value).__name__ in _host_functions or _host_own_hasattr(value, "__call__")
def round(number, digits=None):
    if _host_type(number).__name__ == "float" and digits is not None and digits >= 0:
        return float(f"{number:.{digits}f}")
    return _host_own_round(number, digits)
def _host_plain(value):
    kind = _host_type(value).__name__
    if kind in ("list", "tuple", "range", "list_iterator", "dict_keys", "dict_values", "dict_items"):
        return [_host_plain(item) for item in value]
    if kind in ("dict", "defaultdict", "Counter"):
        return {name: _host_plain(item) for name, item in value.items()}
    if kind in _host_functions:
        raise TypeError(f"an argument is no JSON value: {kind} cannot be sent")
    return value
def _host_is_held(value):
    return _host_type(value).__name__ == "str" and value[:6] == "\\0held "
def _host_shown(value):
    if value is None or isinstance(value, str):
        return value and value[:100_000]
    try:
        return _host_json.dumps(value, ensure_ascii=False)[:100_000]
    except Exception:
        return None
def _host_shape(value):
    kind = _host_type(value).__name__
    if kind == "dict":
        names = ", ".join([repr(str(key)[:40]) for key in list(value)[:40]]) + (", ..." if len(value) > 40 else "")
        return f"a dict with the keys {names}" if value else "an empty dict"
    if kind == "list":
        is_of_dicts = value and _host_type(value[0]).__name__ == "dict"
        return f"a list of {len(value)}" + (f"; its first item is {_host_shape(value[0])}" if is_of_dicts else "")
    return f"of type {kind}"
_host_taken = []
def _host_take(value):
    _host_taken.append(value)
    raise StopIteration
def _host_first(branch, *default):
    try:
        branch()
    except StopIteration:
        return _host_taken.pop()
    if default:
        return default[0]
    raise StopIteration
def exit(text=""):
    raise SystemExit(text if _host_type(text).__name__ == "str" else "")
quit = exit
"""

_SOMETIMES = """
import re as _host_re
from collections import namedtuple as _host_namedtuple
def _host_heapq_nlargest(n, items, key=None):
    return sorted(items, key=key, reverse=True)[:n]
def _host_heapq_nsmallest(n, items, key=None):
    return sorted(items, key=key)[:n]
def _host_operator_itemgetter(*keys):
    return lambda item: item[keys[0]] if len(keys) == 1 else tuple([item[key] for key in keys])
def _host_operator_attrgetter(name):
    return lambda item: _host_getattr(item, name)
_host_split = _host_namedtuple("SplitResult", "scheme netloc path query fragment")
_host_parse = _host_namedtuple("ParseResult", "scheme netloc path params query fragment")
def _host_urllib_parse_urlsplit(url, scheme="", allow_fragments=True):
    return _host_split(*_host_urllib_parse__split(url, scheme, allow_fragments, False))
def _host_urllib_parse_urlparse(url, scheme="", allow_fragments=True):
    return _host_parse(*_host_urllib_parse__split(url, scheme, allow_fragments, True))
def _host_geturl(url):
    return _host_urllib_parse__url(list(url)) if _host_type(url).__name__ in _host_urls else url.geturl()
def _host_urllib_parse_urlunparse(parts):
    return _host_urllib_parse__url(list(parts), 6)
def _host_urllib_parse_urlunsplit(parts):
    return _host_urllib_parse__url(list(parts), 5)
def _host_format_map(text, values):
    is_plain = _host_type(text).__name__ == "str" and _host_type(values).__name__ == "dict"
    return text.format(**values) if is_plain else text.format_map(values)
def _host_translate(text, *table):
    if _host_type(text).__name__ == "str" and [_host_type(each).__name__ for each in table] == ["dict"]:
        return _host_string__translated(text, *table)
    return text.translate(*table)
def _host_encode(value, encoding, errors="strict"):
    return _host_codecs__recoded(value, encoding, errors)
_host_decode = _host_encode
def _host_several(name, first, *others):
    if _host_type(first).__name__ not in ("set", "frozenset"):
        raise TypeError(f"{name} takes one argument here")
    for other in [set(other) for other in others]:
        first = first | other if name == "union" else first & other if name == "intersection" else first - other
    return first | set()
def _host_sub(owner, *given, **named):
    kind = _host_type(owner).__name__
    new = [*given[kind == "module":], named.get("repl")][0]
    if kind not in ("module", "Pattern") or _host_type(new).__name__ not in _host_functions:
        return owner.sub(*given, **named)
    if kind == "module":
        named = {**dict(zip(("pattern", "repl", "string", "count", "flags"), given)), **named}
        owner, given = owner.compile(named.pop("pattern"), named.pop("flags", 0)), ()
    return _host_replaced(owner, *given, **named)
def _host_replaced(pattern, repl, string, count=0):
    made, end = [], 0
    for times, match in enumerate(pattern.finditer(string)):
        if count and times == count:
            break
        if not match[0]:  # Monty finds fewer of them
            raise ValueError("re.sub with a function is here only with a pattern that matches no empty text")
        made += [string[end:match.start()], repl(match)]
        end = match.end()
    return "".join([*made, string[end:]])
class _HostAddress:
    def __init__(self, told):
        for name, value in told.items():
            setattr(self, name, value)
    def __contains__(self, address):
        return self.version == address.version and self._first <= address._first <= self._last
    def __eq__(self, other):
        return _host_type(other).__name__ == "_HostAddress" and self._shown == other._shown
    def __hash__(self):
        return hash(self._shown)
    def __str__(self):
        return self._text
    def __repr__(self):
        return self._shown
def _host_ipaddress_ip_address(text):
    return _HostAddress(_host_ipaddress__described(text))
def _host_ipaddress_ip_network(text, strict=True):
    return _HostAddress(_host_ipaddress__described(text, strict))
def _host_io_StringIO(text):
    return _host_re.findall(r"[^\\n]*\\n|[^\\n]+", text)
class _HostStdout:
    def write(self, text):
        print(text, end="")
        return len(text)
    def flush(self):
        pass
_host_sys_stdout, _host_sys_exit = _HostStdout(), exit
"""
_WAITING = """
def wait_until(poll, done, most=600):
    waited, pause = 0, 1
    while True:
        answer = poll()
        if done(answer):
            return answer
        if waited >= most:
            stop(f"It was not done after {waited:g} s.", answer)
        numbers = [number for value, number in _host_answers if value is answer]
        waited += _host_wait(_host_sleep(pause, most - waited, *numbers[-1:]))
        pause = min(pause * 1.5, 30)
"""
_FOR_THESE = frozenset({
    *("StringIO", "decode", "difference", "encode", "format_map", "heapq", "intersection", "ipaddress", "isocalendar"),
    *("operator", "sub", "sys", "timetuple", "translate", "union", "urllib"),
})  # fmt: skip
"""The words of a program that needs `_SOMETIMES`."""

_FOR_LIBRARY = {
    "Mapping": "dict",
    "Iterable": "(tuple, set, frozenset, range, *map(type, ({}.keys(), {}.values(), {}.items(), iter([]))))",
    "stop": "stop",
    "ratio": "_host_ratio",
    "likest": "_host_likest",
}
"""What the library gets in the place of what it imports and of functions that run in the host."""

_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def prelude(code: str) -> str:
    """Return what stands before a program; the library only if the program has a word of it."""
    words = set(_WORD.findall(code))
    keeps = f"_host_keeps = {not words.isdisjoint(('headers', 'wait_until'))}\n"
    some = [_SOMETIMES] if words & _FOR_THESE else []
    some += [_WAITING] if "wait_until" in words else []
    some += [f"{part(full)} = {value!r}\n" for full, value in HOST_VALUES.items() if full.partition(".")[0] in words]
    return "".join([keeps, _ALWAYS, *some, "" if words.isdisjoint(LIBRARY) else _library()])


@lru_cache(maxsize=1)
def _library() -> str:
    """Return the functions of the library, inside a function, where no name of a program is theirs."""
    spec = find_spec("restgpt.tools.sandbox.library")
    if spec is None or spec.origin is None:
        raise ImportError("the library cannot be read. Install restgpt as a package with its source files.")
    parts = syntax_tree(Path(spec.origin).read_text(encoding="utf-8")).body
    kept = [part for part in parts if not isinstance(part, ast.ImportFrom | ast.If) and not _is_given(part)]
    tree = in_dialect(ast.Module(kept, []))
    bound = {name for node in ast.walk(tree) for name in bound_names(node)}
    python = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - bound
    given = {**{name: name for name in sorted(python) if hasattr(builtins, name)}, **_FOR_LIBRARY}
    defaults = ", ".join(f"{name}={value}" for name, value in given.items())
    names = ", ".join(LIBRARY)
    body = indent(ast.unparse(ast.fix_missing_locations(tree)), "    ")
    return f"def _host_library({defaults}):\n{body}\n    return {names}\n{names} = _host_library()\n"


def _is_given(part: ast.stmt) -> bool:
    target = getattr(part, "target", None)
    return not _FOR_LIBRARY.keys().isdisjoint([getattr(part, "name", ""), getattr(target, "id", "")])
