"""What stands before a program in its process: its errors, `gather`, `headers`, and the functions of the library."""

import ast
import builtins
import re
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from textwrap import indent

from restgpt.tools.sandbox.code import syntax_tree
from restgpt.tools.sandbox.dialect import LIBRARY, in_dialect
from restgpt.tools.sandbox.gather import bound_names

# A branch of `gather` waits in an `asyncio.run` inside of another, which Monty has and CPython has not. It keeps its
# error until all are at their end, else those that still run would make calls after the error.
_ALWAYS = """
import asyncio as _host_asyncio, binascii as _host_binascii, datetime as _host_time
import decimal as _host_decimal, json as _host_json
ApiError, Rejected = _host_binascii.Incomplete, _host_decimal.Clamped
_host_type, _host_own_getattr, _host_own_hasattr, _host_own_round, _host_iter = type, getattr, hasattr, round, iter
_host_functions = ("function", "builtin_function_or_method", "method", "type")
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
def _host_moment(seconds, tz=None):
    start = _host_time.datetime(1970, 1, 1, tzinfo=_host_time.timezone.utc)
    part = _host_own_round(seconds % 1 * 1_000_000)
    moment = start + _host_time.timedelta(seconds=int(seconds // 1), microseconds=int(part))
    return moment.astimezone(tz) if tz else moment.replace(tzinfo=None)
def _host_day(seconds):
    return _host_moment(seconds).date()
class _HostModule:
    pass
_host_operator, _host_heapq, _host_io, _host_ipaddress = [_HostModule() for _ in range(4)]
def _host_items(*keys):
    return lambda item: item[keys[0]] if len(keys) == 1 else tuple([item[key] for key in keys])
_host_operator.itemgetter = _host_items
_host_operator.attrgetter = lambda name: lambda item: _host_getattr(item, name)
_host_heapq.nlargest = lambda n, items, key=None: sorted(items, key=key, reverse=True)[:n]
_host_heapq.nsmallest = lambda n, items, key=None: sorted(items, key=key)[:n]
class _HostAddress:
    def __init__(self, text):
        parts = str(text).split(".")
        if len(parts) != 4 or not all([part.isdigit() and len(part) < 4 and int(part) < 256 for part in parts]):
            raise ValueError(f"{text!r} is no IPv4 address; others are not read here")
        self.number, self.text = sum([int(part) << 8 * (3 - at) for at, part in enumerate(parts)]), str(text)
    def __str__(self):
        return self.text
class _HostNetwork:
    def __init__(self, text, strict=True):
        base, _, size = str(text).partition("/")
        if not (size or "32").isdigit() or int(size or "32") > 32:
            raise ValueError(f"{text!r} is no IPv4 network; others are not read here")
        self.rest, self.text = 32 - int(size or "32"), str(text)
        self.first = _HostAddress(base).number
        if strict and self.first >> self.rest << self.rest != self.first:
            raise ValueError(f"{text} has host bits set")
    def __contains__(self, address):
        return address.number >> self.rest == self.first >> self.rest
    def __str__(self):
        return self.text
_host_ipaddress.ip_address = _host_ipaddress.IPv4Address = lambda text: _HostAddress(text)
_host_ipaddress.ip_network = _host_ipaddress.IPv4Network = lambda text, strict=True: _HostNetwork(text, strict)
_host_io.StringIO = lambda text="": text.splitlines(True)
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
    keeps = f"_host_keeps = {'headers' in words}\n"
    return keeps + _ALWAYS + ("" if words.isdisjoint(LIBRARY) else _library())


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
