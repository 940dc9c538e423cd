"""English words that make a difference, and those that make none."""

from __future__ import annotations


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _numbered(text: str, first: int = 0, step: int = 1) -> dict[str, str]:
    return {word: str(first + step * number) for number, word in enumerate(text.split())}


def _pairs(text: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    sides = [line.partition("|") for line in text.strip().splitlines()]
    return tuple((_set(one), _set(other)) for one, _, other in sides)


NEGATIONS = _set("""
no not never none nobody nothing neither nor without cannot except unless instead exclude excluding avoid
dont doesnt didnt isnt arent wasnt werent cant couldnt wont wouldnt shouldnt havent hasnt
""")

NUMBERS = {
    **_numbered("zero"),
    # "one" and "second" are more often something else.
    **_numbered("two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen", 2),
    **_numbered("sixteen seventeen eighteen nineteen", 16),
    **_numbered("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10),
    **_numbered("first", 1),
    **_numbered("third fourth fifth sixth seventh eighth ninth tenth", 3),
    **{word: word for word in _set("hundred thousand million billion half double twice triple dozen")},
}

OPPOSITES = _pairs("""
before | after since
increase increases increasing raise raising | decrease decreases decreasing reduce reducing
up higher highest above | down lower lowest below
more most max maximum | less least fewer fewest min minimum
largest biggest | smallest
longer longest | shorter shortest
older oldest | younger youngest newer newest
best | worst
enable enabling on activate | disable disabling off deactivate
open opening | close closing
start starting | stop stopping
allow allowing | block blocking forbid
add adding insert install installing | remove removing delete deleting uninstall uninstalling
buy buying | sell selling
import importing upload uploading | export exporting download downloading
encrypt encrypting encode encoding lock | decrypt decrypting decode decoding unlock
compress zip | decompress unzip
hot hotter warm heat | cold colder cool
win winning won | lose losing lost
borrow | lend
advantages pros benefits | disadvantages cons drawbacks
ascending | descending
left | right
male men man | female women woman
first earliest | last latest
safe | dangerous unsafe
include including | exclude excluding
push | pull
input inputs | output outputs
mother | father
north | south
east | west
gain | loss
client | server
yesterday | tomorrow
""")
"""Each side of a line against the other."""

DIRECTIONS = _set("""
to from into than before after over under by versus vs through onto against instead of with between for
""")
"""Where one of these is said, the order of other words matters."""

EMPTY = _set("""
a an the is are was were be been do does did how what which who whom whose when where why can could should
would will may might must i me my you your we our us it its he she they them their this that these those there
here and or but if so as at in on of for with about please tell explain say show give get got have has had any
some just really also then way ways best good
""")
"""Two questions may differ in these."""
