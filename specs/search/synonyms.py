"""Synonyms of everyday English, by which plain instructions meet the words of documents.

A line lists words that people use for one another. The list holds general English only: no names of products, and no
word because one document has it.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import cache

from restgpt.specs.search.stemmer import stems

LINES = """
access permission right role
account profile user
address street
allocate apply use
activity audit event feed history log
add append attach
add create insert new post
alarm alert notification
album collection
answer reply response
approve accept allow confirm
archive close hide
article page post
ask request
assign give grant
author creator owner
avatar icon image photo picture
backup snapshot
balance amount
ban block
bank account
basket cart
bill invoice
block restrict suspend
bookmark favorite favourite like save star
bug issue problem ticket
business company firm organization organisation team workspace
buy order purchase
cache flush purge clear
calendar event schedule
call phone telephone
cancel revoke terminate void
change edit modify update
channel conversation chat room
charge payment transaction
check verify validate test
child sub subordinate
choose select pick
city country location place region
clear empty reset
client contact customer
client customer consumer
clone copy duplicate fork
close complete finish resolve end
coworker colleague member user employee
comment note remark review
computer device host machine node server instance
confidential private secret
config configuration option preference setting
connect link
contact person
contain include hold
content body text
conversation discussion thread
cost fee price rate
count number total
coupon discount promotion voucher
cover art artwork poster thumbnail
crew cast credit
currency dollar euro money
date day time
deadline expiry expire due
deadline due
delete remove erase drop destroy
deny decline reject refuse
deploy release publish
describe detail info information
detach disconnect unlink
direct message dm im private
directory folder
disable deactivate off
disk drive volume storage
document file
domain site website
download export
draft unpublished
duplicate merge
edit revise
email mail
employee staff worker
enable activate on
episode show
error failure fault
expense cost spending
feedback review rating
file attachment
film movie video
find search lookup query
finish complete done
flag mark
follower subscriber
free available
friend follower
fresh recent latest newest new
genre category
goods item product
group team
guest visitor
guideline policy rule
headline title name
help support
hour time schedule
image photo picture
import upload
income revenue earning sale
invitation invite
issue task todo ticket
job run task
join enter
journal log
key credential password secret token
kick remove
kind type category
label tag
language locale translation
leave exit
library collection
limit quota
link url address
list playlist
lock protect
login signin session
mailing list audience
manager admin administrator
measure metric statistic stat usage
meeting appointment event
member people person user
message post
microblog status
mobile phone
money payment currency
move transfer
music song track audio
mute silence
name title
name rename
network lan vpc
new recent upcoming
note memo comment description
nudge reminder
ping notification alert
notice announcement
open reopen
order sort
outstanding unpaid overdue
paid payment
pause suspend hold
profit income earning loss
quiet mute silence snooze
pay payment
people person
performer artist
permission privilege scope
phase stage
piece part
pin stick
play stream watch
plan subscription
plugin extension addon app
popular trending top
power turn
presence online status
present current
price product rate
process top
project repository repo
promote elevate
public shared
pull request merge
quit stop leave
rank score rating vote
read get view see
reboot restart
receipt invoice payment
recommendation similar suggestion
recover restore undelete
redo retry rerun
refresh renew update
refund credit
register enroll signup
reminder notification
rename name
replace swap update
report analytics statistic summary
reset restore
resize scale
resource asset
restart reboot
resume unpause continue
return refund
reviewer approver
revision version
role permission
run execute start launch trigger
sale order
schedule timetable plan
score grade rating
screenshot capture image
section part
seller vendor supplier
send deliver
series show tv
share grant permission
shop store
show display view
sign signature
size capacity
soundtrack music
speed rate
sprint iteration
stage environment
start begin launch
state status condition health
stop halt kill end shutdown
subject topic
subscribe follow watch
subtitle caption
survey poll form
switch toggle
tax vat
teammate member user
template layout
theme style
thread topic discussion
trash recycle bin
turn set switch
undo revert rollback restore
unfollow unsubscribe
unlock release
upgrade update
user person people
username handle login
vacation leave absence
value amount
vendor supplier
video clip
watcher subscriber
webhook hook callback
whiteboard board
"""


@cache
def synonyms() -> Mapping[str, frozenset[str]]:
    """Map the stem of a word to the stems of the words that people use for it."""
    found: dict[str, set[str]] = defaultdict(set)
    for line in LINES.strip().splitlines():
        group = set(stems(line))
        for one in group:
            found[one] |= group - {one}
    return {one: frozenset(others) for one, others in found.items()}
