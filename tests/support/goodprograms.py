"""Programs as a good model writes them for the worlds: loops, gather, one(), the greatest by a key, f-strings."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Good:
    """An instruction, a program that carries it out, and the values that become inputs, by their names."""

    world: str
    instruction: str
    code: str
    inputs: dict[str, Any]
    fixture: str | None = None


BIRTHDAY = Good(
    "tmdb",
    "On what day was Agnès Varda born?",
    """
people = search_person(query="Agnès Varda")["results"]
person = person_details(person_id=people[0]["id"])
print(f"Agnès Varda was born on {person['birthday']}.")
""",
    {"query": "Agnès Varda"},
)
COUNT = Good(
    "tmdb",
    "How many movies did Satyajit Ray direct?",
    """
person = one(search_person(query="Satyajit Ray"), name="Satyajit Ray")
credits = person_movie_credits(person_id=person["id"])
directed = [credit for credit in credits["crew"] if credit["job"] == "Director"]
print(f"{person['name']} directed {len(directed)} movies.")
""",
    {"query": "Satyajit Ray"},
)
HIGHER = Good(
    "tmdb",
    "Which movie has the higher rating, Parasite or Paddington?",
    """
titles = ["Parasite", "Paddington"]
found = gather(*[search_movie(query=title) for title in titles])
movies = [one(answer, title=title) for answer, title in zip(found, titles)]
best = max(movies, key=lambda movie: movie["vote_average"])
print(f"{best['title']} has the higher rating: {best['vote_average']}.")
""",
    {"titles": ["Parasite", "Paddington"]},
)
LEAD = Good(
    "tmdb",
    "Who plays the lead in the newest movie directed by Jane Campion?",
    """
person = rows(search_person(query="Jane Campion"))[0]
crew = person_movie_credits(person_id=person["id"])["crew"]
directed = [item for item in crew if item["job"] == "Director" and item.get("release_date")]
newest = max(directed, key=lambda item: item["release_date"])
cast = movie_credits(movie_id=newest["id"])["cast"]
lead = min(cast, key=lambda actor: actor["order"])
print(f"{lead['name']} plays the lead in {newest['title']}, the newest movie of Jane Campion.")
""",
    {"query": "Jane Campion"},
)
GUESTS = Good(
    "tmdb",
    "Name the guest stars of the fourth episode of season 2 of Fleabag.",
    """
show = rows(search_tv(query="Fleabag"))[0]
episode = tv_episode_credits(tv_id=show["id"], season_number=2, episode_number=4)
print(", ".join(guest["name"] for guest in episode["guest_stars"]))
""",
    {"query": "Fleabag", "season_number": 2},
)
TRENDING = Good(
    "tmdb",
    "Who is the most trending person of this week?",
    """
people = trending(media_type="person", time_window="week")["results"]
print(people[0]["name"])
""",
    {},
)
SAVE_ALBUM = Good(
    "spotify",
    "Save the album Copper Weather by Kestrel Avenue.",
    """
found = search(q="album:Copper Weather artist:Kestrel Avenue", type="album")
album = found["albums"]["items"][0]
save_albums(ids=album["id"])
print(f"Saved {album['name']} by Kestrel Avenue.")
""",
    {"album": "Copper Weather", "artist": "Kestrel Avenue"},
)
RENAME = Good(
    "spotify",
    'Rename my playlist Long Drives to "Short Drives" and make it private.',
    """
playlist = one(list_my_playlists(), name="Long Drives")
change_playlist_details(playlist_id=playlist["id"], body={"name": "Short Drives", "public": False})
print("Renamed Long Drives to Short Drives and made it private.")
""",
    {"name": "Long Drives", "name2": "Short Drives"},
    fixture="studio",
)
VOLUME = Good(
    "spotify",
    "Set the volume to 35.",
    """
set_volume(volume_percent=35)
print("The volume is 35 now.")
""",
    {"volume_percent": 35},
)
KITCHEN = Good(
    "spotify",
    "Follow every artist on my playlist Kitchen Radio and save its first song in my library.",
    """
playlist = one(list_my_playlists(pages=20), name="Kitchen Radio")
items = list_playlist_items(playlist_id=playlist["id"], pages=20)["items"]
artists = list(dict.fromkeys(artist["id"] for item in items for artist in item["track"]["artists"]))
follow(type="artist", ids=",".join(artists))
save_tracks(ids=items[0]["track"]["id"])
print(f"Followed {len(artists)} artists and saved {items[0]['track']['name']}.")
""",
    {"name": "Kitchen Radio"},
    fixture="studio",
)
QUEUE = Good(
    "spotify",
    "Put the most popular song of Mirabel Anand at the end of my queue.",
    """
artist = search(q="artist:Mirabel Anand", type="artist", limit=1)["artists"]["items"][0]
tracks = list_artist_top_tracks(id=artist["id"], market="US")["tracks"]
best = max(tracks, key=lambda track: track["popularity"])
add_to_queue(uri=best["uri"])
print(f"Put {best['name']} by {artist['name']} into the queue.")
""",
    {"artist": "Mirabel Anand"},
)
GARDEN = Good(
    "toy",
    "Add a project Roof garden with the tasks Buy soil and Order seeds, both for Björn.",
    """
project = create_project(body={"name": "Roof garden"})
titles = ["Buy soil", "Order seeds"]
tasks = gather(*[create_task(project_id=project["id"], body={"title": title, "assignee": "Björn"}) for title in titles])
print(f"Created the project {project['name']} with {len(tasks)} tasks for Björn: {', '.join(titles)}.")
""",
    {"name": "Roof garden", "titles": ["Buy soil", "Order seeds"], "assignee": "Björn"},
)
GOOD = (BIRTHDAY, COUNT, HIGHER, LEAD, GUESTS, TRENDING, SAVE_ALBUM, RENAME, VOLUME, KITCHEN, QUEUE, GARDEN)
