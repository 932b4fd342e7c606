"""The nouns of the small world: who lives there, what lies about, and where things happen."""

from .lexemes import Noun, english_with_s, french_plural


def _noun(
    english: str, french: str, gender: str, kinds: str, plural: str = "", french_many: str = ""
) -> Noun:
    head, *rest = french.split()
    return Noun(
        english=english,
        english_plural=plural or english_with_s(english),
        french=(head, *rest),
        french_plural=(french_many or french_plural(head), *rest),
        feminine=gender == "f",
        kinds=frozenset((english, *kinds.split())),
    )


# "owned" nouns take possessives, "unique" ones only "the", "he" and "she" can be taken up by that pronoun.
NOUNS = (
    _noun("cat", "chat", "m", "animal owned"),
    _noun("dog", "chien", "m", "animal owned"),
    _noun("horse", "cheval", "m", "animal owned"),
    _noun("mouse", "souris", "f", "animal", plural="mice"),
    _noun("bird", "oiseau", "m", "animal owned"),
    _noun("cow", "vache", "f", "animal owned"),
    _noun("rabbit", "lapin", "m", "animal owned"),
    _noun("fox", "renard", "m", "animal"),
    _noun("bear", "ours", "m", "animal"),
    _noun("frog", "grenouille", "f", "animal"),
    _noun("bee", "abeille", "f", "animal"),
    _noun("owl", "hibou", "m", "animal", french_many="hiboux"),
    _noun("hedgehog", "hérisson", "m", "animal"),
    _noun("elephant", "éléphant", "m", "animal"),
    _noun("donkey", "âne", "m", "animal owned"),
    _noun("squirrel", "écureuil", "m", "animal"),
    _noun("goat", "chèvre", "f", "animal owned"),
    _noun("boy", "garçon", "m", "person he"),
    _noun("girl", "fille", "f", "person she"),
    _noun("man", "homme", "m", "person he", plural="men"),
    _noun("woman", "femme", "f", "person she", plural="women"),
    _noun("child", "enfant", "m", "person owned", plural="children"),
    _noun("king", "roi", "m", "person he"),
    _noun("queen", "reine", "f", "person she"),
    _noun("grandmother", "grand-mère", "f", "person owned she", french_many="grands-mères"),
    _noun("sailor", "marin", "m", "person he"),
    _noun("witch", "sorcière", "f", "person she"),
    _noun("ball", "balle", "f", "thing owned"),
    _noun("book", "livre", "m", "thing owned"),
    _noun("letter", "lettre", "f", "thing owned"),
    _noun("hat", "chapeau", "m", "thing owned"),
    _noun("umbrella", "parapluie", "m", "thing owned"),
    _noun("key", "clé", "f", "thing owned"),
    _noun("flower", "fleur", "f", "thing owned"),
    _noun("violin", "violon", "m", "thing owned"),
    _noun("gift", "cadeau", "m", "thing owned"),
    _noun("lamp", "lampe", "f", "thing owned"),
    _noun("apple", "pomme", "f", "food owned"),
    _noun("potato", "pomme de terre", "f", "food owned"),
    _noun("cake", "gâteau", "m", "food owned"),
    _noun("egg", "œuf", "m", "food owned"),
    _noun("orange", "orange", "f", "food owned"),
    _noun("carrot", "carotte", "f", "food owned"),
    _noun("car", "voiture", "f", "vehicle owned"),
    _noun("train", "train", "m", "vehicle"),
    _noun("boat", "bateau", "m", "vehicle owned"),
    _noun("airplane", "avion", "m", "vehicle owned"),
    _noun("mat", "tapis", "m", "furniture owned"),
    _noun("table", "table", "f", "furniture owned"),
    _noun("chair", "chaise", "f", "furniture owned"),
    _noun("bed", "lit", "m", "furniture owned"),
    _noun("bench", "banc", "m", "furniture"),
    _noun("roof", "toit", "m", "building owned"),
    _noun("window", "fenêtre", "f", "building owned"),
    _noun("door", "porte", "f", "building owned"),
    _noun("tree", "arbre", "m", "plant"),
    _noun("garden", "jardin", "m", "place owned"),
    _noun("house", "maison", "f", "place owned"),
    _noun("kitchen", "cuisine", "f", "place owned"),
    _noun("forest", "forêt", "f", "place"),
    _noun("castle", "château", "m", "place owned"),
    _noun("village", "village", "m", "place owned"),
    _noun("school", "école", "f", "place owned"),
    _noun("station", "gare", "f", "place"),
    _noun("market", "marché", "m", "place"),
    _noun("lake", "lac", "m", "place"),
    _noun("church", "église", "f", "place"),
    _noun("beach", "plage", "f", "place"),
    _noun("windmill", "moulin à vent", "m", "place owned"),
    _noun("moon", "lune", "f", "sky unique"),
    _noun("sun", "soleil", "m", "sky unique"),
    _noun("star", "étoile", "f", "sky"),
)


def nouns_of(kinds: frozenset[str]) -> tuple[Noun, ...]:
    """The nouns that are of one of these kinds or bear one of these names."""
    return tuple(noun for noun in NOUNS if noun.kinds & kinds)
