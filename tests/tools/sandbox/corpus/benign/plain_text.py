#: lines of a text | page.txt
for line in data.splitlines():
    if line.startswith("Title:"):
        print(line.split(":", 1)[1].strip())
#> Annual report
#: numbers in a text | page.txt
import re
print([float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*\.?\d*", data)])
#> [12.5, 4310.0, 3.0, 1.0]
#: a CSV body | visitors.csv
import csv, io
rows = list(csv.DictReader(io.StringIO(data), delimiter=";"))
print(max(rows, key=lambda r: int(r["visitors"]))["day"], sum(int(r["visitors"]) for r in rows))
#> Wed 425
#: bytes that are not UTF-8 | latin.txt
print(type(data).__name__, data.startswith("Status: ok"), len(data.strip()))
#> str True 17
