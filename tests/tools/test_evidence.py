"""Guards exactly what counts as said: whole values, in any punctuation of a sentence, and no piece of anything."""

from typing import Any

import pytest

from restgpt.calling.origin.evidence import Evidence

SAID: list[tuple[Any, ...]] = [
    # Words and names: whole words in a row; ordinary ones ignore case.
    ("Ada", "Pay ada five"),
    ("ada", "PAY ADA"),
    ("Rain garden", "call it 'Rain garden'.", "call it rain  garden"),
    ("rain garden", "rain\u00a0garden"),
    ("Jean-Luc Picard", "Pay Jean-Luc Picard."),
    ("jean-luc", "Pay Jean-Luc Picard."),
    ("o'brien", "tell O'Brien"),
    ("O’Brien", "tell O’Brien"),
    ("Alice", "use Alice's board", "Alice‘s board"),
    ("alice", "use Alice’s board"),
    ("James", "use James' board"),
    ("müller", "pay Müller"),
    ("Mu\u0308ller", "pay Müller"),
    ("Müller", "pay Mu\u0308ller"),
    ("élodie", "pay ÉLODIE"),
    ("10 Ω", "10 Ω of it"),
    # Punctuation, quotes, brackets, Markdown, emoji.
    ("Alice", "to Alice, please", "Alice: hello", "is it Alice?!", "(Alice)", "[Alice](https://x.example/a)"),
    ("Alice", "**Alice**", "`Alice`", "„Alice“ und «Bob»", "Alice🎉", "say yes — Alice will", "yes—Alice"),
    ("https://x.example/a", "[Alice](https://x.example/a)"),
    ("Bob", "„Alice“ und «Bob»"),
    ("alice", '{"to":"alice","amount":5}'),
    (5, '{"to":"alice","amount":5}'),
    ("octocat", "assign to @octocat."),
    ("🎉", "Alice🎉"),
    ("Party 🎉", "Party 🎉!"),
    ("green", "red,green,blue"),
    ("W0001", "W0001,W0002"),
    ("Yahoo!", "Yahoo!"),
    ("line one\nline two\n", "note:\r\nline one\r\nline two\r\n"),
    (True, "it is true"),
    # Ids, addresses and paths, as they are spelled.
    ("alice@bank.co", "to alice@bank.co, please", "to alice@bank.co.", "to <alice@bank.co>"),
    ("b@x.example", "a@x.example,b@x.example", "a@x.example;b@x.example"),
    ("DE12-34", "to DE12-34 please"),
    ("#W0001", "cancel #W0001"),
    ("W0001", "cancel #W0001"),
    ("https://x.example/a?b=1", "get https://x.example/a?b=1."),
    ("spotify:track:Ab9", "play spotify:track:Ab9"),
    ("a/b_c.txt", "the file a/b_c.txt"),
    ("2024-12-31", "due 2024-12-31."),
    ("10:30", "at 10:30"),
    ("June 13", "on June 13"),
    (13, "what may 13 marched miles be"),
    ("+49 170 1234567", "call +49 170 1234567"),
    # Numbers, however their thousands are separated.
    (10.99, "pay 10.99.", "pay 10,99 €"),
    ("10.99", "pay 10.99."),
    (1000.5, "pay 1,000.50", "pay 1.000,50", "pay 1\u202f000,5"),
    ("1000.50", "pay 1,000.50"),
    ("1,000.50", "pay 1,000.50"),
    (1_000_000, "pay 1.000.000", "pay 1 000 000"),
    (1000, "pay 1'000", "pay 1_000", "pay 1,000"),
    (250_000, "pay 250 000"),
    (3.142, "weight 3.142"),
    (0.125, "weight 0.125", "weight 0,125"),
    ("10.00", "pay 10"),
    (10, "pay 10.0"),
    (50, "pay €50", "pay 50€", "pay 50 EUR"),
    (5, "5%", "+5", "(5)", "- 5 eggs", "#5"),
    (-5, "-5", "−5 degrees", "-€5"),
    ("5", '"5"'),
    (2, "tasks 1,2,3"),
    (102, "tasks 101 102 103"),
    (101, "tasks 101, 102"),
    ("007", "id 007"),
    (12345678901234567890, "id 12345678901234567890"),
    # Scripts without spaces: a change of script is an edge, and so are spaces and quotes.
    ("Alice", "支付50元给Alice", "Alice에게 50원"),
    ("小明", "给「小明」转账", "给 小明 转账。"),
    ("田中", "田中さんに送る"),
    ("アリス", "アリスに50円"),
    # Lists and arrows as people write them.
    ("Alice", "•Alice", "Alice→Bob"),
    ("Bob", "Alice→Bob"),
    (1000, "￥1,000"),
    ("田中", "宛先：田中（営業）"),
]
"""Values, and texts that say them."""

NOT_SAID: list[tuple[Any, ...]] = [
    # Pieces of addresses, names, paths and ids.
    ("alice@bank.co", "to alice@bank.co.uk"),
    ("bank.co.uk", "to alice@bank.co.uk"),
    ("alice", "to alice@bank.co.uk"),
    ("@bank.co.uk", "to alice@bank.co.uk"),
    ("smith@x.com", "to john.smith@x.com"),
    ("john", "to john.smith@x.com"),
    ("b@x.com", "to a+b@x.com", "to a_b@x.com", "to a'b@x.com", "to a&b@x.com", "to a=b@x.com", "to a%b@x.com"),
    ("bank.co", "to *.bank.co"),
    ("https://x.example/a", "get https://x.example/a?b=1", "get https://x.example/a/", "get https://x.example/a,b"),
    ("b", "get https://x.example/a,b"),
    ("eve", "get https://x.example?to=eve&a=1", "to:eve"),
    ("https://x.example/wiki/A_", "get https://x.example/wiki/A_(b)"),
    ("Ab9", "play spotify:track:Ab9"),
    ("b_c.txt", "the file a/b_c.txt"),
    ("passwd", "the folder /etc/passwd"),
    ("red", "red/green"),
    ("Jean", "Pay Jean-Luc", "Pay Jean‐Luc", "Pay Jean–Luc"),
    ("Luc", "Pay Jean-Luc", "Pay Jean‐Luc", "Pay Jean–Luc"),
    ("Brien", "tell O'Brien"),
    ("O", "tell O’Brien"),
    ("Alice", "d'Alice"),
    ("I", "I'll go"),
    ("DE12", "DE12-34"),
    ("34", "DE12-34"),
    ("garden", "roof_garden"),
    ("C", "C++ and C#"),
    ("A", "A- grade"),
    ("abc", "abc=="),
    ("force", "--force"),
    ("env", ".env"),
    ("AT", "AT&T"),
    ("c", "a&b;c"),
    ("done", "status=done"),
    ("garden x", "garden xylophone"),
    ("Ad", "Ada"),
    ("👍", "👍🏽"),
    ("👨", "👨\u200d👩"),
    ("a", "a..........................b"),
    # Case and Unicode.
    ("alice@bank.co", "to Alice@bank.co"),
    ("abc", "key AbC"),
    ("aBc", "key abc"),
    ("Ab-9", "id ab-9"),
    ("/users", "get /Users"),
    ("make_room", "call Make_Room"),
    ("straße.de", "strasse.de"),
    ("straße", "strasse or STRASSE"),
    ("аlice", "alice"),
    ("\uff41lice", "alice"),
    ("\uff15", "pay 5"),
    (5, "pay \uff15"),
    ("\u212aarl", "Karl"),
    ("ﬁne", "fine"),
    ("İstanbul", "Istanbul"),
    ("Müller", "Muller"),
    ("Ali\u200bce", "Alice"),
    (" Alice", "Alice"),
    ("", "Alice"),
    (" ", "Alice"),
    ("Alice", "Alice\u0301"),
    ("Alice\u00a0Smith", "Alice Smith"),
    ("Alice  Smith", "Alice Smith"),
    ("Alice\nSmith", "Alice Smith"),
    ("Alice Bob", "Pay Alice\nBob is next"),
    # Pieces of numbers, dates, times, versions and phone numbers; other numbers.
    ("1", "pay 12"),
    (5, "pay 50", "-5", "−5", "-€5", "5+", "house 5a", "order A5", ".5"),
    (99, "pay 10.99", "pay 10,99"),
    (10, "pay 10.99", "at 10:30", "from 10.0.0.1", "10–20", "ten"),
    (50, "pay 1,000.50", "pay 1.000,50"),
    (1, "pay 1,000.50", "pay 1.000,50", "pay 1.000", "pay 1,000", "pay 1 000", "pay 1'000"),
    (1000, "pay 1.000", "1e3"),
    ("000", "pay 1 000"),
    (250, "pay 250 000"),
    ("13", "on June 13 according to the file", "13 December"),
    (13, "on Sept. 13, at noon", "the 13 of May"),
    (2024, "due 2024-12-31", "due 12/31/2024"),
    (31, "due 2024-12-31"),
    ("2024-12", "due 2024-12-31"),
    (31.12, "due 31.12.2024"),
    (30, "at 10:30", "call (030)1234567"),
    (15, "at 2024-12-31T10:30:15Z"),
    (1.2, "version 1.2.3"),
    ("3.1", "version 3.10"),
    (170, "call +49 170 1234567", "call 0049 170 1234567"),
    (1234567, "call +49 170 1234567", "call (030)1234567"),
    ("170 1234567", "call +49 170 1234567"),
    (-5, "5"),
    (20, "10-20", "a%20b"),
    (-20, "10-20"),
    (2, "1/2"),
    (3, "2+3", "1e3"),
    (0.05, "5%"),
    (7, "id 007"),
    ("7", "id 007"),
    (5.1, "5 apples"),
    # Scripts without spaces.
    ("小明", "给王小明转账", "给小明转账"),
    ("ラ", "ラーメン"),
    (5, "支付5万元", "支付50元", "5만원", "5：30"),
    (50, "支付50元"),
    (1, "1，000円"),
    # Letters, signs, words and fractions beside a number, which make another one of it, or its unit.
    (5, "5k", "5 k", "5 million", "5 Mio. Euro", "5m", "5kg", "5 万", "5½", "5 ½", "5 1/2", "€-5", "pay 5,-3"),
    (50, "pay 50EUR", "pay US$50", "pay 50,-"),
    (12, "No.12"),
    (3, "3，5"),
    (100_000, "1,00,000"),
]


@pytest.mark.parametrize(("value", "text"), [(value, text) for value, *texts in SAID for text in texts])
def test_a_whole_value_is_said(value: Any, text: str) -> None:
    assert Evidence(text).says(value)


@pytest.mark.parametrize(("value", "text"), [(value, text) for value, *texts in NOT_SAID for text in texts])
def test_a_piece_or_another_spelling_is_not_said(value: Any, text: str) -> None:
    assert not Evidence(text).says(value)


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
