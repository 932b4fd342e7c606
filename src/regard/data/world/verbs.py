"""The verbs of the small world: what its inhabitants do, and to whom."""

from .function_words import (
    ABOVE,
    AROUND,
    AT,
    BEHIND,
    FROM,
    IN,
    IN_WATER,
    NEAR,
    ON,
    ON_FAR,
    QUIETLY,
    SLOWLY,
    STILL,
    TO,
    UNDER,
    WELL,
)
from .lexemes import Auxiliary, Manner, Preposition, Verb, english_with_s

_ANIMATE = "person animal"
_VISIBLE = "person animal thing vehicle sky castle lake church windmill tree house"
_MOVING = "person animal vehicle"
_LOST = "person animal thing food"


def _verb(
    english: str,
    past: str,
    french: str,
    *,
    auxiliary: Auxiliary = "avoir",
    subjects: str = _ANIMATE,
    objects: str = "",
    places: tuple[Preposition, ...] = STILL,
    place_chance: float = 0.5,
    manners: tuple[Manner, ...] = (),
    imperfect: tuple[str, str] | None = None,
    sudden: bool = False,
    mood: int = 0,
    third: str = "",
) -> Verb:
    base, _, particle = english.partition(" ")
    singular, plural, participle = french.split()
    return Verb(
        base=base,
        third=third or english_with_s(base),
        past=past,
        particle=particle,
        singular=singular,
        plural=plural,
        participle=participle,
        auxiliary=auxiliary,
        imperfect=imperfect,
        subjects=frozenset(subjects.split()),
        objects=frozenset(objects.split()),
        places=places,
        place_chance=place_chance,
        manners=manners,
        sudden=sudden,
        mood=mood,
    )


# fmt: off
INTRANSITIVE = (
    _verb("sleep", "slept", "dort dorment dormi", manners=(WELL, QUIETLY), place_chance=0.7),
    _verb("sing", "sang", "chante chantent chanté", manners=(WELL,), mood=1),
    _verb("dance", "danced", "danse dansent dansé", manners=(WELL, SLOWLY), mood=1),
    _verb("laugh", "laughed", "rit rient ri", sudden=True, mood=1, place_chance=0.2),
    _verb("smile", "smiled", "sourit sourient souri", sudden=True, mood=1, place_chance=0.2),
    _verb("cry", "cried", "pleure pleurent pleuré", sudden=True, mood=-1, place_chance=0.4),
    _verb("play", "played", "joue jouent joué", manners=(QUIETLY,), mood=1, place_chance=0.7),
    _verb("work", "worked", "travaille travaillent travaillé", subjects="person bee donkey horse dog",
          manners=(WELL, QUIETLY, SLOWLY), places=(IN, AT, NEAR, BEHIND)),
    _verb("swim", "swam", "nage nagent nagé", manners=(WELL, SLOWLY), places=(IN_WATER,)),
    _verb("walk", "walked", "marche marchent marché", manners=(SLOWLY, QUIETLY),
          places=(IN, BEHIND, NEAR, ON)),
    _verb("jump", "jumped", "saute sautent sauté", sudden=True, places=(ON, IN_WATER), place_chance=0.8),
    _verb("dream", "dreamed", "rêve rêvent rêvé", manners=(QUIETLY,)),
    _verb("disappear", "disappeared", "disparaît disparaissent disparu", subjects="person animal sky vehicle",
          manners=(SLOWLY,), places=(BEHIND,), sudden=True),
    _verb("shine", "shone", "brille brillent brillé", subjects="sky", places=(ABOVE, ON_FAR),
          place_chance=0.8),
)

REFLEXIVE = (
    _verb("sit", "sat", "assied asseyent assis", auxiliary="se", manners=(QUIETLY,), place_chance=0.95),
    _verb("wake up", "woke", "réveille réveillent réveillé", auxiliary="se", sudden=True,
          places=(IN, ON, UNDER, NEAR)),
    _verb("hide", "hid", "cache cachent caché", auxiliary="se", sudden=True, places=(IN, UNDER, BEHIND),
          place_chance=0.8),
    _verb("rest", "rested", "repose reposent reposé", auxiliary="se", manners=(QUIETLY,), place_chance=0.7),
    _verb("stop", "stopped", "arrête arrêtent arrêté", auxiliary="se", subjects=_MOVING, sudden=True,
          places=AROUND),
    _verb("fall asleep", "fell", "endort endorment endormi", auxiliary="se", sudden=True),
)

MOTION = (
    _verb("go", "went", "va vont allé", auxiliary="être", places=(TO,), place_chance=1.0),
    _verb("come", "came", "vient viennent venu", auxiliary="être", places=(FROM,), place_chance=1.0),
    _verb("return", "returned", "retourne retournent retourné", auxiliary="être", places=(TO,),
          place_chance=1.0),
    _verb("arrive", "arrived", "arrive arrivent arrivé", auxiliary="être", subjects=_MOVING, sudden=True,
          places=(AT,)),
    _verb("leave", "left", "part partent parti", auxiliary="être", subjects=_MOVING, sudden=True, places=(),
          place_chance=0.0),
    _verb("fall", "fell", "tombe tombent tombé", auxiliary="être", subjects="person animal thing food",
          sudden=True, places=(IN_WATER, ON, BEHIND, NEAR), place_chance=0.6, mood=-1),
    _verb("stay", "stayed", "reste restent resté", auxiliary="être", place_chance=1.0),
)

TRANSITIVE = (
    _verb("see", "saw", "voit voient vu", objects=_VISIBLE),
    _verb("hear", "heard", "entend entendent entendu", objects="person animal train airplane violin car"),
    _verb("eat", "ate", "mange mangent mangé", objects="food"),
    _verb("find", "found", "trouve trouvent trouvé", objects=_LOST),
    _verb("lose", "lost", "perd perdent perdu", subjects="person squirrel dog fox", objects="thing", mood=-1),
    _verb("love", "loved", "aime aiment aimé", objects="person animal food flower book violin lake moon sun",
          imperfect=("aimait", "aimaient"), place_chance=0.0, mood=1),
    _verb("look at", "looked", "regarde regardent regardé", objects=_VISIBLE),
    _verb("look for", "looked", "cherche cherchent cherché", objects=_LOST),
    _verb("listen to", "listened", "écoute écoutent écouté", objects="person bird owl frog violin"),
    _verb("wait for", "waited", "attend attendent attendu", objects="person animal vehicle letter"),
    _verb("follow", "followed", "suit suivent suivi", objects="person animal boat car train star",
          places=(IN, BEHIND)),
    _verb("draw", "drew", "dessine dessinent dessiné", subjects="person", objects=_VISIBLE),
    _verb("open", "opened", "ouvre ouvrent ouvert", subjects="person fox squirrel", place_chance=0.15,
          objects="door window letter book umbrella gift"),
    _verb("close", "closed", "ferme ferment fermé", subjects="person", place_chance=0.15,
          objects="door window book umbrella"),
    _verb("break", "broke", "casse cassent cassé", objects="lamp chair umbrella violin window egg", mood=-1),
    _verb("write", "wrote", "écrit écrivent écrit", subjects="person hedgehog owl", objects="letter book"),
    _verb("help", "helped", "aide aident aidé", objects="person animal", place_chance=0.3, mood=1),
    _verb("steal", "stole", "vole volent volé", subjects="sailor witch fox squirrel bear goat dog",
          objects="food thing", mood=-1),
    _verb("admire", "admired", "admire admirent admiré",
          objects="person animal moon star castle tree flower hat boat", place_chance=0.2),
    _verb("buy", "bought", "achète achètent acheté", subjects="person",
          objects="thing food vehicle horse dog", places=(AT, IN, NEAR), place_chance=0.4),
    _verb("carry", "carried", "porte portent porté",
          objects="ball book letter umbrella flower violin gift lamp food", places=(IN, NEAR, BEHIND)),
)

HAVE = _verb("have", "had", "a ont eu", objects="animal thing food car boat house garden", third="has",
             imperfect=("avait", "avaient"), place_chance=0.0)

GIVING = (
    _verb("give", "gave", "donne donnent donné", objects="thing food", place_chance=0.1, mood=1),
    _verb("show", "showed", "montre montrent montré", objects="thing animal vehicle", place_chance=0.15),
    _verb("bring", "brought", "apporte apportent apporté", objects="thing food", place_chance=0.1),
    _verb("sell", "sold", "vend vendent vendu", subjects="person", objects="thing food vehicle",
          places=(AT, IN), place_chance=0.3),
)

BE = _verb("be", "was", "est sont été", subjects="person animal thing vehicle",
           imperfect=("était", "étaient"), third="is", place_chance=0.0)

# fmt: on
VERBS = (*INTRANSITIVE, *REFLEXIVE, *MOTION, *TRANSITIVE, HAVE, *GIVING, BE)
