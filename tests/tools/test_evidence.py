"""Guards exactly what counts as said: whole values, in any punctuation of a sentence, and no piece of anything."""

from typing import Any

import pytest

from restgpt.calling.origin.evidence import Evidence

SAID: dict[str, tuple[Any, ...]] = {
    # Words and names: whole words in a row; ordinary ones ignore case.
    "Pay ada five": ("Ada",),
    "PAY ADA": ("ada",),
    "call it 'Rain garden'.": ("Rain garden",),
    "call it rain  garden": ("Rain garden",),
    "rain\u00a0garden": ("rain garden",),
    "Pay Jean-Luc Picard.": ("Jean-Luc Picard", "jean-luc"),
    "tell O'Brien": ("o'brien",),
    "tell O’Brien": ("O’Brien",),
    "use Alice's board": ("Alice",),
    "use Alice’s board": ("alice",),
    "Alice‘s board": ("Alice",),
    "use James' board": ("James",),
    "pay Müller": ("müller", "Mu\u0308ller"),
    "pay Mu\u0308ller": ("Müller",),
    "pay ÉLODIE": ("élodie",),
    "10 Ω of it": ("10 Ω",),
    # Punctuation, quotes, brackets, Markdown, emoji.
    "to Alice, please": ("Alice",),
    "Alice: hello": ("Alice",),
    "is it Alice?!": ("Alice",),
    "(Alice)": ("Alice",),
    "[Alice](https://x.example/a)": ("Alice", "https://x.example/a"),
    "**Alice**": ("Alice",),
    "`Alice`": ("Alice",),
    "„Alice“ und «Bob»": ("Alice", "Bob"),
    '{"to":"alice","amount":5}': ("alice", 5),
    "assign to @octocat.": ("octocat",),
    "Alice🎉": ("Alice", "🎉"),
    "Party 🎉!": ("Party 🎉",),
    "red,green,blue": ("green",),
    "W0001,W0002": ("W0001",),
    "Yahoo!": ("Yahoo!",),
    "note:\r\nline one\r\nline two\r\n": ("line one\nline two\n",),
    "say yes — Alice will": ("Alice",),
    "yes—Alice": ("Alice",),
    "it is true": (True,),
    # Ids, addresses and paths, as they are spelled.
    "to alice@bank.co, please": ("alice@bank.co",),
    "to alice@bank.co.": ("alice@bank.co",),
    "to <alice@bank.co>": ("alice@bank.co",),
    "a@x.example,b@x.example": ("b@x.example",),
    "a@x.example;b@x.example": ("b@x.example",),
    "to DE12-34 please": ("DE12-34",),
    "cancel #W0001": ("#W0001", "W0001"),
    "get https://x.example/a?b=1.": ("https://x.example/a?b=1",),
    "play spotify:track:Ab9": ("spotify:track:Ab9",),
    "the file a/b_c.txt": ("a/b_c.txt",),
    "due 2024-12-31.": ("2024-12-31",),
    "at 10:30": ("10:30",),
    "on June 13": ("June 13",),
    "what may 13 marched miles be": (13,),
    "call +49 170 1234567": ("+49 170 1234567",),
    # Numbers, however their thousands are separated.
    "pay 10.99.": (10.99, "10.99"),
    "pay 10,99 €": (10.99,),
    "pay 1,000.50": (1000.5, "1000.50", "1,000.50"),
    "pay 1.000,50": (1000.5,),
    "pay 1.000.000": (1_000_000,),
    "pay 1'000": (1000,),
    "pay 1_000": (1000,),
    "pay 1 000 000": (1_000_000,),
    "pay 250 000": (250_000,),
    "pay 1\u202f000,5": (1000.5,),
    "pay 1,000": (1000,),
    "weight 3.142": (3.142,),
    "weight 0.125": (0.125,),
    "weight 0,125": (0.125,),
    "pay 10": ("10.00",),
    "pay 10.0": (10,),
    "pay €50": (50,),
    "pay 50€": (50,),
    "pay 50 EUR": (50,),
    "5%": (5,),
    "-5": (-5,),
    "−5 degrees": (-5,),
    "-€5": (-5,),
    "+5": (5,),
    "(5)": (5,),
    "- 5 eggs": (5,),
    "#5": (5,),
    '"5"': ("5",),
    "tasks 1,2,3": (2,),
    "tasks 101 102 103": (102,),
    "tasks 101, 102": (101,),
    "id 007": ("007",),
    "id 12345678901234567890": (12345678901234567890,),
    # Scripts without spaces: a change of script is an edge, and so are spaces and quotes.
    "支付50元给Alice": ("Alice",),
    "给「小明」转账": ("小明",),
    "给 小明 转账。": ("小明",),
    "田中さんに送る": ("田中",),
    "アリスに50円": ("アリス",),
    "Alice에게 50원": ("Alice",),
    # Lists and arrows as people write them.
    "•Alice": ("Alice",),
    "Alice→Bob": ("Alice", "Bob"),
    "￥1,000": (1000,),
    "宛先：田中（営業）": ("田中",),
}

NOT_SAID: dict[str, tuple[Any, ...]] = {
    # Pieces of addresses, names, paths and ids.
    "to alice@bank.co.uk": ("alice@bank.co", "bank.co.uk", "alice", "@bank.co.uk"),
    "to john.smith@x.com": ("smith@x.com", "john"),
    **{f"to a{sign}b@x.com": ("b@x.com",) for sign in "+_'&=%"},
    "to *.bank.co": ("bank.co",),
    "get https://x.example/a?b=1": ("https://x.example/a",),
    "get https://x.example/a/": ("https://x.example/a",),
    "get https://x.example/a,b": ("https://x.example/a", "b"),
    "get https://x.example?to=eve&a=1": ("eve",),
    "get https://x.example/wiki/A_(b)": ("https://x.example/wiki/A_",),
    "play spotify:track:Ab9": ("Ab9",),
    "the file a/b_c.txt": ("b_c.txt",),
    "the folder /etc/passwd": ("passwd",),
    "red/green": ("red",),
    **{f"Pay Jean{dash}Luc": ("Jean", "Luc") for dash in "-‐–"},
    "tell O'Brien": ("Brien",),
    "tell O’Brien": ("O",),
    "d'Alice": ("Alice",),
    "I'll go": ("I",),
    "DE12-34": ("DE12", "34"),
    "roof_garden": ("garden",),
    "C++ and C#": ("C",),
    "A- grade": ("A",),
    "abc==": ("abc",),
    "--force": ("force",),
    ".env": ("env",),
    "AT&T": ("AT",),
    "a&b;c": ("c",),
    "status=done": ("done",),
    "to:eve": ("eve",),
    "garden xylophone": ("garden x",),
    "Ada": ("Ad",),
    "👍🏽": ("👍",),
    "👨\u200d👩": ("👨",),
    "a..........................b": ("a",),
    # Case and Unicode.
    "to Alice@bank.co": ("alice@bank.co",),
    "key AbC": ("abc",),
    "key abc": ("aBc",),
    "id ab-9": ("Ab-9",),
    "get /Users": ("/users",),
    "call Make_Room": ("make_room",),
    "strasse.de": ("straße.de",),
    "strasse or STRASSE": ("straße",),
    "alice": ("аlice", "\uff41lice"),
    "pay 5": ("\uff15",),
    "pay \uff15": (5,),
    "Karl": ("\u212aarl",),
    "fine": ("ﬁne",),
    "Istanbul": ("İstanbul",),
    "Muller": ("Müller",),
    "Alice": ("Ali\u200bce", " Alice", "", " "),
    "Alice\u0301": ("Alice",),
    "Alice Smith": ("Alice\u00a0Smith", "Alice  Smith", "Alice\nSmith"),
    "Pay Alice\nBob is next": ("Alice Bob",),
    # Pieces of numbers, dates, times, versions and phone numbers; other numbers.
    "pay 12": ("1",),
    "pay 50": (5,),
    "pay 10.99": (99, 10),
    "pay 10,99": (99,),
    "pay 1,000.50": (50, 1),
    "pay 1.000,50": (1, 50),
    "pay 1.000": (1, 1000),
    "pay 1,000": (1,),
    "pay 1 000": (1, "000"),
    "pay 250 000": (250,),
    "pay 1'000": (1,),
    "on June 13 according to the file": ("13",),
    "on Sept. 13, at noon": (13,),
    "the 13 of May": (13,),
    "13 December": ("13",),
    "due 2024-12-31": (2024, 31, "2024-12"),
    "due 31.12.2024": (31.12,),
    "due 12/31/2024": (2024,),
    "at 10:30": (10, 30),
    "at 2024-12-31T10:30:15Z": (15,),
    "version 1.2.3": (1.2,),
    "version 3.10": ("3.1",),
    "from 10.0.0.1": (10,),
    "call +49 170 1234567": (170, 1234567, "170 1234567"),
    "call 0049 170 1234567": (170,),
    "call (030)1234567": (1234567, 30),
    "-5": (5,),
    "−5": (5,),
    "-€5": (5,),
    "5": (-5,),
    "10-20": (20, -20),
    "10–20": (10,),
    "1/2": (2,),
    "2+3": (3,),
    "5+": (5,),
    "house 5a": (5,),
    "order A5": (5,),
    "a%20b": (20,),
    ".5": (5,),
    "5%": (0.05,),
    "ten": (10,),
    "id 007": (7, "7"),
    "5 apples": (5.1,),
    "1e3": (1000, 3),
    # Scripts without spaces.
    "给王小明转账": ("小明",),
    "给小明转账": ("小明",),
    "ラーメン": ("ラ",),
    "支付5万元": (5,),
    "支付50元": (5, 50),
    "5만원": (5,),
    "1，000円": (1,),
    "5：30": (5,),
    # Letters, signs, words and fractions beside a number, which make another one of it, or its unit.
    **dict.fromkeys(("5k", "5 k", "5 million", "5 Mio. Euro", "5m", "5kg", "5 万", "5½", "5 ½", "5 1/2"), (5,)),
    **dict.fromkeys(("pay 50EUR", "pay US$50", "pay 50,-"), (50,)),
    "€-5": (5,),
    "pay 5,-3": (5,),
    "No.12": (12,),
    "3，5": (3,),
    "1,00,000": (100_000,),
}


@pytest.mark.parametrize(("text", "values"), SAID.items())
def test_a_whole_value_is_said(text: str, values: tuple[Any, ...]) -> None:
    assert [value for value in values if not Evidence(text).says(value)] == []


@pytest.mark.parametrize(("text", "values"), NOT_SAID.items())
def test_a_piece_or_another_spelling_is_not_said(text: str, values: tuple[Any, ...]) -> None:
    assert [value for value in values if Evidence(text).says(value)] == []


@pytest.mark.parametrize("piece", ["b", "b c", "a.b"])
def test_a_whole_value_is_found_behind_pieces_that_overlap_it(piece: str) -> None:
    assert Evidence(f"x-{piece} {piece}.{piece} {piece}").says(piece)


def test_a_value_is_said_by_any_of_the_texts_but_by_none_of_them_half_and_by_no_text_not_at_all() -> None:
    assert Evidence("pay Ada", "pay Bob").says("Bob")
    assert not Evidence("pay Ada", "Bob is next").says("Ada Bob")
    nothing = Evidence()
    assert not any((nothing.says("word"), nothing.says(1), nothing.has_word("word"), nothing.has_id(1)))


def test_words_are_found_exactly_and_whole() -> None:
    words = ("Roof garden", "roof garden", "oof garde", "garden", "Ab", "Ab-9", "x@y.example", "(see x", "")
    found = [word for word in words if Evidence("Roof garden Ab-9 (see x@y.example)").has_word(word)]
    assert found == ["Roof garden", "garden", "Ab-9", "x@y.example", "(see x"]


def test_an_id_is_found_alone_in_a_list_or_as_the_end_of_a_uri() -> None:
    said = Evidence("The id of Orbit is 4711.", "Tracks: spotify:track:Ab-9")
    for found in (4711, "4711", "4711,Ab-9", "4711 Ab-9", "spotify:track:Ab-9", "spotify:album:Ab-9"):
        assert said.has_id(found), found
    for absent in (471, "4711,99", "spotify:track:made-up", "spotify:track:Ab", "ab-9", "Ab", ":,"):
        assert not said.has_id(absent), absent
