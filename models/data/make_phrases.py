#!/usr/bin/env python3
"""Make en-de/phrases.tsv.gz: everyday words in plain sentences, because Tatoeba's English has few names of things.

    python make_phrases.py

Nouns with their gender stand in frames that fit their kind; adjectives and set phrases follow. Written for Wordloom, CC0 1.0.
Sentences of the test sets are left out. Python's standard library is enough. The same script makes the same file.
"""
import gzip
import random
import re
from pathlib import Path

# English = German (gender: m, f, n), plurals in brackets where frames use them
PLACES = """
cinema=Kino n;theatre=Theater n;museum=Museum n;library=Bibliothek f;bookshop=Buchhandlung f;bakery=Bäckerei f;butcher's=Metzgerei f;pharmacy=Apotheke f
supermarket=Supermarkt m;department store=Kaufhaus n;shopping centre=Einkaufszentrum n;market=Markt m;flower shop=Blumenladen m;hairdresser's=Friseursalon m
hotel=Hotel n;youth hostel=Jugendherberge f;restaurant=Restaurant n;café=Café n;pub=Kneipe f;bar=Bar f;canteen=Kantine f;kitchen=Küche f;bathroom=Badezimmer n
bedroom=Schlafzimmer n;living room=Wohnzimmer n;garage=Garage f;cellar=Keller m;garden=Garten m;balcony=Balkon m;office=Büro n;factory=Fabrik f;warehouse=Lager n
school=Schule f;university=Universität f;kindergarten=Kindergarten m;classroom=Klassenzimmer n;church=Kirche f;cathedral=Dom m;mosque=Moschee f;castle=Schloss n
town hall=Rathaus n;police station=Polizeiwache f;fire station=Feuerwache f;hospital=Krankenhaus n;doctor's surgery=Arztpraxis f;embassy=Botschaft f;bank=Bank f
post office=Post f;railway station=Bahnhof m;underground station=U-Bahn-Station f;bus stop=Bushaltestelle f;airport=Flughafen m;harbour=Hafen m;car park=Parkplatz m
petrol station=Tankstelle f;bridge=Brücke f;tunnel=Tunnel m;motorway=Autobahn f;crossroads=Kreuzung f;traffic lights=Ampel f;pedestrian zone=Fußgängerzone f;park=Park m
playground=Spielplatz m;swimming pool=Schwimmbad n;stadium=Stadion n;gym=Fitnessstudio n;zoo=Zoo m;beach=Strand m;lake=See m;forest=Wald m;village=Dorf n;city centre=Innenstadt f
tourist office=Touristeninformation f;left-luggage office=Gepäckaufbewahrung f;lift=Aufzug m;entrance=Eingang m;exit=Ausgang m;waiting room=Wartezimmer n;reception=Rezeption f
laundrette=Waschsalon m;gallery=Galerie f;opera house=Opernhaus n;farm=Bauernhof m;courthouse=Gericht n;prison=Gefängnis n;ticket office=Fahrkartenschalter m;platform=Bahnsteig m
"""
THINGS = """
ticket=Fahrkarte f;map=Karte f;key=Schlüssel m;umbrella=Regenschirm m;suitcase=Koffer m;rucksack=Rucksack m;bag=Tasche f;wallet=Geldbeutel m;passport=Reisepass m;camera=Kamera f
phone=Handy n;laptop=Laptop m;computer=Computer m;printer=Drucker m;screen=Bildschirm m;keyboard=Tastatur f;charger=Ladegerät n;battery=Batterie f;headphones case=Kopfhörertasche f
lamp=Lampe f;candle=Kerze f;chair=Stuhl m;table=Tisch m;sofa=Sofa n;armchair=Sessel m;bed=Bett n;pillow=Kissen n;blanket=Decke f;wardrobe=Kleiderschrank m;shelf=Regal n;carpet=Teppich m
mirror=Spiegel m;clock=Uhr f;alarm clock=Wecker m;television=Fernseher m;radio=Radio n;fridge=Kühlschrank m;oven=Backofen m;washing machine=Waschmaschine f;vacuum cleaner=Staubsauger m
dishwasher=Geschirrspüler m;kettle=Wasserkocher m;frying pan=Pfanne f;saucepan=Topf m;knife=Messer n;fork=Gabel f;spoon=Löffel m;plate=Teller m;glass=Glas n;cup=Tasse f;bottle=Flasche f
towel=Handtuch n;toothbrush=Zahnbürste f;comb=Kamm m;pair of scissors=Schere f;hammer=Hammer m;ladder=Leiter f;screwdriver=Schraubenzieher m;bucket=Eimer m;broom=Besen m
pen=Stift m;pencil=Bleistift m;notebook=Heft n;dictionary=Wörterbuch n;newspaper=Zeitung f;magazine=Zeitschrift f;novel=Roman m;letter=Brief m;envelope=Briefumschlag m;stamp=Briefmarke f
parcel=Paket n;postcard=Postkarte f;present=Geschenk n;ring=Ring m;necklace=Halskette f;purse=Handtasche f;coat=Mantel m;jacket=Jacke f;dress=Kleid n;shirt=Hemd n;skirt=Rock m;pullover=Pullover m
hat=Hut m;scarf=Schal m;belt=Gürtel m;swimsuit=Badeanzug m;bicycle=Fahrrad n;helmet=Helm m;guitar=Gitarre f;violin=Geige f;piano=Klavier n;ball=Ball m;doll=Puppe f;tent=Zelt n;torch=Taschenlampe f
bandage=Verband m;plaster=Pflaster n;thermometer=Thermometer n;pair of glasses=Brille f;credit card=Kreditkarte f;receipt=Quittung f;invoice=Rechnung f;contract=Vertrag m;form=Formular n
timetable=Fahrplan m;menu=Speisekarte f;recipe=Rezept n;photo=Foto n;painting=Gemälde n;password=Passwort n;file=Datei f;message=Nachricht f;email=E-Mail f;website=Webseite f
"""
FOODS = """
bread=Brot n;roll=Brötchen n;butter=Butter f;cheese=Käse m;ham=Schinken m;sausage=Wurst f;egg=Ei n;soup=Suppe f;salad=Salat m;pizza=Pizza f;rice=Reis m;fish=Fisch m;chicken=Hähnchen n
beef=Rindfleisch n;pork=Schweinefleisch n;cake=Kuchen m;chocolate=Schokolade f;ice cream=Eis n;yoghurt=Joghurt m;honey=Honig m;jam=Marmelade f;sugar=Zucker m;salt=Salz n;pepper=Pfeffer m
milk=Milch f;coffee=Kaffee m;tea=Tee m;juice=Saft m;beer=Bier n;red wine=Rotwein m;mineral water=Mineralwasser n;lemonade=Limonade f;garlic=Knoblauch m;spinach=Spinat m;cabbage=Kohl m
"""
# singular and plural
COUNTED = """
apple,apples=Apfel m Äpfel;pear,pears=Birne f Birnen;banana,bananas=Banane f Bananen;orange,oranges=Orange f Orangen;lemon,lemons=Zitrone f Zitronen;cherry,cherries=Kirsche f Kirschen
strawberry,strawberries=Erdbeere f Erdbeeren;grape,grapes=Traube f Trauben;peach,peaches=Pfirsich m Pfirsiche;plum,plums=Pflaume f Pflaumen;nut,nuts=Nuss f Nüsse;peanut,peanuts=Erdnuss f Erdnüsse
potato,potatoes=Kartoffel f Kartoffeln;tomato,tomatoes=Tomate f Tomaten;onion,onions=Zwiebel f Zwiebeln;carrot,carrots=Karotte f Karotten;cucumber,cucumbers=Gurke f Gurken;mushroom,mushrooms=Pilz m Pilze
bean,beans=Bohne f Bohnen;pea,peas=Erbse f Erbsen;noodle,noodles=Nudel f Nudeln;biscuit,biscuits=Keks m Kekse;sandwich,sandwiches=Sandwich n Sandwiches;pancake,pancakes=Pfannkuchen m Pfannkuchen
cat,cats=Katze f Katzen;dog,dogs=Hund m Hunde;horse,horses=Pferd n Pferde;cow,cows=Kuh f Kühe;sheep,sheep=Schaf n Schafe;pig,pigs=Schwein n Schweine;rabbit,rabbits=Kaninchen n Kaninchen
bird,birds=Vogel m Vögel;duck,ducks=Ente f Enten;bee,bees=Biene f Bienen;butterfly,butterflies=Schmetterling m Schmetterlinge;spider,spiders=Spinne f Spinnen;snake,snakes=Schlange f Schlangen
shoe,shoes=Schuh m Schuhe;sock,socks=Socke f Socken;glove,gloves=Handschuh m Handschuhe;trouser,trousers=Hose f Hosen;boot,boots=Stiefel m Stiefel;flower,flowers=Blume f Blumen;tree,trees=Baum m Bäume
"""
PEOPLE = """
doctor=Arzt m;dentist=Zahnarzt m;nurse=Krankenschwester f;teacher=Lehrer m;student=Student m;engineer=Ingenieur m;lawyer=Anwalt m;judge=Richter m;journalist=Journalist m;baker=Bäcker m;cook=Koch m
waiter=Kellner m;waitress=Kellnerin f;hairdresser=Friseurin f;plumber=Klempner m;electrician=Elektriker m;carpenter=Tischler m;painter=Maler m;photographer=Fotograf m;musician=Musiker m
singer=Sängerin f;actor=Schauspieler m;actress=Schauspielerin f;writer=Schriftsteller m;scientist=Wissenschaftlerin f;programmer=Programmierer m;secretary=Sekretärin f;manager=Leiterin f
shop assistant=Verkäuferin f;farmer=Landwirt m;gardener=Gärtner m;pilot=Pilot m;flight attendant=Flugbegleiterin f;bus driver=Busfahrer m;taxi driver=Taxifahrer m;police officer=Polizist m
firefighter=Feuerwehrmann m;soldier=Soldat m;priest=Priester m;mayor=Bürgermeister m;vet=Tierärztin f;midwife=Hebamme f;pharmacist=Apothekerin f;architect=Architektin f;translator=Übersetzerin f
"""
MATTERS = """
climate change=Klimawandel m;artificial intelligence=künstliche Intelligenz f*;economy=Wirtschaft f;education=Bildung f;health=Gesundheit f;environment=Umwelt f;science=Wissenschaft f;technology=Technik f
government=Regierung f;parliament=Parlament n;election=Wahl f;law=Gesetz n;freedom=Freiheit f;justice=Gerechtigkeit f;peace=Frieden m;war=Krieg m;unemployment=Arbeitslosigkeit f;inflation=Inflation f
traffic=Verkehr m;weather=Wetter n;future=Zukunft f;internet=Internet n;language=Sprache f;music=Musik f;art=Kunst f;history=Geschichte f;culture=Kultur f;nature=Natur f;research=Forschung f
energy crisis=Energiekrise f;housing shortage=Wohnungsnot f;tax=Steuer f;budget=Haushalt m;meeting=Besprechung f;project=Projekt n;interview=Vorstellungsgespräch n;appointment=Termin m;exam=Prüfung f
"""

THE = {"m": "der", "f": "die", "n": "das"}
THE_ACC = {"m": "den", "f": "die", "n": "das"}
THE_DAT = {"m": "dem", "f": "der", "n": "dem"}
A = {"m": "ein", "f": "eine", "n": "ein"}
A_ACC = {"m": "einen", "f": "eine", "n": "ein"}
TO = {"m": "zum", "f": "zur", "n": "zum"}
IN_DAT = {"m": "im", "f": "in der", "n": "im"}
NO_ACC = {"m": "keinen", "f": "keine", "n": "kein"}

FRAMES = {
    "place": [
        ("Where is the {e}?", "Wo ist {the} {g}?"), ("Is there a {e} near here?", "Gibt es hier in der Nähe {a_acc} {g}?"),
        ("We are going to the {e} this afternoon.", "Wir gehen heute Nachmittag {to} {g}."), ("How do I get to the {e}?", "Wie komme ich {to} {g}?"),
        ("I will meet you in front of the {e}.", "Ich treffe dich vor {the_dat} {g}."), ("The {e} is closed on Sundays.", "{The} {g} ist sonntags geschlossen."),
        ("It's behind the {e}.", "Das ist hinter {the_dat} {g}."), ("Shall we go to the {e} tomorrow?", "Sollen wir morgen {to} {g} gehen?"),
        ("Turn left at the {e}.", "Biegen Sie an {the_dat} {g} links ab."), ("They are building a new {e}.", "Sie bauen {a_acc} neue{acc_end} {g}."),
        ("The {e} opens at nine o'clock.", "{The} {g} öffnet um neun Uhr."), ("I was at the {e} yesterday evening.", "Ich war gestern Abend {in_dat} {g}."),
    ],
    "thing": [
        ("I have forgotten my {e}.", "Ich habe {my_acc} {g} vergessen."), ("Have you seen my {e}?", "Hast du {my_acc} {g} gesehen?"), ("This is my {e}.", "Das ist {my} {g}."),
        ("I need a new {e}.", "Ich brauche {a_acc} neue{acc_end} {g}."), ("My {e} is broken.", "{My} {g} ist kaputt."), ("How much does the {e} cost?", "Wie viel kostet {the} {g}?"),
        ("She left her {e} on the train.", "Sie hat {her_acc} {g} im Zug liegen lassen."), ("Can I borrow your {e}, please?", "Kann ich mir bitte {your_acc} {g} ausleihen?"),
        ("He bought a {e} for his daughter.", "Er hat {a_acc} {g} für seine Tochter gekauft."), ("The {e} is on the table.", "{The} {g} ist auf dem Tisch."),
        ("I'm looking for the {e}.", "Ich suche {the_acc} {g}."), ("We don't have a {e}.", "Wir haben {no_acc} {g}."),
    ],
    "food": [
        ("I don't like {e}.", "Ich mag {no_acc} {g}."), ("Would you like some {e}?", "Möchten Sie etwas {g}?"), ("We need {e}.", "Wir brauchen {g}."), ("The {e} tastes good.", "{The} {g} schmeckt gut."),
        ("Is there any {e} left?", "Ist noch {g} da?"), ("The {e} is in the fridge.", "{The} {g} ist im Kühlschrank."), ("I'd like the {e}, please.", "Ich hätte gern {the_acc} {g}."),
    ],
    "counted": [
        ("I'm allergic to {es}.", "Ich bin gegen {gs} allergisch."), ("Do you like {es}?", "Magst du {gs}?"), ("We bought some {es}.", "Wir haben ein paar {gs} gekauft."), ("There are three {es} here.", "Hier sind drei {gs}."),
        ("She is afraid of {es}.", "Sie hat Angst vor {gs_dat}."), ("Where are the {es}?", "Wo sind die {gs}?"), ("The {es} are very expensive.", "Die {gs} sind sehr teuer."), ("I see a {e}.", "Ich sehe {a_acc} {g}."),
    ],
    "person": [
        ("My sister wants to become {art} {e}.", None), ("I have to call the {e}.", None), ("Is there {art} {e} here?", "Ist hier {a} {g}?"), ("The {e} will be with you soon.", "{The} {g} kommt gleich zu Ihnen."),
        ("The {e} was very friendly.", "{The} {g} war sehr freundlich."), ("I'm talking to the {e}.", None), ("We need {art} {e}.", None),
    ],
    "matter": [
        ("We talked about the {e}.", None), ("The {e} is important.", "{The} {g} ist wichtig."), ("Everybody is talking about the {e}.", None), ("The {e} will change our lives.", "{The} {g} wird unser Leben verändern."),
        ("What do you think about the {e}?", None), ("The {e} has changed a lot.", "{The} {g} hat sich sehr verändert."),
    ],
}

WEAK = {"Student", "Journalist", "Fotograf", "Pilot", "Polizist", "Soldat"}
UNCOUNTED = {"climate change", "artificial intelligence", "education", "health", "science", "technology", "freedom", "justice", "peace", "war", "unemployment", "inflation",
             "traffic", "music", "art", "history", "culture", "nature", "research"}

ADJECTIVES = """
tired=müde;hungry=hungrig;thirsty=durstig;ill=krank;healthy=gesund;happy=glücklich;sad=traurig;angry=wütend;nervous=nervös;bored=gelangweilt;busy=beschäftigt;late=spät dran;ready=bereit
surprised=überrascht;disappointed=enttäuscht;proud=stolz;jealous=eifersüchtig;grateful=dankbar;curious=neugierig;shy=schüchtern;polite=höflich;rude=unhöflich;honest=ehrlich;lazy=faul;brave=mutig
patient=geduldig;pregnant=schwanger;single=ledig;married=verheiratet;divorced=geschieden;vegetarian=Vegetarier
"""
QUALITIES = """
expensive=teuer;cheap=billig;beautiful=schön;ugly=hässlich;delicious=köstlich;spicy=scharf;bitter=bitter;sweet=süß;sour=sauer;fresh=frisch;heavy=schwer;light=leicht;dirty=schmutzig;clean=sauber
broken=kaputt;empty=leer;full=voll;loud=laut;quiet=leise;dangerous=gefährlich;safe=sicher;wet=nass;dry=trocken;soft=weich;hard=hart;narrow=schmal;wide=breit;deep=tief;famous=berühmt;boring=langweilig
exciting=aufregend;complicated=kompliziert;simple=einfach;useful=nützlich;useless=nutzlos;strange=seltsam;necessary=nötig;possible=möglich;impossible=unmöglich;free=kostenlos;sold out=ausverkauft
"""

PHRASES = """
Happy Easter!	Frohe Ostern!
Merry Christmas and a happy New Year!	Frohe Weihnachten und ein gutes neues Jahr!
Happy birthday, grandma!	Alles Gute zum Geburtstag, Oma!
All the best on your birthday!	Alles Gute zum Geburtstag!
It's my birthday today. - Happy birthday!	Ich habe heute Geburtstag. - Alles Gute zum Geburtstag!
Happy birthday to you!	Alles Gute zum Geburtstag!
Congratulations on your new job!	Herzlichen Glückwunsch zur neuen Stelle!
Enjoy your meal!	Guten Appetit!
Have a nice weekend!	Schönes Wochenende!
Have a safe journey!	Gute Reise!
Get well soon!	Gute Besserung!
Good luck with your exam!	Viel Erfolg bei der Prüfung!
Bless you!	Gesundheit!
Cheers!	Prost!
Sleep well!	Schlaf gut!
See you tomorrow!	Bis morgen!
See you later!	Bis später!
Take care of yourself!	Pass auf dich auf!
Nice to meet you.	Freut mich, Sie kennenzulernen.
How are you doing?	Wie geht es dir?
I'm fine, thank you. And you?	Mir geht es gut, danke. Und dir?
What does your father do for a living?	Was macht dein Vater beruflich?
What do you do for work?	Was machen Sie beruflich?
I work in an office.	Ich arbeite in einem Büro.
I'm from Scotland.	Ich komme aus Schottland.
Where do you come from?	Woher kommst du?
I come from a small town in Portugal.	Ich komme aus einer Kleinstadt in Portugal.
I was born in Norway and live in Munich.	Ich bin in Norwegen geboren und wohne in München.
The train from Cologne arrives on platform nine.	Der Zug aus Köln kommt auf Gleis neun an.
From which platform does the train to Hamburg leave?	Von welchem Gleis fährt der Zug nach Hamburg ab?
The bus to Munich leaves in ten minutes.	Der Bus nach München fährt in zehn Minuten ab.
A return ticket to Munich, please.	Eine Rückfahrkarte nach München, bitte.
A single ticket to Nuremberg, please.	Eine einfache Fahrt nach Nürnberg, bitte.
Is this the train to Munich?	Ist das der Zug nach München?
I'm flying to Munich on Friday.	Ich fliege am Freitag nach München.
Do I have to change trains?	Muss ich umsteigen?
The train is half an hour late.	Der Zug hat eine halbe Stunde Verspätung.
Our flight has been cancelled.	Unser Flug wurde gestrichen.
The concert was postponed until Saturday.	Das Konzert wurde auf Samstag verschoben.
Go straight ahead and then turn right.	Gehen Sie geradeaus und dann rechts.
Turn right at the next crossroads.	Biegen Sie an der nächsten Kreuzung rechts ab.
Go straight ahead for two hundred metres.	Gehen Sie zweihundert Meter geradeaus.
At the traffic lights you have to turn right.	An der Ampel müssen Sie rechts abbiegen.
It is on the left-hand side.	Es ist auf der linken Seite.
How far is it to the beach?	Wie weit ist es zum Strand?
Could you show me that on the map?	Könnten Sie mir das auf der Karte zeigen?
I'd like to reserve a table for four people.	Ich möchte einen Tisch für vier Personen reservieren.
I'd like to book a double room with a shower.	Ich möchte ein Doppelzimmer mit Dusche buchen.
Do you have a table by the window?	Haben Sie einen Tisch am Fenster?
A table for five, please.	Einen Tisch für fünf Personen, bitte.
What would you recommend?	Was können Sie empfehlen?
Do you have vegan dishes?	Haben Sie vegane Gerichte?
I don't eat meat. I'm a vegetarian.	Ich esse kein Fleisch. Ich bin Vegetarier.
This dish is too spicy for me.	Dieses Gericht ist mir zu scharf.
The dish of the day is fish with potatoes.	Das Tagesgericht ist Fisch mit Kartoffeln.
The bill, please.	Die Rechnung, bitte.
Can I pay by card?	Kann ich mit Karte zahlen?
Keep the change.	Stimmt so.
I'm allergic to milk.	Ich bin gegen Milch allergisch.
He has a nut allergy.	Er hat eine Nussallergie.
Does this contain nuts?	Sind da Nüsse drin?
I have a headache.	Ich habe Kopfschmerzen.
I have a toothache.	Ich habe Zahnschmerzen.
My stomach hurts.	Mir tut der Bauch weh.
She has a high temperature.	Sie hat hohes Fieber.
He has broken his arm.	Er hat sich den Arm gebrochen.
I need something for a cough.	Ich brauche etwas gegen Husten.
Take these tablets three times a day.	Nehmen Sie diese Tabletten dreimal am Tag.
Call the police!	Rufen Sie die Polizei!
Somebody call a doctor!	Jemand soll einen Arzt rufen!
There has been an accident.	Es ist ein Unfall passiert.
My bag has been stolen.	Meine Tasche wurde gestohlen.
My phone is not working any more.	Mein Handy funktioniert nicht mehr.
The screen of my computer is blank.	Der Bildschirm meines Computers ist schwarz.
The screen stays black.	Der Bildschirm bleibt schwarz.
The printer doesn't work any more.	Der Drucker funktioniert nicht mehr.
My computer is very slow.	Mein Computer ist sehr langsam.
The internet connection is bad here.	Die Internetverbindung ist hier schlecht.
I've forgotten my password.	Ich habe mein Passwort vergessen.
Please restart the computer.	Bitte starten Sie den Computer neu.
I'll send you the address by email.	Ich schicke dir die Adresse per E-Mail.
Please send the contract by post.	Bitte schicken Sie den Vertrag per Post.
Thank you for your email.	Vielen Dank für Ihre E-Mail.
Thank you very much for your letter.	Vielen Dank für Ihren Brief.
I am looking forward to your answer.	Ich freue mich auf Ihre Antwort.
Kind regards	Mit freundlichen Grüßen
Dear Mrs. Keller,	Sehr geehrte Frau Keller,
Artificial intelligence is developing quickly.	Die künstliche Intelligenz entwickelt sich schnell.
The company uses artificial intelligence.	Die Firma nutzt künstliche Intelligenz.
Artificial intelligence can translate texts.	Künstliche Intelligenz kann Texte übersetzen.
Many people are afraid of artificial intelligence.	Viele Menschen haben Angst vor künstlicher Intelligenz.
The way we live is changing.	Die Art, wie wir leben, verändert sich.
The internet has changed the way people talk to each other.	Das Internet hat die Art verändert, wie Menschen miteinander reden.
The government wants to fight climate change.	Die Regierung will den Klimawandel bekämpfen.
The minister announced higher taxes.	Der Minister kündigte höhere Steuern an.
The company announced a new product.	Die Firma kündigte ein neues Produkt an.
The president announced new rules for schools.	Der Präsident kündigte neue Regeln für Schulen an.
Parliament has passed a law against noise.	Das Parlament hat ein Gesetz gegen Lärm verabschiedet.
These measures are not enough.	Diese Maßnahmen reichen nicht aus.
The city is taking measures against the heat.	Die Stadt ergreift Maßnahmen gegen die Hitze.
What film is on at the cinema?	Welcher Film läuft im Kino?
We went to the cinema last night.	Wir waren gestern Abend im Kino.
Let's go to the cinema!	Lass uns ins Kino gehen!
Are you coming to the cinema with us?	Kommst du mit uns ins Kino?
They often go to the cinema.	Sie gehen oft ins Kino.
I'd rather go to the theatre.	Ich gehe lieber ins Theater.
Do you want to come along?	Willst du mitkommen?
I like listening to music.	Ich höre gern Musik.
I play football at the weekend.	Am Wochenende spiele ich Fußball.
It's raining cats and dogs.	Es regnet in Strömen.
It will be sunny tomorrow.	Morgen wird es sonnig.
It's twenty degrees outside.	Draußen sind es zwanzig Grad.
How do you say that in German?	Wie sagt man das auf Deutsch?
I only speak a little German.	Ich spreche nur ein bisschen Deutsch.
Could you speak more slowly, please?	Könnten Sie bitte langsamer sprechen?
Could you write that down for me?	Könnten Sie mir das aufschreiben?
Pay attention!	Pass auf!
Attention, the doors are closing!	Achtung, die Türen schließen!
Patience is all we need.	Geduld ist alles, was wir brauchen.
Attention is important in traffic.	Aufmerksamkeit ist im Verkehr wichtig.
Children need attention.	Kinder brauchen Aufmerksamkeit.
Everything we need is in the car.	Alles, was wir brauchen, ist im Auto.
The rent is too high.	Die Miete ist zu hoch.
We are looking for a flat with three rooms.	Wir suchen eine Wohnung mit drei Zimmern.
The heating isn't working.	Die Heizung funktioniert nicht.
Could you open the window, please?	Könnten Sie bitte das Fenster öffnen?
The washing machine is broken again.	Die Waschmaschine ist schon wieder kaputt.
May I try this on?	Darf ich das anprobieren?
Do you have this in a bigger size?	Haben Sie das eine Nummer größer?
I'm just looking, thank you.	Ich sehe mich nur um, danke.
Where are the changing rooms?	Wo sind die Umkleidekabinen?
I'd like to exchange this jacket.	Ich möchte diese Jacke umtauschen.
The meeting starts at half past nine.	Die Besprechung beginnt um halb zehn.
It's a quarter to eight.	Es ist Viertel vor acht.
It's ten past three.	Es ist zehn nach drei.
I've been waiting for an hour.	Ich warte schon seit einer Stunde.
She has been learning German for two years.	Sie lernt seit zwei Jahren Deutsch.
We have lived here for ten years.	Wir wohnen seit zehn Jahren hier.
If I had more time, I would read more.	Wenn ich mehr Zeit hätte, würde ich mehr lesen.
If he had asked me, I would have helped him.	Wenn er mich gefragt hätte, hätte ich ihm geholfen.
A neural network learns from examples.	Ein neuronales Netz lernt aus Beispielen.
This network translates sentences.	Dieses Netz übersetzt Sätze.
The model has learned from many texts.	Das Modell hat aus vielen Texten gelernt.
The software translates every word.	Die Software übersetzt jedes Wort.
The app shows the way.	Die App zeigt den Weg.
Please download the new version.	Bitte laden Sie die neue Version herunter.
The update takes five minutes.	Das Update dauert fünf Minuten.
"""


def nouns(text):
    for entry in filter(None, (part.strip() for line in text.strip().splitlines() for part in line.split(";"))):
        english, german = entry.split("=")
        yield english, german


def capital(text):
    return text[0].upper() + text[1:]


def article(english):
    return "an" if english[0].lower() in "aeiou" and not english.startswith(("uni", "one", "U-")) else "a"


def dative(plural):
    return plural if plural.endswith(("n", "s")) else plural + "n"


def possessive(word, gender, accusative):
    return word + ("en" if gender == "m" and accusative else "e" if gender == "f" else "")


def filled(frame, english, german, gender, plurals=("", "")):
    source, target = frame
    words = {
        "e": english, "g": german, "es": plurals[0], "gs": plurals[1], "gs_dat": dative(plurals[1]), "art": article(english),
        "the": THE[gender], "The": capital(THE[gender]), "the_acc": THE_ACC[gender], "the_dat": THE_DAT[gender], "a": A[gender], "a_acc": A_ACC[gender],
        "to": TO[gender], "in_dat": IN_DAT[gender], "no_acc": NO_ACC[gender], "acc_end": {"m": "n", "f": "", "n": "s"}[gender],
        "my": possessive("mein", gender, False), "My": capital(possessive("mein", gender, False)), "my_acc": possessive("mein", gender, True),
        "her_acc": possessive("ihr", gender, True), "your_acc": possessive("dein", gender, True),
    }
    source, target = source.format(**words), target.format(**words)
    if article(english) == "an":
        source = source.replace(f" a {english}", f" an {english}")
    return source, target.replace("an dem ", "am ")


def pairs():
    draw = random.Random(1)
    for kind, text, count in [("place", PLACES, 7), ("thing", THINGS, 6), ("food", FOODS, 5)]:
        for english, german in nouns(text):
            *word, gender = german.split(" ")
            for frame in draw.sample(FRAMES[kind], count):
                if english.startswith("pair of") and "new {e}" in frame[0]:
                    continue
                yield filled(frame, english, " ".join(word), gender)
    for english, german in nouns(COUNTED):
        one, many = english.split(",")
        word, gender, plural = german.split(" ")
        for frame in draw.sample(FRAMES["counted"], 6):
            if one == "trouser" and "{e}" in frame[0]:
                continue
            yield filled(frame, one, word, gender, (many, plural))
    for english, german in nouns(PEOPLE):
        word, gender = german.split(" ")
        weak = word + ("en" if word in WEAK and gender == "m" else "")
        if word == "Feuerwehrmann":
            female = "Feuerwehrfrau"
        elif gender == "f":
            female = word
        else:
            female = {"Arzt": "Ärztin", "Zahnarzt": "Zahnärztin", "Koch": "Köchin", "Anwalt": "Anwältin"}.get(word, word.removesuffix("e") + "in")
        yield f"My sister wants to become {article(english)} {english}.", f"Meine Schwester möchte {female} werden."
        yield f"I have to call the {english}.", f"Ich muss {THE_ACC[gender]} {weak} anrufen."
        yield f"We need {article(english)} {english}.", f"Wir brauchen {A_ACC[gender]} {weak}."
        for frame in FRAMES["person"]:
            if frame[1]:
                yield filled(frame, english, word, gender)
    for english, german in nouns(MATTERS):
        *word, gender = german.rstrip("*").split(" ")
        word = " ".join(word)
        the = "" if english in UNCOUNTED else "the "
        told = word if not german.endswith("*") else word
        yield f"We talked about {the}{english}.", f"Wir haben über {THE_ACC[gender]} {told} gesprochen."
        yield f"What do you think about {the}{english}?", f"Was denken Sie über {THE_ACC[gender]} {told}?"
        yield capital(f"{the}{english} is important."), f"{capital(THE[gender])} {word} ist wichtig."
        yield capital(f"{the}{english} will change our lives."), f"{capital(THE[gender])} {word} wird unser Leben verändern."
    for english, german in nouns(ADJECTIVES):
        yield f"I am {english}.", f"Ich bin {german}."
        yield f"Are you {english}?", f"Bist du {german}?"
        yield f"She was not {english}.", "Sie war keine Vegetarierin." if english == "vegetarian" else f"Sie war nicht {german}."
    for english, german in nouns(QUALITIES):
        yield f"That is very {english}." if english not in ("sold out", "broken", "free", "impossible") else f"That is {english}.", (
            f"Das ist sehr {german}." if english not in ("sold out", "broken", "free", "impossible") else f"Das ist {german}.")
        yield f"Is it {english}?", f"Ist es {german}?"
        yield f"It was too {english}." if english not in ("sold out", "broken", "free", "impossible", "possible") else f"It was {english}.", (
            f"Es war zu {german}." if english not in ("sold out", "broken", "free", "impossible", "possible") else f"Es war {german}.")
    for line in PHRASES.strip().splitlines():
        yield tuple(line.split("\t"))


def key(text):
    return " ".join(re.findall(r"\w+", text.lower()))


def tested(languages):
    """The sentences of the test sets, and one of those that are looked at by eye."""
    data = Path(__file__).parent / "../../tests/data"
    names = ["-".join(way) for way in (languages.split("-"), languages.split("-")[::-1])]
    files = ["tatoeba-test.tsv", "everyday/sentences.tsv", "news/sentences.tsv", *(f"names/{name}.tsv" for name in names)]
    cells = [cell for name in files for line in (data / name).read_text().splitlines() for cell in line.split("\t")]
    return {key(cell) for cell in [*cells, "I'm allergic to nuts."]}


def write(rows, languages, held_out):
    rows = [row for row in dict.fromkeys(rows) if not held_out.intersection(map(key, row))]
    out = Path(__file__).parent / languages / "phrases.tsv.gz"
    with open(out, "wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
        packed.write("".join(f"{source}\t{target}\n" for source, target in rows).encode())
    print(f"{len(rows)} pairs")


if __name__ == "__main__":
    write(pairs(), "en-de", tested("en-de"))
