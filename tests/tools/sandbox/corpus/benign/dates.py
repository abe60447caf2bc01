#: strptime and strftime | movies
from datetime import datetime
for m in data["results"][:2]:
    d = datetime.strptime(m["release_date"], "%Y-%m-%d")
    print(d.strftime("%d %B %Y (%A)"), d.timetuple().tm_yday)
#> 14 April 2023 (Friday) 104
#> 03 November 2021 (Wednesday) 307
#: the latest release | movies
dated = [m for m in data["results"] if m["release_date"]]
print(max(dated, key=lambda m: m["release_date"])["title"])
#> Orbit 9
#: fromisoformat and differences | issues
from datetime import datetime, timezone
for issue in data:
    if issue["closed_at"]:
        start = datetime.fromisoformat(issue["created_at"].replace("Z", "+00:00"))
        end = datetime.fromisoformat(issue["closed_at"].replace("Z", "+00:00"))
        print(issue["number"], (end - start).days, (end - start).total_seconds())
#> 11 42 3678890.0
#> 7 1 86400.0
#: older than a date | issues
import datetime as dt
limit = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)
print([i["number"] for i in data if dt.datetime.strptime(i["created_at"], "%Y-%m-%dT%H:%M:%S%z") < limit])
#> [11, 7, 3]
#: timestamps in UTC | shop
from datetime import datetime, timezone, timedelta
for o in data["orders"]:
    when = datetime.fromtimestamp(o["created"], tz=timezone.utc)
    print(o["id"], when.isoformat(), (when + timedelta(days=30)).date())
#> 9001 2024-01-01T00:00:00+00:00 2024-01-31
#> 9002 2024-02-01T00:00:00+00:00 2024-03-02
#> 9003 2024-03-01T00:00:00+00:00 2024-03-31
#: local time is UTC | shop
import time
from datetime import datetime
print(datetime.fromtimestamp(data["orders"][0]["created"]), time.strftime("%H:%M", time.localtime(0)))
#> 2024-01-01 00:00:00 00:00
#: time zones | weather
from datetime import datetime
from zoneinfo import ZoneInfo
zone = ZoneInfo(data["timezone"])
t = datetime.fromisoformat(data["hourly"]["time"][2]).replace(tzinfo=zone)
print(t.isoformat(), t.astimezone(ZoneInfo("America/New_York")).isoformat(), t.tzname())
#> 2024-05-01T12:00:00+02:00 2024-05-01T06:00:00-04:00 CEST
#: an unknown time zone | empty
import zoneinfo
try:
    zoneinfo.ZoneInfo("Mars/Olympus")
except zoneinfo.ZoneInfoNotFoundError as error:
    print("unknown", "Europe/Paris" in zoneinfo.available_timezones())
#> unknown True
#: calendar | empty
import calendar
print(tuple(map(int, calendar.monthrange(2024, 2))), calendar.month_name[5], calendar.isleap(2023), calendar.day_abbr[0])
#> (3, 29) May False Mon
#: HTTP dates | odd
from email.utils import parsedate_to_datetime
print(parsedate_to_datetime(data["date"]).isoformat())
#> 2015-10-21T07:28:00+00:00
#: durations as minutes | playlists
for p in data["items"]:
    ms = sum(e["track"]["duration_ms"] for e in p["tracks"]["items"] if e["track"])
    minutes, seconds = divmod(ms // 1000, 60)
    print(f"{p['name']}: {minutes}:{seconds:02d}")
#> Morning Run: 6:28
#> Deep Focus: 0:00
#> Party — 2024!: 9:00
#: now is after 2024 | empty
from datetime import datetime, date
import time
print(datetime.now().year >= 2024, date.today() > date(2024, 1, 1), time.time() > 1.7e9, time.perf_counter() > 0)
#> True True True True
#: ISO weeks | movies
from datetime import date
print(date.fromisoformat("2023-12-31").isocalendar()[:2], date(2020, 2, 29).replace(year=2024).weekday())
#> (2023, 52) 3
