#!/usr/bin/env python3
"""Make names/*.tsv: sentences with names, places, days, months and numbers, and what a translation must have of them.

    python make_names.py

25 sentences of one's own in three languages, each with four fillings, in a fixed order. Python's standard library is enough.
"""
from pathlib import Path

MEN = "Arvid Kwame Tormod Nikhil Cormac Jean-Luc Łukasz Søren Thiago Bogdan Emeka Rasmus Bakari Kolja Wendell Tomoki Gideon".split()
WOMEN = "Ronja Amara Dagny Saoirse Meera Anouk 민지 Ольга Ximena Solveig Noor Philippa Hedda Maëlle Imani Chinwe Aylin Mathilde Tamar".split()
SURNAMES = "Achterberg Okonkwo Lindqvist Varga Delacroix Nakagawa Steenkamp Whitfield Ferreira Kowalczyk Adeyemi".split()
# English, German, French
CITIES = [c.split("/") if "/" in c else [c] * 3 for c in """Berlin Munich/München/Munich Vienna/Wien/Vienne Rotterdam Venice/Venedig/Venise Kyoto Lisbon/Lissabon/Lisbonne
Boston Geneva/Genf/Genève Bordeaux Prague/Prag/Prague Nairobi Cologne/Köln/Cologne Copenhagen/Kopenhagen/Copenhague Busan Warsaw/Warschau/Varsovie
Tallinn Brussels/Brüssel/Bruxelles Oslo Seville/Sevilla/Séville Toronto Moscow/Moskau/Moscou Marseille""".split()]
# English, German, French, in French, from French
COUNTRIES = [c.split("/") for c in """Canada/Kanada/Canada/au Canada/du Canada|Sweden/Schweden/Suède/en Suède/de Suède|Japan/Japan/Japon/au Japon/du Japon
Italy/Italien/Italie/en Italie/d'Italie|Brazil/Brasilien/Brésil/au Brésil/du Brésil|Egypt/Ägypten/Égypte/en Égypte/d'Égypte
Poland/Polen/Pologne/en Pologne/de Pologne|Kenya/Kenia/Kenya/au Kenya/du Kenya|Greece/Griechenland/Grèce/en Grèce/de Grèce
Ireland/Irland/Irlande/en Irlande/d'Irlande|Morocco/Marokko/Maroc/au Maroc/du Maroc|Iceland/Island/Islande/en Islande/d'Islande
Hungary/Ungarn/Hongrie/en Hongrie/de Hongrie""".replace("\n", "|").split("|")]
DAYS = [d.split("/") for d in """Monday/Montag/lundi Tuesday/Dienstag/mardi Wednesday/Mittwoch/mercredi Thursday/Donnerstag/jeudi Friday/Freitag/vendredi
Saturday/Samstag/samedi Sunday/Sonntag/dimanche""".split()]
MONTHS = [m.split("/") for m in """January/Januar/janvier February/Februar/février March/März/mars April/April/avril June/Juni/juin July/Juli/juillet
September/September/septembre October/Oktober/octobre November/November/novembre December/Dezember/décembre""".split()]
NUMBERS = [17, 48, 23, 65, 150, 34, 92, 270, 19, 56, 81, 14, 430]
YEARS = [1974, 2003, 1988, 2016, 1961, 1999, 2011]
TIMES = [(8, 45), (6, 20), (9, 15), (7, 50), (11, 35)]

SENTENCES = [s.strip().split(" | ") for s in """
My name is {w} and I come from {k}. | Ich heiße {w} und komme aus {k}. | Je m'appelle {w} et je viens {k_from}.
{m} arrives in {c} on {d}. | {m} kommt am {d} in {c} an. | {m} arrive à {c} {d}.
Does {w} live in {c}? | Wohnt {w} in {c}? | Est-ce que {w} habite à {c} ?
The train to {c} leaves at {t}. | Der Zug nach {c} fährt um {t} Uhr ab. | Le train pour {c} part à {t}.
{m} is {n} years old. | {m} ist {n} Jahre alt. | {m} a {n} ans.
I have known {w} since {y}. | Ich kenne {w} seit {y}. | Je connais {w} depuis {y}.
Please call {m} before {d}. | Ruf bitte {m} vor {d} an. | Appelle {m} avant {d}, s'il te plaît.
{w} and {m} got married in {mo}. | {w} und {m} haben im {mo} geheiratet. | {w} et {m} se sont mariés en {mo}.
We flew from {c} to {c2}. | Wir sind von {c} nach {c2} geflogen. | Nous avons pris l'avion {c_from} à {c2}.
{m}'s brother works in {k}. | Der Bruder von {m} arbeitet in {k}. | Le frère {m_from} travaille {k_in}.
The meeting with Mr. {s} is on {d}. | Das Treffen mit Herrn {s} ist am {d}. | La réunion avec M. {s} est {d}.
It is {n} kilometres to {c}. | Es sind {n} Kilometer bis {c}. | {c} est à {n} kilomètres.
{w} was born on {day} {mo} {y}. | {w} wurde am {day}. {mo} {y} geboren. | {w} est née le {day} {mo} {y}.
Have you ever spent a winter in {k}? | Hast du schon einmal einen Winter in {k} verbracht? | As-tu déjà passé un hiver {k_in} ?
The hotel in {c} costs {n} euros a night. | Das Hotel in {c} kostet {n} Euro pro Nacht. | L'hôtel à {c} coûte {n} euros par nuit.
{m} gave {w} {n} roses. | {m} hat {w} {n} Rosen geschenkt. | {m} a offert {n} roses à {w}.
Every {d} {w} visits her grandmother. | Jeden {d} besucht {w} ihre Großmutter. | Chaque {d}, {w} rend visite à sa grand-mère.
Mrs. {s} wants to sell her house in {c}. | Frau {s} will ihr Haus in {c} verkaufen. | Mme {s} veut vendre sa maison à {c}.
Bus number {n} goes to {c}. | Der Bus Nummer {n} fährt nach {c}. | Le bus numéro {n} va à {c}.
In {mo} it is very hot in {k}. | Im {mo} ist es in {k} sehr heiß. | En {mo}, il fait très chaud {k_in}.
Who is {m} {s}? | Wer ist {m} {s}? | Qui est {m} {s} ?
{w} sings better than {m}. | {w} singt besser als {m}. | {w} chante mieux {m_than}.
I would like to book a room for {n} nights in {c}. | Ich möchte ein Zimmer für {n} Nächte in {c} buchen. | Je voudrais réserver une chambre pour {n} nuits à {c}.
On {d} {m} has to be in {c} at {t}. | Am {d} muss {m} um {t} Uhr in {c} sein. | {m} doit être à {c} {d} à {t}.
{w} moved to {k} in {y}. | {w} ist {y} nach {k} gezogen. | {w} a déménagé {k_in} en {y}.
""".strip().splitlines()]
LANGUAGES = ["en", "de", "fr"]


def elided(word, name):
    return f"{word[:-1]}'{name}" if name[0] in "AEIOUÉÈ" else f"{word} {name}"


def filling(number):
    """Values of all slots, for each language."""
    pick = lambda values, step=1: values[number * step % len(values)]
    hour, minute = pick(TIMES)
    slots = []
    for language in range(3):
        city, other = pick(CITIES)[language], pick(CITIES[::-1], 3)[language]
        country, man = pick(COUNTRIES), pick(MEN)
        slots.append({
            "m": man, "w": pick(WOMEN), "s": pick(SURNAMES), "c": city, "c2": other, "k": country[language],
            "k_in": country[3], "k_from": country[4], "c_from": elided("de", city), "m_from": elided("de", man),
            "m_than": elided("que", man), "d": pick(DAYS)[language], "mo": pick(MONTHS)[language], "n": str(pick(NUMBERS)),
            "day": str(13 + number % 16), "y": str(pick(YEARS)), "t": f"{hour} h {minute}" if language == 2 else f"{hour}:{minute}",
        })
    return slots, (hour, minute)


def required(slot, value, language, time):
    """A value and the forms in which it may come."""
    if slot == "t":
        hour, minute = time
        forms = [[f"{hour}:{minute}", f"{hour}.{minute}"], [f"{hour}:{minute}", f"{hour}.{minute}", f"{hour} Uhr {minute}", f"0{hour}:{minute}"],
                 [f"{hour} h {minute}", f"{hour}h{minute}", f"{hour}:{minute}", f"{hour} heures {minute}"]][language]
    elif slot == "d":
        low = value.lower()
        forms = [[value, value + "s"], [value, value + "s", low + "s", value + "morgen", value + "abend"], [value, value + "s"]][language]
    elif language == 1 and slot in ("m", "w", "s", "k", "c", "c2", "mo") and value[-1] not in "sxzß":
        forms = [value, value + "s"]
    else:
        forms = [value]
    return "/".join(dict.fromkeys(forms))


def main():
    folder = Path(__file__).parent / "names"
    folder.mkdir(exist_ok=True)
    for source, target in [(0, 1), (1, 0), (0, 2), (2, 0)]:
        lines = []
        for number in range(4 * len(SENTENCES)):
            sentence = SENTENCES[number % len(SENTENCES)]
            slots, time = filling(number)
            text = sentence[source].format(**slots[source])
            used = [slot for slot in ("m", "w", "s", "c", "c2", "k", "d", "mo", "n", "day", "y", "t") if "{" + slot + "}" in sentence[0]]
            words = [required(slot, slots[target][slot], target, time) for slot in used]
            lines.append(f"{text}\t{'|'.join(words)}\n")
        assert len({line.split("\t")[0] for line in lines}) == len(lines)
        (folder / f"{LANGUAGES[source]}-{LANGUAGES[target]}.tsv").write_text("".join(lines), encoding="utf-8")


main()
