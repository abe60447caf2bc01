"""The words from which the simulated film database invents names, titles, places and texts."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FIRST_NAMES = _words(
    """Abelone Aldous Amparo Anselm Bashir Beatrix Bertil Caspian Celestine Corwin Dagny Davorin Delphine Dunja Edric
    Eirlys Emeric Esperanza Evander Fabiola Feodor Finola Florian Gaspard Ginevra Gudrun Hadrian Halina Hesper Ignatius
    Ilona Ingram Isadora Jarmila Jocasta Joss Kaspar Keziah Klara Lazar Leocadia Linnea Lorcan Ludmila Magnus Marisol
    Mireille Nerys Nikodem Octavia Odile Orsolya Osric Pascoe Perpetua Quillon Radomir Ramona Roderick Rosalind Saskia
    Sidonie Stellan Tadeusz Tamsin Thessaly Ulrich Ursel Valdemar Verity Wilhelmina Xanthe Yaropolk Ysolde Zdenka
    Zephyrine"""
)
LAST_NAMES = _words(
    """Abernethy Alderbrook Aspinwall Bellweather Birchenough Blacklock Bramblecote Calloway-Reed Carrowmore
    Chesterblade Copperthwaite Cranleigh Dovetail Drakensund Eastermoor Elphinstone Fairweather Fenwright Foxcroft
    Gallowglass Glimmerwood Greystoke-Lind Halloran-Voss Hawksworth Heatherington Hollingbane Ironmonger Jessamine
    Kestrelman Kingsbarrow Larkspur Lindqvist-Amar Loxwood Marchbanks Merriwether Mossbacher Nightingale-Roux
    Northwick Oakenshaw Osterhagen Palfreyman Pennyfeather Pomeroy-Sand Quackenbush Quillfeather Ravensdale Rookwood
    Saltmarsh Seagrave-Ito Silverlock Snowdrift Stormonth Strandberg-Oka Summerhayes Tallowmere Thistledown Thornbury
    Underhill-Mora Vandermolen Vexley Waverly-Stone Weatherwax Whistlecraft Windermark Winterbourne Wolverstone
    Yarborough Yellowlees Zephyrhills Zimmerwald"""
)
ADJECTIVES = _words(
    """Amber Ashen Borrowed Brazen Broken Candlelit Copper Crooked Distant Drowned Eleventh Faithful Feral Forgotten
    Frozen Gilded Hidden Hollow Idle Inland Ivory Jagged Last Lonely Midnight Nameless Narrow Outer Painted Paper
    Patient Quiet Restless Salted Scarlet Second Silent Sleeping Stolen Sunken Tangled Tender Unfinished Velvet
    Wandering Weathered Winter Wooden"""
)
NOUNS = _words(
    """Almanac Anchor Archive Astronomer Avenue Beekeeper Bicycle Cartographer Carousel Causeway Clockmaker Comet
    Compass Conductor Corridor Dormouse Echo Embassy Equation Ferryman Festival Garden Glacier Harbour Harvest Honeymoon
    Horizon Inheritance Interlude Island Juggler Kingdom Labyrinth Lantern Ledger Lighthouse Locksmith Meridian Mirror
    Monsoon Needle Observatory Orchard Overture Parade Passenger Pendulum Quarry Regatta Riddle Sculptor Sonata Stairway
    Summer Telegram Tournament Umbrella Violin Watchtower Weaver"""
)
TOWNS = _words(
    """Abbotsquay Birchwater Calderhaven Dunmarrow Eastholm Farrowgate Glenquill Hartlemouth Inverlace Jasperton
    Kettlewick Larkminster Marrowby Netherfold Oldcastle-on-Wey Pennymoor Quillport Ravensmere Saltcombe Thornwick
    Underbridge Vellhaven Westermarsh Yarrowdale Zennorby"""
)
COUNTRIES = {
    "Norway": "NO",
    "Portugal": "PT",
    "Canada": "CA",
    "Japan": "JP",
    "Chile": "CL",
    "Ireland": "IE",
    "New Zealand": "NZ",
    "Hungary": "HU",
    "Kenya": "KE",
    "Uruguay": "UY",
}
OBJECTS = _words(
    """abacus accordion barometer bellows birdcage chandelier chessboard cuckoo-clock dictaphone dulcimer
    earring fishing-rod gramophone harpoon hourglass inkwell jigsaw kaleidoscope kettledrum lorgnette mandolin
    metronome nutcracker opera-glass parasol periscope quilt rocking-horse saddlebag sextant snow-globe spyglass
    sundial tapestry telescope thimble tuning-fork typewriter weathervane xylophone"""
)
TRADES = _words(
    """apprentice baker bookbinder carpenter chemist cook dentist diver farmer geologist glazier gardener hatter
    judge librarian mechanic miller nurse painter pianist pilot plumber potter printer sailor shepherd surveyor
    tailor teacher translator"""
)
TROUBLES = (
    "a debt that nobody remembers",
    "a wedding that was never called off",
    "a flood that keeps coming back",
    "a letter with two addresses",
    "a rival who knows the tide tables",
    "a court that sits only at night",
    "an inventor who will not sleep",
    "a town that has lost its name",
    "a train without a driver",
    "an heir who cannot be found",
)
KEYWORDS = tuple(
    f"{first} {second}"
    for first in _words("beehive canal desert glacier harbour lighthouse monastery orchard railway volcano")
    for second in _words("auction census duel election heist pilgrimage rescue strike trial wedding")
)
# Two reviews must not share 25 letters in a row, so a word of their own comes at least that often.
PRAISE = (
    "Come for the {thing}, stay for {town}. I loved {hero}, the {trade}. As for the {other}: why?",
    "No {trade} in {town} talks like {hero} does, but the {thing} saves it, and the {other} too.",
    "Slow, until {hero} finds the {thing}. Then {town} burns, the {trade} sings, and I wept by the {other}.",
    "Who hid the {thing}? Surely not {hero}! My {trade} from {town} guessed it at once; the {other} fooled me.",
    "Too long. Yet {town} at dawn, {hero} with a {thing}, the {trade} asleep on an {other}: unforgettable.",
)
LANGUAGES = {"en": "English", "fr": "French", "ja": "Japanese", "es": "Spanish", "ko": "Korean", "de": "German"}
MOVIE_GENRES = (
    "Action", "Adventure", "Animation", "Comedy", "Crime", "Documentary", "Drama", "Family", "Fantasy",
    "History", "Horror", "Music", "Mystery", "Romance", "Science Fiction", "Thriller", "War", "Western",
)  # fmt: skip
TV_GENRES = (
    "Action & Adventure", "Animation", "Comedy", "Crime", "Documentary", "Drama", "Family", "Kids", "Mystery",
    "News", "Reality", "Sci-Fi & Fantasy", "Soap", "Talk", "War & Politics", "Western",
)  # fmt: skip
CREW = {
    "Producer": "Production",
    "Executive Producer": "Production",
    "Screenplay": "Writing",
    "Writer": "Writing",
    "Editor": "Editing",
    "Assistant Director": "Directing",
    "Second Unit Director": "Directing",
    "Director of Photography": "Camera",
    "Original Music Composer": "Sound",
    "Production Design": "Art",
}
DIRECTOR = "Director"
DIRECTING = "Directing"
