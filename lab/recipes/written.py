"""Programs whose finished runs become recipes: what a user asked on a simulated API, and how a program fulfils it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

INPUT = "inputs[{}{}{}]"
"""The text by which a program names an input, with its two quotes."""


@dataclass(frozen=True, slots=True)
class Written:
    """A program over the functions of a world, with the inputs of its first run.

    `chooses` maps each function in whose answer the program looks for one named thing to the input with the name.
    `changes` is the number of changes that a run makes.
    """

    name: str
    world: str
    instruction: str
    code: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    chooses: Mapping[str, str] = field(default_factory=dict)
    changes: int = 0

    @property
    def literal(self) -> str:
        """The program as a model writes it: with the values themselves in place of the inputs."""
        code = self.code
        for name, value in self.inputs.items():
            for quote in "\"'":
                code = code.replace(INPUT.format(quote, name, quote), repr(value))
        return code

    @property
    def said(self) -> str:
        """The words of the user, with the values of the inputs."""
        return self.instruction.format(**self.inputs)


_TOY = (
    Written(
        "project-with-tasks",
        "toy",
        "Add the project {name} with the tasks {first} and {second}, both for {person}.",
        """\
project = create_project(body={"name": inputs["name"]})
titles = [inputs["first"], inputs["second"]]
made = gather(*[create_task(project_id=project["id"], body={"title": title, "assignee": inputs["person"]})
                for title in titles])
print(f"Created {project['name']} with {len(made)} tasks: " + ", ".join(task["title"] for task in made))
""",
        {"name": "Roof garden", "first": "Buy soil", "second": "Order seeds", "person": "Emeka"},
        changes=3,
    ),
    Written(
        "add-task",
        "toy",
        "Add the task {title} of {hours} hours to the project {project}.",
        """\
project = one(rows(list_projects()), name=inputs["project"])
task = create_task(project_id=project["id"], body={"title": inputs["title"], "hours": inputs["hours"]})
print(f"Added {task['title']} to {project['name']}.")
""",
        {"title": "Wax the counter", "hours": 7, "project": "Seed library"},
        {"list_projects": "project"},
        changes=1,
    ),
    Written(
        "finish-task",
        "toy",
        "Mark the task {title} as done.",
        """\
found = find_tasks(text=inputs["title"])["items"]
task = update_task(task_id=found[0]["id"], body={"done": True})
print(f"{task['title']} is done.")
""",
        {"title": "Check the shelves"},
        {"find_tasks": "title"},
        changes=1,
    ),
    Written(
        "hand-over",
        "toy",
        "Give the task {title} to {person} and set it to {hours} hours.",
        """\
task = one(rows(find_tasks(text=inputs["title"])), title=inputs["title"])
changed = update_task(task_id=task["id"], body={"assignee": inputs["person"], "hours": inputs["hours"]})
print(f"{changed['title']} now belongs to {changed['assignee']}: {changed['hours']} hours.")
""",
        {"title": "Review the cables", "person": "Dalia", "hours": 41},
        {"find_tasks": "title"},
        changes=1,
    ),
    Written(
        "drop-task",
        "toy",
        "Delete the task {title}.",
        """\
items = find_tasks(text=inputs["title"])["items"]
delete_task(task_id=items[0]["id"])
print(f"Deleted {items[0]['title']}.")
""",
        {"title": "Draft the tickets"},
        {"find_tasks": "title"},
        changes=1,
    ),
    Written(
        "new-owner",
        "toy",
        "Let {person} own the project {project}.",
        """\
for project in list_projects()["items"]:
    if project["name"] == inputs["project"]:
        changed = update_project(project_id=project["id"], body={"owner": inputs["person"]})
        print(f"{changed['owner']} owns {changed['name']}.")
""",
        {"person": "Chandra", "project": "Harbour lights"},
        {"list_projects": "project"},
        changes=1,
    ),
    Written(
        "more-hours",
        "toy",
        "Give every open task of {project} {hours} hours more.",
        """\
project = one(list_projects()["items"], name=inputs["project"])
tasks = [task for task in rows(list_project_tasks(project_id=project["id"], pages=20)) if not task["done"]]
gather(*[update_task(task_id=task["id"], body={"hours": task["hours"] + inputs["hours"]}) for task in tasks])
print(f"Gave {len(tasks)} tasks of {project['name']} {inputs['hours']} hours more.")
""",
        {"project": "Harbour lights", "hours": 2},
        {"list_projects": "project"},
        changes=4,
    ),
    Written(
        "move-task",
        "toy",
        "Move the task {title} to the project {project}.",
        """\
task, project = gather(find_tasks(text=inputs["title"]), list_projects())
task = task["items"][0]
place = next(item for item in project["items"] if item["name"] == inputs["project"])
moved = update_task(task_id=task["id"], body={"project_id": place["id"], "notes": "Moved."})
print(f"Moved {moved['title']} to {place['name']}.")
""",
        {"title": "Order the tickets", "project": "Seed library"},
        {"find_tasks": "title", "list_projects": "project"},
        changes=1,
    ),
    Written(
        "copy-project",
        "toy",
        "Make the project {name} with the open tasks of {project}.",
        """\
old = one(rows(list_projects()), name=inputs["project"])
tasks = [task for task in rows(list_project_tasks(project_id=old["id"])) if not task["done"]]
new = create_project(body={"name": inputs["name"], "owner": old["owner"]})
for task in tasks:
    create_task(project_id=new["id"], body={"title": task["title"], "hours": task["hours"]})
print(f"Copied {len(tasks)} tasks of {old['name']} to {new['name']}.")
""",
        {"name": "Harbour lights again", "project": "Harbour lights"},
        {"list_projects": "project"},
        changes=5,
    ),
    Written(
        "work-of-person",
        "toy",
        "How many hours of work does {person} still have?",
        """\
tasks = rows(find_tasks(assignee=inputs["person"], done=False, pages=20))
print(f"{inputs['person']} has {sum(task['hours'] for task in tasks)} hours in {len(tasks)} tasks.")
""",
        {"person": "Chandra"},
    ),
    Written(
        "owner-of-task",
        "toy",
        "Who owns the project that has the task {title}?",
        """\
task = find_tasks(text=inputs["title"])["items"][0]
project = get_project(project_id=task["project_id"])
print(f"{task['title']} is in {project['name']}, which {project['owner']} owns.")
""",
        {"title": "Test the cables"},
        {"find_tasks": "title"},
    ),
    Written(
        "longest-task",
        "toy",
        "Which task of {project} takes longest?",
        """\
project = one(rows(list_projects()), name=inputs["project"])
tasks = rows(list_project_tasks(project_id=project["id"], pages=20))
longest = max(tasks, key=lambda task: task["hours"])
print(f"{longest['title']} takes {longest['hours']} hours.")
""",
        {"project": "Bridge survey"},
        {"list_projects": "project"},
    ),
)

_SPOTIFY = (
    Written(
        "new-playlist",
        "spotify",
        "Make the playlist {name} of the top songs of {artist}.",
        """\
artist = search(q=inputs["artist"], type=["artist"])["artists"]["items"][0]
tracks = list_artist_top_tracks(id=artist["id"], market="US")["tracks"]
playlist = create_playlist(user_id=get_my_profile()["id"], body={"name": inputs["name"]})
add_playlist_items(playlist_id=playlist["id"], body={"uris": [track["uri"] for track in tracks[:5]]})
print(f"Made {playlist['name']} of {len(tracks[:5])} songs of {artist['name']}.")
""",
        {"name": "Morning run", "artist": "Lana Del Rey"},
        {"search": "artist"},
        changes=2,
    ),
    Written(
        "follow-artist",
        "spotify",
        "Follow the artist {artist}.",
        """\
artist = search(q=inputs["artist"], type=["artist"], limit=5)["artists"]["items"][0]
follow(type="artist", ids=[artist["id"]])
print(f"Following {artist['name']}.")
""",
        {"artist": "Mariah Carey"},
        {"search": "artist"},
        changes=1,
    ),
    Written(
        "unfollow-artist",
        "spotify",
        "Do not follow {artist} any more.",
        """\
followed = list_followed_artists(type="artist", limit=50)["artists"]["items"]
artist = one(followed, name=inputs["artist"])
unfollow(type="artist", ids=[artist["id"]])
print(f"No longer following {artist['name']}.")
""",
        {"artist": "Whitney Houston"},
        {"list_followed_artists": "artist"},
        changes=1,
    ),
    Written(
        "describe-playlist",
        "spotify",
        "Give my playlist {playlist} the description {text} and make it private.",
        """\
playlist = one(rows(list_my_playlists(limit=50)), name=inputs["playlist"])
change_playlist_details(playlist_id=playlist["id"], body={"description": inputs["text"], "public": False})
print(f"Described {playlist['name']}.")
""",
        {"playlist": "My Rock", "text": "Loud songs."},
        {"list_my_playlists": "playlist"},
        changes=1,
    ),
    Written(
        "empty-playlist",
        "spotify",
        "Take all songs out of my playlist {playlist}.",
        """\
playlist = next(item for item in list_my_playlists()["items"] if item["name"] == inputs["playlist"])
items = list_playlist_items(playlist_id=playlist["id"], limit=50)["items"]
for item in items:
    remove_playlist_items(playlist_id=playlist["id"], body={"tracks": [{"uri": item["track"]["uri"]}]})
print(f"Took {len(items)} songs out of {playlist['name']}.")
""",
        {"playlist": "My R&B"},
        {"list_my_playlists": "playlist"},
        changes=3,
    ),
    Written(
        "save-newest",
        "spotify",
        "Save the newest album of {artist}.",
        """\
artist = rows(search(q=inputs["artist"], type=["artist"])["artists"])[0]
albums = list_artist_albums(id=artist["id"], include_groups=["album"], limit=50)["items"]
newest = max(albums, key=lambda album: album["release_date"])
save_albums(ids=[newest["id"]])
print(f"Saved {newest['name']} of {artist['name']}.")
""",
        {"artist": "The Beatles"},
        {"search": "artist"},
        changes=1,
    ),
    Written(
        "queue-song",
        "spotify",
        "Queue the most popular song of {artist} and set the volume to {volume}.",
        """\
artist = search(q=inputs["artist"], type=["artist"])["artists"]["items"][0]
track = list_artist_top_tracks(id=artist["id"], market="US")["tracks"][0]
add_to_queue(uri=track["uri"])
set_volume(volume_percent=inputs["volume"])
print(f"Queued {track['name']} at volume {inputs['volume']}.")
""",
        {"artist": "Whitney Houston", "volume": 35},
        {"search": "artist"},
        changes=2,
    ),
    Written(
        "save-playlist",
        "spotify",
        "Save the first {count} songs of my playlist {playlist}.",
        """\
playlist = one(rows(list_my_playlists()), name=inputs["playlist"])
items = rows(list_playlist_items(playlist_id=playlist["id"]))[:inputs["count"]]
gather(*[save_tracks(ids=[item["track"]["id"]]) for item in items])
print("Saved " + ", ".join(item["track"]["name"] for item in items) + ".")
""",
        {"playlist": "Folk After Dark", "count": 3},
        {"list_my_playlists": "playlist"},
        changes=3,
    ),
    Written(
        "repeat-mode",
        "spotify",
        "Set the repeat mode to {mode} on {device}.",
        """\
device = one(list_devices()["devices"], name=inputs["device"])
set_repeat_mode(state=inputs["mode"], device_id=device["id"])
print(f"{device['name']} repeats: {inputs['mode']}.")
""",
        {"mode": "context", "device": "My PC"},
        {"list_devices": "device"},
        changes=1,
    ),
    Written(
        "albums-of-artist",
        "spotify",
        "List the albums of {artist} by date.",
        """\
artist = search(q=inputs["artist"], type=["artist"])["artists"]["items"][0]
albums = rows(list_artist_albums(id=artist["id"], include_groups=["album"], limit=50))
for album in sorted(albums, key=lambda album: album["release_date"]):
    print(album["release_date"], album["name"])
""",
        {"artist": "Lana Del Rey"},
        {"search": "artist"},
    ),
    Written(
        "length-of-playlist",
        "spotify",
        "How many minutes does my playlist {playlist} take?",
        """\
playlist = one(rows(list_my_playlists(limit=50)), name=inputs["playlist"])
items = rows(list_playlist_items(playlist_id=playlist["id"], limit=50, pages=20))
minutes = sum(item["track"]["duration_ms"] for item in items) / 60000
print(f"{playlist['name']} takes {minutes:.1f} minutes.")
""",
        {"playlist": "Folk After Dark"},
        {"list_my_playlists": "playlist"},
    ),
)

_TMDB = (
    Written(
        "director",
        "tmdb",
        "Who directed {film}?",
        """\
film = search_movie(query=inputs["film"])["results"][0]
crew = movie_credits(movie_id=film["id"])["crew"]
print(", ".join(person["name"] for person in crew if person["job"] == "Director"))
""",
        {"film": "Parasite"},
        {"search_movie": "film"},
    ),
    Written(
        "runtime",
        "tmdb",
        "How long is {film}?",
        """\
film = rows(search_movie(query=inputs["film"]))[0]
details = movie_details(movie_id=film["id"])
print(f"{details['title']} takes {details['runtime']} minutes.")
""",
        {"film": "The Grand Budapest Hotel"},
        {"search_movie": "film"},
    ),
    Written(
        "birthday",
        "tmdb",
        "When and where was {person} born?",
        """\
person = search_person(query=inputs["person"])["results"][0]
details = person_details(person_id=person["id"])
print(f"{details['name']} was born on {details['birthday']} in {details['place_of_birth']}.")
""",
        {"person": "Quentin Tarantino"},
        {"search_person": "person"},
    ),
    Written(
        "headquarters",
        "tmdb",
        "Where does {company} have its headquarters?",
        """\
company = one(rows(search_company(query=inputs["company"])), name=inputs["company"])
print(company_details(company_id=company["id"])["headquarters"])
""",
        {"company": "Studio Ghibli"},
        {"search_company": "company"},
    ),
    Written(
        "guests",
        "tmdb",
        "Who are the guest stars of episode {episode} of season {season} of {show}?",
        """\
show = search_tv(query=inputs["show"])["results"][0]
found = tv_episode_credits(tv_id=show["id"], season_number=inputs["season"], episode_number=inputs["episode"])
print(", ".join(guest["name"] for guest in found["guest_stars"]) or "nobody")
""",
        {"show": "Fleabag", "season": 2, "episode": 4},
        {"search_tv": "show"},
    ),
    Written(
        "lead",
        "tmdb",
        "Who plays the lead in the newest film that {person} directed?",
        """\
person = search_person(query=inputs["person"])["results"][0]
films = [film for film in person_movie_credits(person_id=person["id"])["crew"] if film["job"] == "Director"]
newest = max(films, key=lambda film: film["release_date"])
cast = movie_credits(movie_id=newest["id"])["cast"]
print(f"{min(cast, key=lambda item: item['order'])['name']} in {newest['title']}.")
""",
        {"person": "Jane Campion"},
        {"search_person": "person"},
    ),
    Written(
        "two-ratings",
        "tmdb",
        "Which film has the higher rating, {one} or {other}?",
        """\
first, second = gather(search_movie(query=inputs["one"]), search_movie(query=inputs["other"]))
first, second = first["results"][0], second["results"][0]
better = first if first["vote_average"] > second["vote_average"] else second
print(f"{better['title']}: {better['vote_average']}.")
""",
        {"one": "Parasite", "other": "Paddington"},
    ),
    Written(
        "parts",
        "tmdb",
        "Which film of the {collection} collection came out last?",
        """\
collection = search_collection(query=inputs["collection"])["results"][0]
parts = collection_details(collection_id=collection["id"])["parts"]
last = max(parts, key=lambda part: part["release_date"])
print(f"{last['title']} ({last['release_date']}).")
""",
        {"collection": "Indiana Jones"},
        {"search_collection": "collection"},
    ),
    Written(
        "of-language",
        "tmdb",
        "Which shows in the language {language} have a rating of at least {rating}?",
        """\
shows = rows(discover_tv(with_original_language=inputs["language"], vote_average_gte=inputs["rating"]))
print(", ".join(show["name"] for show in shows[:2]))
""",
        {"language": "ja", "rating": 6},
    ),
    Written(
        "trending",
        "tmdb",
        "What kind of work is the most trending person of this {window} known for?",
        """\
person = trending(media_type="person", time_window=inputs["window"])["results"][0]
print(f"{person['name']}: {person_details(person_id=person['id'])['known_for_department']}.")
""",
        {"window": "week"},
    ),
)

WRITTEN = (*_TOY, *_SPOTIFY, *_TMDB)
"""All programs."""


def written_of(name: str) -> Written:
    """Return a program by its name; raises LookupError for another name."""
    found = next((item for item in WRITTEN if item.name == name), None)
    if found is None:
        raise LookupError(f"there is no program {name}; there are: {', '.join(item.name for item in WRITTEN)}")
    return found
