"""The entities that tasks name; their makers, dates and ratings are drawn from the seed, never from reality.

Two disjoint sets: those of the published instructions, and further ones for the tasks of this project.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Film:
    """A film that a task names; `not_by` is never its director, so that memory does not help."""

    title: str
    not_by: str = ""
    decoys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Series:
    """A show that a task names: its seasons must have at least these numbers of episodes."""

    name: str
    episodes: tuple[int, ...]
    decoys: tuple[str, ...] = ()
    not_seasons: int = 0


@dataclass(frozen=True, slots=True)
class Saga:
    """A collection with invented parts: `pattern` takes an adjective and a noun."""

    name: str
    pattern: str
    parts: tuple[int, int]
    decoy: str = ""


@dataclass(frozen=True, slots=True)
class Artist:
    """A person that a task names, with the ranges of the numbers of their works.

    `decoy` is a person of nearly the same name; if empty, the decoy has the name with one more surname.
    """

    name: str
    directs: tuple[int, int] = (0, 0)
    acts: tuple[int, int] = (0, 0)
    shows: int = 0
    directs_shows: int = 0
    decoy: str = ""


@dataclass(frozen=True, slots=True)
class Cast:
    """All that a set of tasks names; `idle_companies` have nearly the name of another and made nothing."""

    artists: tuple[Artist, ...]
    films: tuple[Film, ...]
    series: tuple[Series, ...]
    sagas: tuple[Saga, ...]
    companies: tuple[str, ...]
    idle_companies: tuple[str, ...]
    networks: tuple[str, ...] = ()


PUBLISHED = Cast(
    artists=(
        Artist("Sofia Coppola", directs=(6, 13), acts=(1, 3)),
        Artist("Christopher Nolan", directs=(5, 11)),
        Artist("Martin Scorsese", directs=(7, 14)),
        Artist("Francis Ford Coppola", directs=(5, 9)),
        Artist("Akira Kurosawa", directs=(6, 10)),
        Artist("Steven Spielberg", directs=(7, 12), decoy="Arlo Spielberg"),
        Artist("David Lynch", directs=(4, 7), directs_shows=2),
        Artist("Quentin Tarantino", directs=(4, 8)),
        Artist("Greta Gerwig", directs=(3, 5), acts=(2, 4)),
        Artist("Clint Eastwood", directs=(5, 9), acts=(3, 6)),
        Artist("Catherine Hardwicke", directs=(3, 6), directs_shows=4),
        Artist("Leonardo DiCaprio", acts=(6, 12)),
        Artist("Jeremy Clarkson", acts=(1, 2), shows=4),
        Artist("Cate Blanchett", acts=(4, 8), shows=4),
        Artist("David Schwimmer", acts=(2, 5), shows=4),
        Artist("Scarlett Johansson", acts=(5, 9)),
        Artist("Yui Aragaki", acts=(2, 4), shows=2),
        Artist("Gen Hoshino", acts=(2, 4), shows=2),
        Artist("Katherine LaNasa", acts=(4, 8), shows=1),
    ),
    films=(
        Film("The Dark Knight", "Christopher Nolan", ("The Dark Knight Rises", "Batman: The Dark Knight Returns")),
        Film("Titanic", "", ("Titanic: The Last Letters", "The Titanic Orchestra")),
        Film("Twilight", "Catherine Hardwicke", ("The Twilight Saga: Tangled Comet", "The Twilight Saga: Ivory Echo")),
        Film("The Matrix", "", ("The Matrix Resurgent", "Making The Matrix")),
        Film("Django Unchained", "Quentin Tarantino", ("Django Unchained: The Score",)),
        Film("Avatar", "", ("Avatar: The Way of Water", "Avatar: Deep Dive")),
        Film("The Shawshank Redemption", "", ("Shawshank: The Redemption of a Place",)),
        Film("The Double Life of Veronique"),
        Film("Mulholland Drive", "David Lynch", ("Back to Mulholland Drive",)),
        Film("Barbie", "Greta Gerwig", ("Barbie and the Paper Regatta", "Barbie: Winter Island")),
        Film("Oppenheimer", "Christopher Nolan", ("To End All War: Oppenheimer",)),
        Film("We Married as Job"),
    ),
    series=(
        Series("Breaking Bad", (7, 9), ("Breaking Bad Habits",)),
        Series("The Witcher", (6, 5), ("The Witcher: Hearth Tales",)),
        Series("House of Cards", (9, 8, 7), ("House of Cards and Dice",)),
        Series("The Last of Us", (6,), ("The Last of Us Podcast",)),
        Series("Friends", (8, 9, 25, 7), ("Friends of the Harbour", "Friends from College Lane")),
        Series("2 Broke Girls", (9, 12, 11), ()),
        Series("The Big Bang Theory", (10, 11, 9), ("The Big Bang Theory Revisited",)),
        Series("Westworld", (8, 7), ("Westworld Chronicles",)),
        Series("Game of Thrones", (8, 9, 7), ("Game of Thrones: The Table Read",)),
        Series("Band of Brothers", (8,), ("Band of Brothers Remembered",)),
        Series("The Mandalorian", (7, 6, 8), ("Disney Gallery: The Mandalorian",)),
        Series("Black Mirror", (4, 5, 6), ("Black Mirror Shorts",)),
        Series("Twin Peaks", (7, 8), ("Twin Peaks Diaries",)),
        Series("Sword Art Online", (5, 6, 5), ("Sword Art Online: Side Story",), not_seasons=4),
        Series("Death Note", (9, 8), ()),
        Series("We Married as Job", (8,), ()),
    ),
    sagas=(
        Saga("Star Wars", "Star Wars: {} {}", (6, 9), "Star Wars: Droid Shorts"),
        Saga("Harry Potter", "Harry Potter and the {} {}", (5, 8), "The Real Harry Potter"),
        Saga("The Hunger Games", "The Hunger Games: {} {}", (3, 5)),
        Saga("The Hobbit", "The Hobbit: The {} {}", (3, 3)),
        Saga("The Fast and the Furious", "The Fast and the Furious: {} {}", (6, 9)),
        Saga("The Lord of the Rings", "The Lord of the Rings: The {} {}", (3, 4), "The Lord of the Rings (Animated)"),
    ),
    companies=("Walt Disney Pictures", "Walt Disney Productions", "Paramount Pictures", "Universal Pictures"),
    idle_companies=("Paramount Pictures Archive", "Universal Pictures Records"),
    networks=("HBO",),
)

OWN = Cast(
    artists=(
        Artist("Agnès Varda", directs=(6, 11), decoy="Agnès Vardal"),
        Artist("Bong Joon-ho", directs=(4, 8)),
        Artist("Jane Campion", directs=(5, 9), directs_shows=2),
        Artist("Hayao Miyazaki", directs=(5, 10)),
        Artist("Satyajit Ray", directs=(6, 12)),
        Artist("Tilda Swinton", acts=(6, 11), shows=2),
        Artist("Toshiro Mifune", acts=(6, 10)),
        Artist("Olivia Colman", acts=(4, 7), shows=4),
        Artist("Idris Elba", acts=(4, 7), shows=3),
    ),
    films=(
        Film("Spirited Away", "Hayao Miyazaki", ("Spirited Away: Live on Stage",)),
        Film("Amélie", "", ("Amélie's Neighbours",)),
        Film("Casablanca", "", ("Casablanca Revisited", "A Night in Casablanca")),
        Film("The Grand Budapest Hotel"),
        Film("Parasite", "Bong Joon-ho", ("Parasite Planet",)),
        Film("Paddington", "", ("Paddington at Sea",)),
    ),
    series=(
        Series("The Wire", (7, 8, 6), ("The Wire: Behind the Desk",)),
        Series("Fleabag", (5, 6), ()),
        Series("Chernobyl", (6,), ("Chernobyl: The Lost Reels",)),
        Series("Detectorists", (6, 5, 7), ()),
        Series("Cowboy Bebop", (8, 9), ("Cowboy Bebop: The Radio Plays",)),
    ),
    sagas=(
        Saga("Indiana Jones", "Indiana Jones and the {} {}", (4, 6)),
        Saga("Mad Max", "Mad Max: {} {}", (3, 5)),
    ),
    companies=("Studio Ghibli", "Aardman Animations"),
    idle_companies=("Studio Ghibli Museum",),
)

# Entities that tasks compare or combine, and that need more than chance.

VETERAN = "Clint Eastwood"
"""The director who has a film to come."""

RIVALS = ("Akira Kurosawa", "Steven Spielberg")
"""Two directors with different numbers of films."""

COUPLE = ("Yui Aragaki", "Gen Hoshino")
"""Two actors: both, or only one, play in the film and in the show of the title below."""
COUPLES_TITLE = "We Married as Job"

AGED = ("Barbie", "Death Note")
"""A film and a show: the ages of its director and of its lead differ by the same years however one counts."""

RANKED = "Mulholland Drive"
"""A film near the tenth place of the best rated; its director also made television, perhaps the first season of ..."""
RANKED_PARTNER = "Twin Peaks"
"""... this show."""

SEQUELS = ("Avatar", "Avatar: The Way of Water")
"""A film and its sequel, which is rated higher and less popular."""
