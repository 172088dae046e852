#!/usr/bin/env python3
"""Make en-fr/phrases.tsv.gz: everyday words in plain sentences, dates, clock times and fixed phrases, as make_phrases.py does for German.

    python make_phrases_fr.py

Nouns stand in frames that fit their kind; articles, prepositions and adjectives agree with them. Verbs, numbers and set phrases follow.
Written for Wordloom, CC0 1.0. Sentences of the test sets are left out. Python's standard library is enough. The same script makes the same file.
"""
import random
import re

from make_phrases import article, capital, key, tested, write

# English = French (gender: m, f; p for a plural). "a/b" on the French side: forms of a man and of a woman.
INSTITUTIONS = """
cinema=cinéma m;theatre=théâtre m;museum=musée m;library=bibliothèque f;bookshop=librairie f;bakery=boulangerie f;butcher's=boucherie f;pharmacy=pharmacie f;supermarket=supermarché m
department store=grand magasin m;shopping centre=centre commercial m;grocery shop=épicerie f;flower shop=magasin de fleurs m;shoe shop=magasin de chaussures m
toy shop=magasin de jouets m;hotel=hôtel m;youth hostel=auberge de jeunesse f;restaurant=restaurant m;café=café m;canteen=cantine f;factory=usine f;school=école f
secondary school=lycée m;university=université f;nursery school=école maternelle f;church=église f;mosque=mosquée f;castle=château m;town hall=mairie f;police station=commissariat m
fire station=caserne de pompiers f;hospital=hôpital m;clinic=clinique f;embassy=ambassade f;consulate=consulat m;bank=banque f;post office=bureau de poste m;airport=aéroport m
petrol station=station-service f;swimming pool=piscine f;stadium=stade m;gym=salle de sport f;zoo=zoo m;tourist office=office de tourisme m;laundrette=laverie f
art gallery=galerie d'art f;opera house=opéra m;courthouse=tribunal m;pastry shop=pâtisserie f;cheese shop=fromagerie f;jeweller's=bijouterie f;stationer's=papeterie f
hairdressing salon=salon de coiffure m;nightclub=boîte de nuit f;travel agency=agence de voyages f;ice rink=patinoire f
"""
SPOTS = """
bridge=pont m;tower=tour f;fountain=fontaine f;statue=statue f;roundabout=rond-point m;crossroads=carrefour m;bus stop=arrêt de bus m;underground station=station de métro f
railway station=gare f;harbour=port m;beach=plage f;lake=lac m;river=rivière f;forest=forêt f;park=parc m;market square=place du marché f;playground=terrain de jeux m;car park=parking m
cathedral=cathédrale f;farm=ferme f;city centre=centre-ville m;old town=vieille ville f;cemetery=cimetière m;campsite=camping m;motorway=autoroute f;waterfall=cascade f
lighthouse=phare m;mill=moulin m;taxi rank=station de taxis f;cycle path=piste cyclable f;island=île f;windmill=moulin à vent m;monument=monument m;botanical garden=jardin botanique m
border=frontière f;level crossing=passage à niveau m
"""
ROOMS = """
kitchen=cuisine f;bathroom=salle de bains f;bedroom=chambre f;living room=salon m;dining room=salle à manger f;office=bureau m;garage=garage m;cellar=cave f;attic=grenier m
corridor=couloir m;entrance hall=entrée f;waiting room=salle d'attente f;meeting room=salle de réunion f;classroom=salle de classe f;changing room=vestiaire m;lift=ascenseur m
stairwell=cage d'escalier f;guest room=chambre d'amis f;children's room=chambre des enfants f;workshop=atelier m;laundry room=buanderie f;staff room=salle des professeurs f
"""
CARRIED = """
key=clé f;umbrella=parapluie m;suitcase=valise f;rucksack=sac à dos m;bag=sac m;wallet=portefeuille m;passport=passeport m;camera=appareil photo m;phone=téléphone m
laptop=ordinateur portable m;charger=chargeur m;ticket=billet m;map=carte f;driving licence=permis de conduire m;identity card=carte d'identité f;credit card=carte de crédit f
watch=montre f;toothbrush=brosse à dents f;towel=serviette f;pen=stylo m;pencil=crayon m;notebook=cahier m;diary=agenda m;dictionary=dictionnaire m;book=livre m;newspaper=journal m
magazine=magazine m;parcel=colis m;necklace=collier m;bracelet=bracelet m;handbag=sac à main m;lighter=briquet m;torch=lampe de poche f;sleeping bag=sac de couchage m;tent=tente f
guitar=guitare f;violin=violon m;flute=flûte f;ball=ballon m;doll=poupée f;helmet=casque m;bicycle=vélo m;hairbrush=brosse à cheveux f;comb=peigne m;pencil case=trousse f
satchel=cartable m;tablet=tablette f;racket=raquette f;fishing rod=canne à pêche f
"""
FURNITURE = """
lamp=lampe f;chair=chaise f;table=table f;sofa=canapé m;armchair=fauteuil m;bed=lit m;mattress=matelas m;wardrobe=armoire f;bookcase=bibliothèque f;carpet=tapis m;mirror=miroir m
clock=horloge f;television=télévision f;radio=radio f;fridge=réfrigérateur m;freezer=congélateur m;oven=four m;cooker=cuisinière f;microwave=micro-ondes m
washing machine=machine à laver f;printer=imprimante f;tumble dryer=sèche-linge m;dishwasher=lave-vaisselle m;vacuum cleaner=aspirateur m;coffee machine=machine à café f
computer=ordinateur m;screen=écran m;keyboard=clavier m;piano=piano m;ladder=échelle f;lawnmower=tondeuse f;sewing machine=machine à coudre f;desk=bureau m;bench=banc m;shelf=étagère f
chest of drawers=commode f;bathtub=baignoire f;stove=poêle m;fan=ventilateur m
"""
UTENSILS = """
knife=couteau m;fork=fourchette f;spoon=cuillère f;teaspoon=petite cuillère f;plate=assiette f;glass=verre m;cup=tasse f;bowl=bol m;saucepan=casserole f;frying pan=poêle f
lid=couvercle m;jug=carafe f;bottle opener=décapsuleur m;corkscrew=tire-bouchon m;tin opener=ouvre-boîte m;salad bowl=saladier m;tray=plateau m;chopping board=planche à découper f
whisk=fouet m;sieve=passoire f;funnel=entonnoir m;teapot=théière f;hammer=marteau m;screwdriver=tournevis m;saw=scie f;drill=perceuse f;bucket=seau m;sponge=éponge f;broom=balai m
needle=aiguille f;ruler=règle f;rubber=gomme f;stapler=agrafeuse f;ashtray=cendrier m;vase=vase m;measuring jug=verre doseur m;ladle=louche f;dishcloth=torchon m;paintbrush=pinceau m
shovel=pelle f;watering can=arrosoir m;rake=râteau m
"""
CLOTHES = """
coat=manteau m;jacket=veste f;dress=robe f;shirt=chemise f;blouse=chemisier m;skirt=jupe f;jumper=pull m;T-shirt=tee-shirt m;hat=chapeau m;cap=casquette f;scarf=écharpe f;belt=ceinture f
tie=cravate f;swimsuit=maillot de bain m;suit=costume m;raincoat=imperméable m;dressing gown=peignoir m;waistcoat=gilet m;woolly hat=bonnet m;anorak=anorak m;apron=tablier m
headscarf=foulard m
"""
GARMENTS = """
shoes=chaussures f;boots=bottes f;socks=chaussettes f;gloves=gants m;sandals=sandales f;trainers=baskets f;slippers=pantoufles f;earrings=boucles d'oreilles f;tights=collants m
glasses=lunettes f;sunglasses=lunettes de soleil f;skis=skis m;ice skates=patins à glace m;curtains=rideaux m;headphones=écouteurs m
"""
FOODS = """
bread=pain m;butter=beurre m;cheese=fromage m;ham=jambon m;rice=riz m;fish=poisson m;chicken=poulet m;beef=bœuf m;pork=porc m;lamb=agneau m;chocolate=chocolat m;honey=miel m
jam=confiture f;sugar=sucre m;salt=sel m;pepper=poivre m;garlic=ail m;spinach=épinards mp;mustard=moutarde f;vinegar=vinaigre m;olive oil=huile d'olive f;cream=crème f;soup=soupe f
salad=salade f;flour=farine f;parsley=persil m;basil=basilic m;tuna=thon m;salmon=saumon m;meat=viande f;yoghurt=yaourt m;ice cream=glace f;cabbage=chou m;celery=céleri m
rhubarb=rhubarbe f;cinnamon=cannelle f;ginger=gingembre m;ketchup=ketchup m;mayonnaise=mayonnaise f;turkey=dinde f;veal=veau m
"""
DRINKS = """
coffee=café m;tea=thé m;milk=lait m;orange juice=jus d'orange m;apple juice=jus de pomme m;beer=bière f;red wine=vin rouge m;white wine=vin blanc m;mineral water=eau minérale f
lemonade=limonade f;hot chocolate=chocolat chaud m;cider=cidre m;alcohol=alcool m;herbal tea=tisane f;champagne=champagne m;tomato juice=jus de tomate m
"""
PRODUCE = """
apple,apples=pomme f;pear,pears=poire f;banana,bananas=banane f;orange,oranges=orange f;lemon,lemons=citron m;cherry,cherries=cerise f;strawberry,strawberries=fraise f
peach,peaches=pêche f;raspberry,raspberries=framboise f;plum,plums=prune f;apricot,apricots=abricot m;melon,melons=melon m;pineapple,pineapples=ananas m;fig,figs=figue f
walnut,walnuts=noix f;potato,potatoes=pomme de terre f;tomato,tomatoes=tomate f;onion,onions=oignon m;carrot,carrots=carotte f;cucumber,cucumbers=concombre m
mushroom,mushrooms=champignon m;leek,leeks=poireau m;aubergine,aubergines=aubergine f;courgette,courgettes=courgette f;radish,radishes=radis m;olive,olives=olive f;egg,eggs=œuf m
prawn,prawns=crevette f;oyster,oysters=huître f;chestnut,chestnuts=châtaigne f;biscuit,biscuits=biscuit m;mango,mangoes=mangue f;artichoke,artichokes=artichaut m
beetroot,beetroots=betterave f;green bean,green beans=haricot vert m;hazelnut,hazelnuts=noisette f;almond,almonds=amande f;mussel,mussels=moule f
"""
ANIMALS = """
cat,cats=chat m;dog,dogs=chien m;horse,horses=cheval m;cow,cows=vache f;sheep,sheep=mouton m;pig,pigs=cochon m;rabbit,rabbits=lapin m;goat,goats=chèvre f;donkey,donkeys=âne m
hen,hens=poule f;duck,ducks=canard m;goose,geese=oie f;bird,birds=oiseau m;owl,owls=chouette f;bee,bees=abeille f;wasp,wasps=guêpe f;butterfly,butterflies=papillon m;fly,flies=mouche f
ant,ants=fourmi f;spider,spiders=araignée f;snake,snakes=serpent m;frog,frogs=grenouille f;tortoise,tortoises=tortue f;snail,snails=escargot m;mouse,mice=souris f
squirrel,squirrels=écureuil m;hedgehog,hedgehogs=hérisson m;fox,foxes=renard m;wolf,wolves=loup m;bear,bears=ours m;deer,deer=cerf m;monkey,monkeys=singe m;elephant,elephants=éléphant m
lion,lions=lion m;tiger,tigers=tigre m;giraffe,giraffes=girafe f;dolphin,dolphins=dauphin m;whale,whales=baleine f;shark,sharks=requin m;seal,seals=phoque m;parrot,parrots=perroquet m
pigeon,pigeons=pigeon m;swan,swans=cygne m;bat,bats=chauve-souris f
"""
PEOPLE = """
doctor=médecin/médecin;dentist=dentiste/dentiste;nurse=infirmier/infirmière;teacher=professeur/professeure;lawyer=avocat/avocate;judge=juge/juge;journalist=journaliste/journaliste
engineer=ingénieur/ingénieure;baker=boulanger/boulangère;butcher=boucher/bouchère;cook=cuisinier/cuisinière;waiter|waitress=serveur/serveuse;hairdresser=coiffeur/coiffeuse
plumber=plombier/plombière;electrician=électricien/électricienne;carpenter=menuisier/menuisière;painter=peintre/peintre;photographer=photographe/photographe;musician=musicien/musicienne
singer=chanteur/chanteuse;actor|actress=acteur/actrice;writer=écrivain/écrivaine;scientist=scientifique/scientifique;secretary=secrétaire/secrétaire;farmer=agriculteur/agricultrice
gardener=jardinier/jardinière;pilot=pilote/pilote;bus driver=conducteur de bus/conductrice de bus;police officer=policier/policière;firefighter=pompier/pompière;soldier=soldat/soldate
vet=vétérinaire/vétérinaire;pharmacist=pharmacien/pharmacienne;architect=architecte/architecte;translator=traducteur/traductrice;interpreter=interprète/interprète
shop assistant=vendeur/vendeuse;mechanic=mécanicien/mécanicienne;caretaker=gardien/gardienne;accountant=comptable/comptable;surgeon=chirurgien/chirurgienne;optician=opticien/opticienne
tailor|dressmaker=couturier/couturière;dancer=danseur/danseuse;guide=guide/guide;librarian=bibliothécaire/bibliothécaire
"""
FAMILY = """
brother=frère m;sister=sœur f;father=père m;mother=mère f;grandmother=grand-mère f;grandfather=grand-père m;uncle=oncle m;aunt=tante f;cousin=cousine f;nephew=neveu m;niece=nièce f
son=fils m;daughter=fille f;husband=mari m;wife=femme f;mother-in-law=belle-mère f;father-in-law=beau-père m;sister-in-law=belle-sœur f;best friend=meilleure amie f;neighbour=voisin m
girlfriend=petite amie f;boss=patron m;colleague=collègue f;flatmate=colocataire m;godmother=marraine f;twin brother=frère jumeau m;fiancé=fiancé m
"""
BODY = """
head=tête f;throat=gorge f;back=dos m;stomach=ventre m;knee=genou m;shoulder=épaule f;arm=bras m;leg=jambe f;foot=pied m;hand=main f;elbow=coude m;neck=cou m;ankle=cheville f
wrist=poignet m;finger=doigt m;thumb=pouce m;ear=oreille f;hip=hanche f;jaw=mâchoire f;heel=talon m;big toe=gros orteil m
"""
ILLNESSES = """
a cold=un rhume=le rhume;the flu=la grippe=la grippe;a cough=une toux=la toux;a sore throat=mal à la gorge=le mal de gorge;a headache=mal à la tête=le mal de tête
toothache=mal aux dents=le mal de dents;hay fever=le rhume des foins=le rhume des foins;travel sickness=le mal des transports=le mal des transports
sunburn=un coup de soleil=les coups de soleil;diarrhoea=la diarrhée=la diarrhée;insect bites=des piqûres d'insectes=les piqûres d'insectes;backache=mal au dos=le mal de dos
a fever=de la fièvre=la fièvre;asthma=de l'asthme=l'asthme;insomnia=des insomnies=l'insomnie
"""
# with "the" where English has it
MATTERS = """
climate change=changement climatique m;artificial intelligence=intelligence artificielle f;the economy=économie f;education=éducation f;health=santé f;the environment=environnement m
science=science f;technology=technologie f;politics=politique f;the elections=élections fp;the new law=nouvelle loi f;freedom=liberté f;justice=justice f;peace=paix f
unemployment=chômage m;inflation=inflation f;the weather=météo f;the future=avenir m;the internet=internet m;music=musique f;art=art m;history=histoire f;literature=littérature f
culture=culture f;nature=nature f;research=recherche f;taxes=impôts mp;sport=sport m;the budget=budget m;the project=projet m;the exam=examen m;the holidays=vacances fp
animal protection=protection des animaux f;public transport=transports en commun mp;cooking=cuisine f;cinema=cinéma m;advertising=publicité f;religion=religion f;philosophy=philosophie f
friendship=amitié f;love=amour m;fashion=mode f;tourism=tourisme m;pollution=pollution f;mathematics=mathématiques fp
"""
COUNTRIES = """
Spain=Espagne f;Italy=Italie f;Germany=Allemagne f;Belgium=Belgique f;Switzerland=Suisse f;Portugal=Portugal m;Greece=Grèce f;Austria=Autriche f;Poland=Pologne f;Hungary=Hongrie f
Norway=Norvège f;Sweden=Suède f;Denmark=Danemark m;Finland=Finlande f;Ireland=Irlande f;Scotland=Écosse f;England=Angleterre f;Turkey=Turquie f;Morocco=Maroc m;Tunisia=Tunisie f
Algeria=Algérie f;Egypt=Égypte f;Senegal=Sénégal m;Kenya=Kenya m;Canada=Canada m;Mexico=Mexique m;Brazil=Brésil m;Argentina=Argentine f;Chile=Chili m;Peru=Pérou m;Japan=Japon m
China=Chine f;India=Inde f;Vietnam=Vietnam m;Thailand=Thaïlande f;Australia=Australie f;New Zealand=Nouvelle-Zélande f;the United States=États-Unis mp;the Netherlands=Pays-Bas mp
Iceland=Islande f;Ukraine=Ukraine f;Romania=Roumanie f;Croatia=Croatie f
"""
LANGUAGES = """
French=français;German=allemand;Spanish=espagnol;Italian=italien;Portuguese=portugais;Dutch=néerlandais;Swedish=suédois;Polish=polonais;Russian=russe;Greek=grec;Turkish=turc;Arabic=arabe
Chinese=chinois;Japanese=japonais;Korean=coréen;Hungarian=hongrois;Danish=danois;Ukrainian=ukrainien;Latin=latin;Hebrew=hébreu
"""
CITIES = """
London=Londres;Brussels=Bruxelles;Geneva=Genève;Lisbon=Lisbonne;Rome=Rome;Vienna=Vienne;Athens=Athènes;Warsaw=Varsovie;Copenhagen=Copenhague;Venice=Venise;Barcelona=Barcelone
Munich=Munich;Cologne=Cologne;Hamburg=Hambourg;Edinburgh=Édimbourg;Antwerp=Anvers;Moscow=Moscou;Beijing=Pékin;Marseille=Marseille;Lyon=Lyon;Strasbourg=Strasbourg;Bordeaux=Bordeaux
Lille=Lille;Nantes=Nantes;Toulouse=Toulouse;Dublin=Dublin;Milan=Milan;Florence=Florence;Seville=Séville;Montreal=Montréal;Algiers=Alger;Bern=Berne;Basel=Bâle;Dunkirk=Dunkerque
Prague=Prague;Bruges=Bruges
"""
NAMES = "Aurélie Baptiste Capucine Damien Elodie Fabien Gaëlle Hugo Inès Jérémy Katell Léonie Maxime Noémie Octave Pauline Quentin Romane Sylvain Théo Ursule Valentin Wanda Yasmine Zacharie"
# adjectives of people; the feminine where it does not follow the rule
ADJECTIVES = """
tired=fatigué;ill=malade;happy=heureux;sad=triste;furious=furieux;nervous=nerveux;busy=occupé;ready=prêt;surprised=surpris;disappointed=déçu;proud=fier;jealous=jaloux,jalouse
grateful=reconnaissant;curious=curieux;shy=timide;polite=poli;rude=impoli;honest=honnête;lazy=paresseux;brave=courageux;patient=patient;single=célibataire;married=marié;divorced=divorcé
vegetarian=végétarien;worried=inquiet,inquiète;kind=gentil,gentille;serious=sérieux;funny=drôle;generous=généreux;stubborn=têtu;clumsy=maladroit;careful=prudent;rich=riche;poor=pauvre
young=jeune;strong=fort;weak=faible;satisfied=satisfait;lonely=seul;embarrassed=gêné;relieved=soulagé;exhausted=épuisé;talkative=bavard;creative=créatif;sporty=sportif
ambitious=ambitieux;punctual=ponctuel;optimistic=optimiste;injured=blessé;drunk=ivre;calm=calme;sensitive=sensible;elegant=élégant;discreet=discret,discrète;unbearable=insupportable
absent-minded=distrait;greedy=gourmand;independent=indépendant;sociable=sociable;naive=naïf
"""
# adjectives of things, each with a thing that it fits
QUALITIES = """
expensive=cher=watch=montre f;cheap=bon marché,bon marché=hotel=hôtel m;ugly=laid=statue=statue f;delicious=délicieux=soup=soupe f;spicy=épicé=sauce=sauce f;bitter=amer=coffee=café m
sweet=sucré=cake=gâteau m;sour=acide=orange=orange f;fresh=frais,fraîche=milk=lait m;heavy=lourd=suitcase=valise f;light=léger=bag=sac m;dirty=sale=floor=sol m
clean=propre=kitchen=cuisine f;empty=vide=bottle=bouteille f;full=plein=glass=verre m;noisy=bruyant=street=rue f;dangerous=dangereux=road=route f;safe=sûr=car=voiture f
wet=mouillé=towel=serviette f;dry=sec,sèche=bread=pain m;soft=doux,douce=skin=peau f;hard=dur=mattress=matelas m;narrow=étroit=staircase=escalier m;wide=large=river=rivière f
deep=profond=lake=lac m;famous=célèbre=song=chanson f;boring=ennuyeux=film=film m;exciting=passionnant=story=histoire f;complicated=compliqué=question=question f
simple=simple=recipe=recette f;useful=utile=app=application f;useless=inutile=machine=machine f;strange=étrange=letter=lettre f;necessary=nécessaire=repair=réparation f
old=vieux,vieille=house=maison f;new=nouveau,nouvelle=model=modèle m;big=grand=garden=jardin m;small=petit=room=chambre f;long=long,longue=list=liste f;short=court=skirt=jupe f
hot=chaud=water=eau f;cold=froid=tea=thé m;fast=rapide=train=train m;slow=lent=computer=ordinateur m;dark=sombre=cellar=cave f;bright=clair=flat=appartement m;round=rond=table=table f
square=carré=window=fenêtre f;flat=plat=roof=toit m;thick=épais,épaisse=book=livre m;thin=mince=blanket=couverture f;salty=salé=ham=jambon m;ripe=mûr=pear=poire f
rotten=pourri=apple=pomme f;sharp=tranchant=knife=couteau m;comfortable=confortable=armchair=fauteuil m;modern=moderne=kitchen=cuisine f;rare=rare=stamp=timbre m
valuable=précieux=necklace=collier m;fragile=fragile=vase=vase m;steep=raide=slope=pente f;quiet=calme=village=village m;sunny=ensoleillé=terrace=terrasse f
important=important=meeting=réunion f;official=officiel=document=document m;public=public,publique=garden=jardin m;private=privé=beach=plage f
"""
COLOURS = "red=rouge;blue=bleu;green=vert;yellow=jaune;black=noir;white=blanc,blanche;grey=gris;brown=marron,marron;pink=rose;purple=violet,violette"
# English: plain, past, participle; French: infinitive, participle (with "avoir")
VERBS = """
write a letter,wrote a letter,written a letter=écrire une lettre,écrit une lettre;read the newspaper,read the newspaper,read the newspaper=lire le journal,lu le journal
do the washing-up,did the washing-up,done the washing-up=faire la vaisselle,fait la vaisselle;tidy the room,tidied the room,tidied the room=ranger la chambre,rangé la chambre
make a cake,made a cake,made a cake=faire un gâteau,fait un gâteau;prepare dinner,prepared dinner,prepared dinner=préparer le dîner,préparé le dîner
lay the table,laid the table,laid the table=mettre la table,mis la table;have breakfast,had breakfast,had breakfast=prendre le petit déjeuner,pris le petit déjeuner
have lunch,had lunch,had lunch=déjeuner,déjeuné;have dinner,had dinner,had dinner=dîner,dîné;learn French,learnt French,learnt French=apprendre le français,appris le français
repair the bicycle,repaired the bicycle,repaired the bicycle=réparer le vélo,réparé le vélo;paint the wall,painted the wall,painted the wall=peindre le mur,peint le mur
wash the car,washed the car,washed the car=laver la voiture,lavé la voiture;mow the lawn,mowed the lawn,mowed the lawn=tondre la pelouse,tondu la pelouse
water the plants,watered the plants,watered the plants=arroser les plantes,arrosé les plantes;feed the cat,fed the cat,fed the cat=nourrir le chat,nourri le chat
walk the dog,walked the dog,walked the dog=promener le chien,promené le chien;iron the shirts,ironed the shirts,ironed the shirts=repasser les chemises,repassé les chemises
sell the house,sold the house,sold the house=vendre la maison,vendu la maison;rent a car,rented a car,rented a car=louer une voiture,loué une voiture
book a room,booked a room,booked a room=réserver une chambre,réservé une chambre;pay the bill,paid the bill,paid the bill=payer la facture,payé la facture
sign the contract,signed the contract,signed the contract=signer le contrat,signé le contrat
fill in the form,filled in the form,filled in the form=remplir le formulaire,rempli le formulaire;send the parcel,sent the parcel,sent the parcel=envoyer le colis,envoyé le colis
answer the question,answered the question,answered the question=répondre à la question,répondu à la question
call the doctor,called the doctor,called the doctor=appeler le médecin,appelé le médecin;visit the museum,visited the museum,visited the museum=visiter le musée,visité le musée
take a photo,took a photo,taken a photo=prendre une photo,pris une photo;take the bus,took the bus,taken the bus=prendre le bus,pris le bus
play football,played football,played football=jouer au football,joué au football;play cards,played cards,played cards=jouer aux cartes,joué aux cartes
play the piano,played the piano,played the piano=jouer du piano,joué du piano;sing a song,sang a song,sung a song=chanter une chanson,chanté une chanson;dance,danced,danced=danser,dansé
swim in the lake,swam in the lake,swum in the lake=nager dans le lac,nagé dans le lac;sleep in a tent,slept in a tent,slept in a tent=dormir dans une tente,dormi dans une tente
watch a film,watched a film,watched a film=regarder un film,regardé un film;listen to the radio,listened to the radio,listened to the radio=écouter la radio,écouté la radio
look for work,looked for work,looked for work=chercher du travail,cherché du travail;change jobs,changed jobs,changed jobs=changer de travail,changé de travail
move house,moved house,moved house=déménager,déménagé;plant a tree,planted a tree,planted a tree=planter un arbre,planté un arbre
catch a fish,caught a fish,caught a fish=attraper un poisson,attrapé un poisson;draw a horse,drew a horse,drawn a horse=dessiner un cheval,dessiné un cheval
open the window,opened the window,opened the window=ouvrir la fenêtre,ouvert la fenêtre;close the door,closed the door,closed the door=fermer la porte,fermé la porte
peel the potatoes,peeled the potatoes,peeled the potatoes=éplucher les pommes de terre,épluché les pommes de terre;cut the bread,cut the bread,cut the bread=couper le pain,coupé le pain
taste the sauce,tasted the sauce,tasted the sauce=goûter la sauce,goûté la sauce;wait for the bus,waited for the bus,waited for the bus=attendre le bus,attendu le bus
translate the text,translated the text,translated the text=traduire le texte,traduit le texte
print the tickets,printed the tickets,printed the tickets=imprimer les billets,imprimé les billets
install the program,installed the program,installed the program=installer le programme,installé le programme
wrap the presents,wrapped the presents,wrapped the presents=emballer les cadeaux,emballé les cadeaux;empty the bin,emptied the bin,emptied the bin=vider la poubelle,vidé la poubelle
pack the suitcases,packed the suitcases,packed the suitcases=faire les valises,fait les valises;try the dessert,tried the dessert,tried the dessert=goûter le dessert,goûté le dessert
organise a party,organised a party,organised a party=organiser une fête,organisé une fête
invite the neighbours,invited the neighbours,invited the neighbours=inviter les voisins,invité les voisins;win the match,won the match,won the match=gagner le match,gagné le match
quit smoking,quit smoking,quit smoking=arrêter de fumer,arrêté de fumer;work in the garden,worked in the garden,worked in the garden=travailler dans le jardin,travaillé dans le jardin
revise for the exam,revised for the exam,revised for the exam=réviser pour l'examen,révisé pour l'examen
do the shopping,did the shopping,done the shopping=faire les courses,fait les courses;cross the river,crossed the river,crossed the river=traverser la rivière,traversé la rivière
find a solution,found a solution,found a solution=trouver une solution,trouvé une solution
clean the windows,cleaned the windows,cleaned the windows=nettoyer les vitres,nettoyé les vitres;bake bread,baked bread,baked bread=faire du pain,fait du pain
pick cherries,picked cherries,picked cherries=cueillir des cerises,cueilli des cerises;tell a story,told a story,told a story=raconter une histoire,raconté une histoire
switch off the light,switched off the light,switched off the light=éteindre la lumière,éteint la lumière
turn on the heating,turned on the heating,turned on the heating=allumer le chauffage,allumé le chauffage
build a house,built a house,built a house=construire une maison,construit une maison;hang out the washing,hung out the washing,hung out the washing=étendre le linge,étendu le linge
"""

# set phrases, proverbs, signs
IDIOMS = """
Happy birthday! = Joyeux anniversaire !
Happy birthday, grandma! = Joyeux anniversaire, mamie !
Happy birthday, Dad! = Joyeux anniversaire, papa !
Merry Christmas! = Joyeux Noël !
Happy New Year! = Bonne année !
Merry Christmas and a happy New Year! = Joyeux Noël et bonne année !
Happy Easter! = Joyeuses Pâques !
Happy Mother's Day! = Bonne fête des mères !
Happy wedding anniversary! = Joyeux anniversaire de mariage !
Happy holidays! = Bonnes fêtes !
Best wishes for the new year! = Meilleurs vœux pour la nouvelle année !
Take care! = Prends soin de toi !
Take care of yourself! = Prenez soin de vous !
I miss you. = Tu me manques.
I miss you so much. = Tu me manques tellement.
Do you miss me? = Est-ce que je te manque ?
We missed you. = Tu nous as manqué.
She misses her parents. = Ses parents lui manquent.
I miss the sea. = La mer me manque.
Enjoy your meal! = Bon appétit !
Have a good day! = Bonne journée !
Have a nice evening! = Bonne soirée !
Have a nice weekend! = Bon week-end !
Have a good holiday! = Bonnes vacances !
Have a good trip! = Bon voyage !
Have a safe journey home! = Bon retour !
Drive carefully! = Soyez prudents sur la route !
Good luck with your exam! = Bonne chance pour ton examen !
Good luck! = Bonne chance !
Fingers crossed! = Croisons les doigts !
I'll keep my fingers crossed for you. = Je croise les doigts pour toi.
Good luck, everyone! = Bonne chance à tous !
Bless you! = À tes souhaits !
Cheers! = Santé !
To your health! = À votre santé !
To your success! = À ta réussite !
Congratulations! = Félicitations !
Congratulations on your new job! = Félicitations pour votre nouveau poste !
Congratulations on the birth of your daughter! = Toutes mes félicitations pour la naissance de votre fille !
Well done! = Bravo !
Keep it up! = Continue comme ça !
Keep going! = Continuez !
Sleep well! = Dors bien !
Sweet dreams! = Fais de beaux rêves !
Good night! = Bonne nuit !
Good morning! = Bonjour !
Good evening, sir. = Bonsoir, monsieur.
Good afternoon, madam. = Bonjour, madame.
Hi everyone! = Salut tout le monde !
See you tomorrow! = À demain !
See you later! = À plus tard !
See you soon! = À bientôt !
See you on Monday! = À lundi !
See you next week! = À la semaine prochaine !
See you in a minute! = À tout de suite !
See you this evening! = À ce soir !
See you around! = À la prochaine !
Goodbye! = Au revoir !
Bye! = Salut !
Welcome! = Bienvenue !
Welcome home! = Bienvenue à la maison !
Welcome to France! = Bienvenue en France !
Make yourself at home. = Faites comme chez vous.
Help yourself! = Sers-toi !
Please help yourselves. = Servez-vous, je vous en prie.
Come in! = Entrez !
Do come in. = Entrez donc.
Have a seat. = Asseyez-vous.
After you. = Après vous.
Nice to meet you. = Enchanté.
Pleased to meet you. = Ravie de faire votre connaissance.
It was nice meeting you. = J'ai été ravi de vous rencontrer.
Long time no see! = Ça fait longtemps !
How are you doing? = Comment vas-tu ?
How are you today? = Comment allez-vous aujourd'hui ?
How's it going? = Ça va ?
I'm fine, thank you. And you? = Je vais bien, merci. Et toi ?
Very well, thank you. And you? = Très bien, merci. Et vous ?
Not too bad. = Pas trop mal.
So-so. = Comme ci, comme ça.
What's up? = Quoi de neuf ?
Nothing special. = Rien de spécial.
Give my regards to your parents. = Transmettez mes amitiés à vos parents.
Say hello to your sister for me. = Dis bonjour à ta sœur de ma part.
Thank you very much. = Merci beaucoup.
Thanks a lot! = Merci beaucoup !
Thanks a million! = Mille mercis !
Thank you in advance. = Merci d'avance.
Thanks anyway. = Merci quand même.
Thank you for your help. = Merci pour votre aide.
Thank you for coming. = Merci d'être venus.
Thank you for waiting. = Merci d'avoir attendu.
You're welcome. = De rien.
Don't mention it. = Je vous en prie.
My pleasure. = Tout le plaisir est pour moi.
That's very kind of you. = C'est très gentil de votre part.
Here you are. = Voilà.
There you go. = Et voilà.
I'm terribly sorry, madam. = Je suis vraiment désolé, madame.
I'm so sorry. = Je suis vraiment désolée.
Excuse me, please. = Excusez-moi, s'il vous plaît.
I beg your pardon? = Pardon ?
Sorry to bother you. = Désolé de vous déranger.
Sorry I'm late. = Désolé d'être en retard.
It's not your fault. = Ce n'est pas ta faute.
It doesn't matter. = Ça ne fait rien.
Never mind. = Tant pis.
No problem. = Pas de problème.
No worries! = Pas de souci !
It's nothing serious. = Ce n'est rien de grave.
My condolences. = Toutes mes condoléances.
I'm sorry for your loss. = Je vous présente mes condoléances.
Of course! = Bien sûr !
Of course not! = Bien sûr que non !
Gladly! = Avec plaisir !
With pleasure! = Volontiers !
Agreed! = D'accord !
It's a deal! = Marché conclu !
Me too. = Moi aussi.
Me neither. = Moi non plus.
Maybe. = Peut-être.
Perhaps another time. = Une autre fois, peut-être.
It depends. = Ça dépend.
That depends on the weather. = Ça dépend du temps.
I have no idea. = Je n'en ai aucune idée.
I haven't the faintest idea. = Je n'en ai pas la moindre idée.
I give up, tell me the answer! = Je donne ma langue au chat, dis-moi la réponse !
I don't care. = Ça m'est égal.
It's all the same to me. = Cela m'est égal.
Are you kidding? = Tu plaisantes ?
You must be joking! = Vous voulez rire !
No kidding! = Sans blague !
Really? = Vraiment ?
Unbelievable! = Incroyable !
What a pity! = Quel dommage !
What a shame! = C'est dommage !
What a surprise! = Quelle surprise !
What a beautiful day! = Quelle belle journée !
What a mess! = Quel bazar !
What a relief! = Quel soulagement !
What a coincidence! = Quelle coïncidence !
What bad luck! = Quelle malchance !
How lovely! = Comme c'est joli !
How boring! = Qu'est-ce que c'est ennuyeux !
How sweet! = Comme c'est mignon !
Thank goodness! = Dieu merci !
Thank heavens! = Heureusement !
For heaven's sake! = Pour l'amour du ciel !
My goodness! = Mon Dieu !
Damn it! = Mince alors !
Ouch! That hurts! = Aïe ! Ça fait mal !
Phew! = Ouf !
Yuck! = Beurk !
Hurry up! = Dépêche-toi !
Hurry up, we're going to be late! = Dépêchez-vous, nous allons être en retard !
Calm down! = Calme-toi !
Take it easy! = Du calme !
Take your time. = Prends ton temps.
There's no hurry. = Il n'y a pas le feu.
Watch out! = Attention !
Watch your step! = Attention à la marche !
Mind your head! = Attention à la tête !
Be careful! = Fais attention !
Beware of the dog! = Attention, chien méchant !
Help! = Au secours !
Stop thief! = Au voleur !
Fire! = Au feu !
Silence, please! = Silence, s'il vous plaît !
Be quiet! = Tais-toi !
Leave me alone! = Laisse-moi tranquille !
Mind your own business! = Occupe-toi de tes affaires !
It's none of your business. = Ce ne sont pas vos affaires.
Go away! = Va-t'en !
Get out! = Sortez !
Let's go! = Allons-y !
Let's get started! = C'est parti !
Come on! = Allez !
Come on, cheer up! = Allez, courage !
Here we go again! = C'est reparti !
Wait a minute! = Attends une minute !
Hold on a second. = Patientez un instant.
Just a moment, please. = Un instant, s'il vous plaît.
I'm coming! = J'arrive !
I'll be right back. = Je reviens tout de suite.
I'm on my way. = Je suis en route.
It's your turn. = C'est ton tour.
It's up to you. = C'est à toi de décider.
As you like. = Comme tu veux.
That's enough! = Ça suffit !
I've had enough! = J'en ai assez !
I'm fed up with it. = J'en ai marre.
I can't stand it any more. = Je n'en peux plus.
It drives me mad. = Ça me rend fou.
He gets on my nerves. = Il me tape sur les nerfs.
You're pulling my leg! = Tu te moques de moi !
It's a piece of cake. = C'est du gâteau.
It's as easy as pie. = C'est simple comme bonjour.
It costs an arm and a leg. = Ça coûte les yeux de la tête.
It's not worth it. = Ça n'en vaut pas la peine.
It's worth a try. = Ça vaut la peine d'essayer.
It's better than nothing. = C'est mieux que rien.
Better late than never. = Mieux vaut tard que jamais.
All's well that ends well. = Tout est bien qui finit bien.
Practice makes perfect. = C'est en forgeant qu'on devient forgeron.
Rome wasn't built in a day. = Rome ne s'est pas faite en un jour.
Every cloud has a silver lining. = Après la pluie, le beau temps.
Like father, like son. = Tel père, tel fils.
Out of sight, out of mind. = Loin des yeux, loin du cœur.
Time flies. = Le temps passe vite.
Time is money. = Le temps, c'est de l'argent.
Love is blind. = L'amour est aveugle.
Where there's a will, there's a way. = Quand on veut, on peut.
Actions speak louder than words. = Les actes valent mieux que les paroles.
When the cat's away, the mice will play. = Quand le chat n'est pas là, les souris dansent.
Birds of a feather flock together. = Qui se ressemble s'assemble.
There's no smoke without fire. = Il n'y a pas de fumée sans feu.
You can't have your cake and eat it. = On ne peut pas avoir le beurre et l'argent du beurre.
Speak of the devil! = Quand on parle du loup !
Once in a blue moon. = Tous les trente-six du mois.
Money doesn't grow on trees. = L'argent ne tombe pas du ciel.
It's raining cats and dogs. = Il pleut des cordes.
He slept like a log. = Il a dormi comme une souche.
She eats like a bird. = Elle a un appétit d'oiseau.
He's as stubborn as a mule. = Il est têtu comme une mule.
They're like two peas in a pod. = Ils se ressemblent comme deux gouttes d'eau.
I have a frog in my throat. = J'ai un chat dans la gorge.
I'm starving! = Je meurs de faim !
I'm dying of thirst. = Je meurs de soif.
He kicked the bucket. = Il a cassé sa pipe.
She has a sweet tooth. = Elle adore les sucreries.
He spilled the beans. = Il a vendu la mèche.
I stayed up all night. = J'ai passé une nuit blanche.
We're in the same boat. = Nous sommes dans le même bateau.
He's got his head in the clouds. = Il a la tête dans les nuages.
You hit the nail on the head. = Tu as mis le doigt dessus.
It's on the tip of my tongue. = Je l'ai sur le bout de la langue.
Let's get back to the subject. = Revenons à nos moutons.
Don't beat about the bush. = Ne tourne pas autour du pot.
He stood me up. = Il m'a posé un lapin.
I'm broke. = Je suis fauché.
I've got the blues. = J'ai le cafard.
It's not my cup of tea. = Ce n'est pas ma tasse de thé.
That's the last straw! = C'est la goutte d'eau qui fait déborder le vase !
She had the time of her life. = Elle s'est amusée comme jamais.
I'm over the moon! = Je suis aux anges !
He was born with a silver spoon in his mouth. = Il est né avec une cuillère en argent dans la bouche.
Don't put all your eggs in one basket. = Il ne faut pas mettre tous ses œufs dans le même panier.
I put my foot in it. = J'ai mis les pieds dans le plat.
You scared me to death! = Tu m'as fait une peur bleue !
It's a small world! = Le monde est petit !
So far, so good. = Jusqu'ici, tout va bien.
Everything will be fine. = Tout ira bien.
Don't worry. = Ne t'inquiète pas.
Don't worry about it. = Ne vous en faites pas.
Don't be afraid. = N'aie pas peur.
Trust me. = Fais-moi confiance.
Count on me. = Compte sur moi.
You can count on us. = Vous pouvez compter sur nous.
You're right. = Tu as raison.
You're wrong. = Vous avez tort.
I was wrong. = J'avais tort.
I agree with you. = Je suis d'accord avec vous.
I don't agree. = Je ne suis pas d'accord.
I don't think so. = Je ne crois pas.
I hope so. = J'espère bien.
I hope not. = J'espère que non.
I suppose so. = Je suppose que oui.
I doubt it. = J'en doute.
I'm sure of it. = J'en suis sûr.
Are you sure? = Tu es sûre ?
That goes without saying. = Cela va de soi.
That's out of the question! = C'est hors de question !
No way! = Pas question !
It can't be helped. = On n'y peut rien.
That's life. = C'est la vie.
Who knows? = Qui sait ?
Who cares? = Qu'est-ce que ça peut faire ?
So what? = Et alors ?
What's wrong? = Qu'est-ce qui ne va pas ?
What's the matter with you? = Qu'est-ce que tu as ?
What happened? = Qu'est-ce qui s'est passé ?
What's going on here? = Que se passe-t-il ici ?
What's that? = Qu'est-ce que c'est ?
What does that mean? = Qu'est-ce que ça veut dire ?
What do you mean? = Que voulez-vous dire ?
What's the use? = À quoi bon ?
What is it for? = À quoi ça sert ?
How come? = Comment ça se fait ?
Why not? = Pourquoi pas ?
It's a long story. = C'est une longue histoire.
It serves you right! = Bien fait pour toi !
It's about time! = Il était temps !
At last! = Enfin !
Too late! = Trop tard !
I love you. = Je t'aime.
I love you too. = Moi aussi, je t'aime.
Will you marry me? = Veux-tu m'épouser ?
Give me a hug. = Fais-moi un câlin.
Lots of love = Grosses bises
Kind regards = Cordialement
Yours sincerely = Veuillez agréer l'expression de mes salutations distinguées
Dear Sir or Madam, = Madame, Monsieur,
Dear grandparents, = Chers grands-parents,
Make a wish! = Fais un vœu !
You look great! = Tu as l'air en pleine forme !
It suits you perfectly. = Ça te va à merveille.
Have fun! = Amusez-vous bien !
Enjoy the film! = Bon film !
Enjoy your stay! = Bon séjour !
Good idea! = Bonne idée !
Great! = Super !
Perfect! = Parfait !
Wonderful! = Formidable !
Excellent! = Excellent !
Delicious! = Délicieux !
Same to you! = À toi aussi !
You too! = Vous aussi !
Guess what! = Devine quoi !
Look who's here! = Regarde qui est là !
Long live the bride and groom! = Vive les mariés !
Once upon a time there was a king. = Il était une fois un roi.
They lived happily ever after. = Ils vécurent heureux et eurent beaucoup d'enfants.
First come, first served. = Premier arrivé, premier servi.
To be continued. = À suivre.
No smoking = Défense de fumer
No entry = Sens interdit
Out of order = Hors service
For sale = À vendre
To let = À louer
Wet paint = Peinture fraîche
Please do not disturb = Prière de ne pas déranger
Lost property office = Objets trouvés
Emergency exit = Sortie de secours
Get well soon, grandpa! = Bon rétablissement, papi !
I fell in love with her at first sight. = Je suis tombé amoureux d'elle au premier regard.
Have a nice day, all of you! = Bonne journée à tous !
It's now or never. = C'est maintenant ou jamais.
Safe and sound = Sain et sauf
"""
PHRASES = """
My name is Claire. What's yours? = Je m'appelle Claire. Et toi, comment tu t'appelles ?
What is your surname? = Quel est votre nom de famille ?
Could you spell it, please? = Pouvez-vous l'épeler, s'il vous plaît ?
Where do you come from? = D'où viens-tu ?
Where do you live? = Où habitez-vous ?
I live on the third floor. = J'habite au troisième étage.
How old is your brother? = Quel âge a ton frère ?
When were you born? = Quand êtes-vous née ?
I was born on 3 April 1990. = Je suis né le 3 avril 1990.
What do you do for a living? = Que faites-vous dans la vie ?
I'm a retired teacher. = Je suis professeur à la retraite.
Do you have any brothers or sisters? = Avez-vous des frères et sœurs ?
I'm an only child. = Je suis fils unique.
My parents have been married for thirty years. = Mes parents sont mariés depuis trente ans.
My sister is expecting a baby. = Ma sœur attend un bébé.
The twins look very much alike. = Les jumeaux se ressemblent beaucoup.
Who is the eldest? = Qui est l'aîné ?
They got engaged last month. = Ils se sont fiancés le mois dernier.
The wedding will take place in June. = Le mariage aura lieu en juin.
My grandparents live in the countryside. = Mes grands-parents vivent à la campagne.
He looks like his mother. = Il ressemble à sa mère.
We get on well together. = Nous nous entendons bien.
They are always arguing. = Ils se disputent tout le temps.
The baby has finally fallen asleep. = Le bébé s'est enfin endormi.
Who is looking after the children? = Qui s'occupe des enfants ?
I get up at six every morning. = Je me lève à six heures tous les matins.
He's shaving in the bathroom. = Il se rase dans la salle de bains.
She brushes her teeth after every meal. = Elle se brosse les dents après chaque repas.
The children went to bed early. = Les enfants se sont couchés tôt.
I woke up too late this morning. = Je me suis réveillé trop tard ce matin.
We got bored at the party. = Nous nous sommes ennuyés à la fête.
Wash your hands before eating. = Lave-toi les mains avant de manger.
Get dressed, it's nearly eight o'clock. = Habille-toi, il est presque huit heures.
I'm going to take a shower. = Je vais prendre une douche.
I'm thirsty. = J'ai soif.
Are you hungry? = Tu as faim ?
I'm cold. = J'ai froid.
She's too hot. = Elle a trop chaud.
I'm sleepy. = J'ai sommeil.
He's afraid of the dark. = Il a peur du noir.
I'm ashamed of my mistake. = J'ai honte de mon erreur.
You're lucky! = Tu as de la chance !
She is pregnant. = Elle est enceinte.
I feel lonely without you. = Je me sens seule sans toi.
She's always in a good mood. = Elle est toujours de bonne humeur.
Why is he in a bad mood? = Pourquoi est-il de mauvaise humeur ?
She burst out laughing. = Elle a éclaté de rire.
He burst into tears. = Il a fondu en larmes.
I'm looking forward to seeing you. = J'ai hâte de te voir.
I can't wait for the holidays! = Vivement les vacances !
Don't cry. = Ne pleure pas.
I'm proud of you. = Je suis fier de toi.
Are you angry with me? = Es-tu fâché contre moi ?
Stop complaining! = Arrête de te plaindre !
I didn't mean to hurt you. = Je ne voulais pas te blesser.
I've changed my mind. = J'ai changé d'avis.
Where is the nearest cash machine? = Où est le distributeur de billets le plus proche ?
Go straight on and then turn right. = Allez tout droit, puis tournez à droite.
Take the second street on the left. = Prenez la deuxième rue à gauche.
Turn left at the traffic lights. = Tournez à gauche aux feux.
Cross the square. = Traversez la place.
It's at the end of the street. = C'est au bout de la rue.
It's just around the corner. = C'est juste au coin de la rue.
You've gone too far. = Vous êtes allé trop loin.
Is it within walking distance? = Est-ce qu'on peut y aller à pied ?
It's a ten-minute walk. = C'est à dix minutes à pied.
It's two kilometres from here. = C'est à deux kilomètres d'ici.
I'm lost. = Je suis perdu.
We've lost our way. = Nous nous sommes perdus.
Could you show me on the map? = Pourriez-vous me montrer sur la carte ?
Which bus goes to the airport? = Quel bus va à l'aéroport ?
Where do I have to get off? = Où est-ce que je dois descendre ?
You have to change at the next station. = Il faut changer à la prochaine station.
Does this tram go to the city centre? = Est-ce que ce tramway va au centre-ville ?
A single to Lyon, please. = Un aller simple pour Lyon, s'il vous plaît.
A return ticket to Lille, please. = Un aller-retour pour Lille, s'il vous plaît.
Two tickets to Nice, second class. = Deux billets pour Nice, en deuxième classe.
Which platform does the train for Dijon leave from? = De quel quai part le train pour Dijon ?
The train to Rennes leaves from platform four. = Le train à destination de Rennes part du quai numéro quatre.
The train is twenty minutes late. = Le train a vingt minutes de retard.
We missed our connection. = Nous avons raté notre correspondance.
Is this seat taken? = Cette place est-elle occupée ?
I'd like a window seat. = Je voudrais une place côté fenêtre.
Do I have to change trains? = Dois-je changer de train ?
Don't forget to stamp your ticket. = N'oubliez pas de composter votre billet.
What time does the last metro leave? = À quelle heure part le dernier métro ?
The plane took off on time. = L'avion a décollé à l'heure.
Our flight has been cancelled. = Notre vol a été annulé.
The plane will land in half an hour. = L'avion va atterrir dans une demi-heure.
Where do I check in? = Où se trouve l'enregistrement ?
Please fasten your seat belts. = Veuillez attacher vos ceintures.
My luggage hasn't arrived. = Mes bagages ne sont pas arrivés.
Do you have anything to declare? = Avez-vous quelque chose à déclarer ?
Boarding is at gate twelve. = L'embarquement se fait à la porte douze.
The ferry crosses the Channel in ninety minutes. = Le ferry traverse la Manche en quatre-vingt-dix minutes.
We were seasick. = Nous avons eu le mal de mer.
Where can I rent a bike? = Où puis-je louer un vélo ?
I'd like to hire a car for three days. = J'aimerais louer une voiture pour trois jours.
We've run out of petrol. = Nous sommes en panne d'essence.
My car has broken down. = Ma voiture est tombée en panne.
I have a flat tyre. = J'ai un pneu crevé.
Fill it up, please. = Le plein, s'il vous plaît.
You can't park here. = Il est interdit de stationner ici.
The car in front braked suddenly. = La voiture de devant a freiné brusquement.
There's a traffic jam on the motorway. = Il y a un embouteillage sur l'autoroute.
The road is closed because of snow. = La route est fermée à cause de la neige.
He got a fine for speeding. = Il a eu une amende pour excès de vitesse.
I prefer to travel by train. = Je préfère voyager en train.
We're going on foot. = Nous y allons à pied.
They went to Italy by car. = Ils sont allés en Italie en voiture.
She travels a lot for work. = Elle voyage beaucoup pour son travail.
How was your trip? = Comment s'est passé votre voyage ?
Did you have a good journey? = Avez-vous fait bon voyage ?
Have you packed your bags? = As-tu fait tes bagages ?
I'd like to book a double room for two nights. = Je voudrais réserver une chambre double pour deux nuits.
Do you have a single room with a shower? = Avez-vous une chambre simple avec douche ?
Is breakfast included? = Le petit déjeuner est-il compris ?
What time is breakfast served? = À quelle heure le petit déjeuner est-il servi ?
I have a reservation in the name of Martin. = J'ai une réservation au nom de Martin.
We're fully booked. = Nous sommes complets.
Could you wake me up at seven? = Pourriez-vous me réveiller à sept heures ?
There is no hot water in the shower. = Il n'y a pas d'eau chaude dans la douche.
The air conditioning doesn't work. = La climatisation ne marche pas.
Can I leave my luggage here? = Puis-je laisser mes bagages ici ?
We'd like a room with a view of the sea. = Nous aimerions une chambre avec vue sur la mer.
The sheets are clean. = Les draps sont propres.
Our room is too noisy. = Notre chambre est trop bruyante.
We're leaving tomorrow morning. = Nous partons demain matin.
A table for two, please. = Une table pour deux, s'il vous plaît.
I'd like to reserve a table for this evening. = Je voudrais réserver une table pour ce soir.
Do you have a table on the terrace? = Avez-vous une table en terrasse ?
May I see the menu, please? = Puis-je voir la carte, s'il vous plaît ?
What is today's special? = Quel est le plat du jour ?
Are you ready to order? = Vous avez choisi ?
As a starter, I'll have the onion soup. = En entrée, je prendrai la soupe à l'oignon.
I'll have the same. = Je prendrai la même chose.
I'd like my steak rare. = Je voudrais mon steak saignant.
Medium or well done? = À point ou bien cuit ?
With or without ice? = Avec ou sans glaçons ?
Still or sparkling water? = De l'eau plate ou gazeuse ?
Do you have any vegetarian dishes? = Avez-vous des plats végétariens ?
I don't eat meat. = Je ne mange pas de viande.
Does this dish contain gluten? = Est-ce que ce plat contient du gluten ?
A bottle of red wine, please. = Une bouteille de vin rouge, s'il vous plaît.
Could we have some more bread? = Pourrions-nous avoir encore un peu de pain ?
The soup is cold. = La soupe est froide.
This is not what I ordered. = Ce n'est pas ce que j'ai commandé.
It was delicious. = C'était délicieux.
The bill, please. = L'addition, s'il vous plaît.
Is service included? = Le service est-il compris ?
Keep the change. = Gardez la monnaie.
We'd like to pay separately. = Nous voudrions payer séparément.
This round is on me. = C'est ma tournée.
Two coffees, please. = Deux cafés, s'il vous plaît.
Eat in or take away? = Sur place ou à emporter ?
Are you free for lunch? = Tu es libre pour déjeuner ?
Dinner is ready! = À table !
What's for dinner tonight? = Qu'est-ce qu'on mange ce soir ?
Have some more cake! = Reprends du gâteau !
No thanks, I'm full. = Non merci, je n'ai plus faim.
The meat is not cooked enough. = La viande n'est pas assez cuite.
Add a pinch of salt. = Ajoutez une pincée de sel.
Cut the vegetables into small pieces. = Coupez les légumes en petits morceaux.
Leave it to cook for twenty minutes. = Laissez cuire pendant vingt minutes.
Mix the flour with the eggs. = Mélangez la farine et les œufs.
I've burnt the toast. = J'ai brûlé les tartines.
Can I help you? = Je peux vous aider ?
Are you being served? = On s'occupe de vous ?
How much is it per kilo? = C'est combien le kilo ?
How much is that altogether? = Ça fait combien en tout ?
Do you have anything cheaper? = Avez-vous quelque chose de moins cher ?
What size do you take? = Quelle taille faites-vous ?
What is your shoe size? = Quelle est votre pointure ?
Do you have this in a larger size? = Est-ce que vous l'avez dans une taille plus grande ?
Where are the fitting rooms? = Où sont les cabines d'essayage ?
I'll take it. = Je le prends.
I'd like to exchange this jumper. = J'aimerais échanger ce pull.
Can you gift-wrap it, please? = Pouvez-vous faire un paquet cadeau, s'il vous plaît ?
Do you need a bag? = Vous avez besoin d'un sac ?
Where is the checkout? = Où est la caisse ?
There's a long queue at the checkout. = Il y a une longue queue à la caisse.
The shoes are on sale. = Les chaussures sont en solde.
It's half price. = C'est à moitié prix.
I need a receipt. = J'ai besoin d'un reçu.
Do you have change for ten euros? = Avez-vous la monnaie de dix euros ?
I have no cash on me. = Je n'ai pas d'argent liquide sur moi.
He paid in cash. = Il a payé en espèces.
I'd like to open an account. = Je souhaite ouvrir un compte.
I'd like to withdraw some money. = Je voudrais retirer de l'argent.
She saves a little money every month. = Elle met un peu d'argent de côté chaque mois.
He owes me fifty euros. = Il me doit cinquante euros.
I'll pay you back tomorrow. = Je te rembourserai demain.
Prices have gone up again. = Les prix ont encore augmenté.
A slice of ham and a pound of butter, please. = Une tranche de jambon et une livre de beurre, s'il vous plaît.
Half a baguette is enough. = Une demi-baguette suffit.
A dozen eggs, please. = Une douzaine d'œufs, s'il vous plaît.
I'd like to send this parcel to Canada. = Je voudrais envoyer ce colis au Canada.
How much is a stamp for Germany? = Combien coûte un timbre pour l'Allemagne ?
The postman has already been. = Le facteur est déjà passé.
I need a doctor. = J'ai besoin d'un médecin.
Call an ambulance! = Appelez une ambulance !
Call the fire brigade! = Appelez les pompiers !
There's been an accident. = Il y a eu un accident.
I don't feel well. = Je ne me sens pas bien.
I feel sick and I can't eat anything. = J'ai la nausée et je ne peux rien manger.
I feel dizzy. = J'ai la tête qui tourne.
Where does it hurt? = Où avez-vous mal ?
It hurts here. = J'ai mal ici.
How long have you had this pain? = Depuis quand avez-vous cette douleur ?
My tooth hurts. = J'ai mal à une dent.
My eyes hurt. = J'ai mal aux yeux.
My feet hurt. = J'ai mal aux pieds.
I've caught a cold. = J'ai attrapé froid.
I've been coughing since yesterday. = Je tousse depuis hier.
He has a temperature of 39 degrees. = Il a 39 de fièvre.
She sprained her ankle. = Elle s'est foulé la cheville.
He broke his arm while skiing. = Il s'est cassé le bras en faisant du ski.
I've cut my finger. = Je me suis coupé le doigt.
She burnt her hand. = Elle s'est brûlé la main.
He twisted his knee. = Il s'est tordu le genou.
I'm allergic to penicillin. = Je suis allergique à la pénicilline.
I'm diabetic. = Je suis diabétique.
Are you taking any medicine? = Est-ce que vous prenez des médicaments ?
You need a prescription for that. = Il faut une ordonnance pour cela.
I'd like to make an appointment with Dr Lambert. = Je voudrais prendre rendez-vous avec le docteur Lambert.
Open your mouth, please. = Ouvrez la bouche, s'il vous plaît.
Take a deep breath. = Respirez profondément.
You should stay in bed. = Vous devriez rester au lit.
You must drink a lot of water. = Il faut boire beaucoup d'eau.
The wound has to be cleaned. = Il faut nettoyer la plaie.
My grandfather is in hospital. = Mon grand-père est à l'hôpital.
She had an operation last week. = Elle s'est fait opérer la semaine dernière.
He is getting better. = Il va mieux.
Are you feeling better? = Est-ce que tu te sens mieux ?
The nurse took a blood sample. = L'infirmière a fait une prise de sang.
I've lost five kilos. = J'ai perdu cinq kilos.
She has put on weight. = Elle a pris du poids.
Smoking is bad for your health. = Fumer est mauvais pour la santé.
Call the police! = Appelez la police !
My bag has been stolen. = On m'a volé mon sac.
I'd like to report a theft. = Je voudrais déclarer un vol.
What's the weather like today? = Quel temps fait-il aujourd'hui ?
It's sunny. = Il y a du soleil.
The weather is fine. = Il fait beau.
The weather is awful. = Il fait un temps affreux.
It's very hot in here. = Il fait très chaud ici.
It's cold this morning. = Il fait froid ce matin.
It's windy. = Il y a du vent.
It's foggy. = Il y a du brouillard.
It's snowing in the mountains. = Il neige à la montagne.
It's going to rain. = Il va pleuvoir.
It rained all night. = Il a plu toute la nuit.
It'll be cloudy tomorrow. = Demain, le temps sera nuageux.
It's twenty degrees outside. = Il fait vingt degrés dehors.
It's freezing. = Il gèle.
There will be a storm tonight. = Il y aura un orage ce soir.
The sky is grey. = Le ciel est gris.
The sun rises in the east. = Le soleil se lève à l'est.
The sun is setting. = Le soleil se couche.
The days are getting shorter. = Les jours raccourcissent.
The lake is frozen. = Le lac est gelé.
Take an umbrella, it's raining. = Prends un parapluie, il pleut.
The snow has melted. = La neige a fondu.
I saw a rainbow. = J'ai vu un arc-en-ciel.
What time is it? = Quelle heure est-il ?
Do you have the time? = Vous avez l'heure ?
It's noon. = Il est midi.
It's midnight. = Il est minuit.
It's half past twelve. = Il est midi et demi.
My watch is five minutes fast. = Ma montre avance de cinq minutes.
The clock is slow. = L'horloge retarde.
What day is it today? = Quel jour sommes-nous ?
What's the date today? = Quelle est la date d'aujourd'hui ?
Today is Wednesday. = Aujourd'hui, c'est mercredi.
Yesterday was a public holiday. = Hier, c'était un jour férié.
The day before yesterday = Avant-hier
The day after tomorrow = Après-demain
We'll see each other the day after tomorrow. = Nous nous verrons après-demain.
They left the day before yesterday. = Elles sont parties avant-hier.
I've been waiting for an hour. = J'attends depuis une heure.
How long have you been living here? = Depuis combien de temps habitez-vous ici ?
We have lived here for ten years. = Nous habitons ici depuis dix ans.
She has been learning Italian for two years. = Elle apprend l'italien depuis deux ans.
He arrived three days ago. = Il est arrivé il y a trois jours.
I'll be back in a quarter of an hour. = Je serai de retour dans un quart d'heure.
The shop is open until eight. = Le magasin est ouvert jusqu'à vingt heures.
From Monday to Friday = Du lundi au vendredi
Once a week = Une fois par semaine
Twice a month = Deux fois par mois
Every other day = Un jour sur deux
It happened a fortnight ago. = C'est arrivé il y a quinze jours.
Spring has arrived. = Le printemps est arrivé.
In summer we eat in the garden. = En été, nous mangeons dans le jardin.
In autumn the leaves fall. = En automne, les feuilles tombent.
In winter it gets dark early. = En hiver, il fait nuit tôt.
I'm always on time. = Je suis toujours à l'heure.
He is never late. = Il n'est jamais en retard.
The work must be finished by Friday. = Le travail doit être terminé avant vendredi.
The nineteenth century = Le dix-neuvième siècle
The meeting has been postponed. = La réunion a été reportée.
I have a meeting this afternoon. = J'ai une réunion cet après-midi.
I work part-time. = Je travaille à temps partiel.
She works from home two days a week. = Elle travaille à domicile deux jours par semaine.
He is looking for a job. = Il cherche un emploi.
I've been unemployed since March. = Je suis au chômage depuis mars.
She earns more than me. = Elle gagne plus que moi.
He got a pay rise. = Il a obtenu une augmentation.
She was promoted. = Elle a eu une promotion.
My boss is on holiday. = Mon patron est en vacances.
I've resigned. = J'ai démissionné.
She retired last year. = Elle a pris sa retraite l'année dernière.
The company is hiring. = L'entreprise embauche.
The employees are on strike. = Les employés sont en grève.
I have a job interview tomorrow. = J'ai un entretien d'embauche demain.
Please find my CV attached. = Veuillez trouver mon CV en pièce jointe.
Could you send me the minutes of the meeting? = Pourriez-vous m'envoyer le compte rendu de la réunion ?
I'll think about it. = Je vais y réfléchir.
Can we talk about it later? = On peut en parler plus tard ?
We don't have enough time. = Nous n'avons pas assez de temps.
He's on a business trip. = Il est en voyage d'affaires.
The customer isn't satisfied. = La cliente n'est pas satisfaite.
The order has been delivered. = La commande a été livrée.
What subjects do you study? = Quelles matières étudies-tu ?
Maths is my favourite subject. = Les maths sont ma matière préférée.
I have to do my homework. = Je dois faire mes devoirs.
She passed her exam. = Elle a réussi son examen.
He failed the exam. = Il a raté l'examen.
I got a good mark in history. = J'ai eu une bonne note en histoire.
Lessons start at eight. = Les cours commencent à huit heures.
The teacher is explaining the rule. = Le professeur explique la règle.
Open your books at page twelve. = Ouvrez vos livres à la page douze.
Raise your hand before speaking. = Levez la main avant de parler.
The pupils are in the playground. = Les élèves sont dans la cour.
She is in her first year at university. = Elle est en première année à l'université.
How do you spell this word? = Comment s'écrit ce mot ?
How is this word pronounced? = Comment se prononce ce mot ?
I don't understand this sentence. = Je ne comprends pas cette phrase.
Could you repeat that, please? = Pourriez-vous répéter, s'il vous plaît ?
Could you speak more slowly, please? = Pourriez-vous parler plus lentement, s'il vous plaît ?
I only speak a little French. = Je ne parle qu'un peu français.
Does anyone here speak English? = Est-ce que quelqu'un parle anglais ici ?
What does this word mean? = Que signifie ce mot ?
I've learnt this poem by heart. = J'ai appris ce poème par cœur.
He made a spelling mistake. = Il a fait une faute d'orthographe.
You speak French very well. = Vous parlez très bien français.
Hello, who's speaking? = Allô, qui est à l'appareil ?
Could I speak to Mr Dubois, please? = Pourrais-je parler à monsieur Dubois, s'il vous plaît ?
Hold the line, please. = Ne quittez pas, s'il vous plaît.
Don't hang up! = Ne raccroche pas !
He's not in at the moment. = Il n'est pas là pour le moment.
Would you like to leave a message? = Voulez-vous laisser un message ?
Can you call me back later? = Peux-tu me rappeler plus tard ?
You've got the wrong number. = Vous vous êtes trompé de numéro.
What is your phone number? = Quel est votre numéro de téléphone ?
The line is busy. = La ligne est occupée.
I can't hear you very well. = Je t'entends mal.
My battery is almost flat. = Ma batterie est presque à plat.
There's no signal here. = Il n'y a pas de réseau ici.
I'll send you a text message. = Je t'enverrai un SMS.
My phone is switched off. = Mon téléphone est éteint.
The phone is ringing. = Le téléphone sonne.
I've forgotten my password. = J'ai oublié mon mot de passe.
Enter your email address. = Saisissez votre adresse électronique.
Click on the link below. = Cliquez sur le lien ci-dessous.
The website isn't working. = Le site ne fonctionne pas.
The internet connection is very slow. = La connexion internet est très lente.
You have to restart the computer. = Il faut redémarrer l'ordinateur.
The file is too big. = Le fichier est trop lourd.
Download the new version. = Téléchargez la nouvelle version.
I can't open the attachment. = Je n'arrive pas à ouvrir la pièce jointe.
Have you received my email? = Avez-vous reçu mon courriel ?
I deleted the message by mistake. = J'ai supprimé le message par erreur.
Save the document before closing the window. = Enregistrez le document avant de fermer la fenêtre.
The printer has run out of paper. = Il n'y a plus de papier dans l'imprimante.
The screen stays black. = L'écran reste noir.
Choose a language. = Choisissez une langue.
The page was not found. = La page est introuvable.
Accept all cookies = Accepter tous les cookies
Log in = Se connecter
Log out = Se déconnecter
Search = Rechercher
Cancel = Annuler
Settings = Paramètres
She spends hours on social media. = Elle passe des heures sur les réseaux sociaux.
He bought the tickets online. = Il a acheté les billets en ligne.
A neural network learns from examples. = Un réseau de neurones apprend à partir d'exemples.
The model translates every sentence. = Le modèle traduit chaque phrase.
The rent is too high. = Le loyer est trop élevé.
We are looking for a flat with three rooms. = Nous cherchons un trois-pièces.
The flat is furnished. = L'appartement est meublé.
The heating isn't working. = Le chauffage ne marche pas.
The tap is dripping. = Le robinet goutte.
The light bulb has blown. = L'ampoule est grillée.
Someone is knocking at the door. = Quelqu'un frappe à la porte.
Could you open the window, please? = Pourriez-vous ouvrir la fenêtre, s'il vous plaît ?
Take the rubbish out, please. = Sors les poubelles, s'il te plaît.
The neighbours are very noisy. = Les voisins sont très bruyants.
We moved in last month. = Nous avons emménagé le mois dernier.
She has two cats and a goldfish. = Elle a deux chats et un poisson rouge.
The dog is barking. = Le chien aboie.
The house is for sale. = La maison est à vendre.
I can't find my keys anywhere. = Je ne trouve mes clés nulle part.
The lift is out of order. = L'ascenseur est en panne.
What are your hobbies? = Quels sont tes loisirs ?
What do you do in your free time? = Que fais-tu pendant ton temps libre ?
I like listening to music. = J'aime écouter de la musique.
I play tennis at the weekend. = Je joue au tennis le week-end.
She plays the violin. = Elle joue du violon.
He goes jogging every morning. = Il fait du jogging tous les matins.
We go skiing every winter. = Nous faisons du ski tous les hivers.
They like hiking in the mountains. = Ils aiment faire de la randonnée en montagne.
She rides a horse very well. = Elle monte très bien à cheval.
Who won the match? = Qui a gagné le match ?
Our team lost three to one. = Notre équipe a perdu trois à un.
What's on at the cinema? = Qu'est-ce qui passe au cinéma ?
Shall we go to the cinema tonight? = On va au cinéma ce soir ?
I'd rather go to the theatre. = Je préférerais aller au théâtre.
The film is dubbed. = Le film est doublé.
What are you doing on Saturday evening? = Qu'est-ce que tu fais samedi soir ?
Do you want to come with us? = Veux-tu venir avec nous ?
I'd love to, but I'm busy. = J'aimerais bien, mais je suis prise.
What time shall we meet? = À quelle heure est-ce qu'on se retrouve ?
Let's meet in front of the station at 7:30 p.m. = Retrouvons-nous devant la gare à 19 h 30.
I'll pick you up at half past eight. = Je passerai te prendre à huit heures et demie.
We had a great time. = Nous nous sommes bien amusés.
The concert is sold out. = Le concert est complet.
The exhibition was fascinating. = L'exposition était passionnante.
Have you read this novel? = Avez-vous lu ce roman ?
It's the best book I've ever read. = C'est le meilleur livre que j'aie jamais lu.
She sings better than her sister. = Elle chante mieux que sa sœur.
He is taller than his father. = Il est plus grand que son père.
This is the oldest house in the village. = C'est la plus vieille maison du village.
She is as tall as me. = Elle est aussi grande que moi.
This road is less dangerous than the other one. = Cette route est moins dangereuse que l'autre.
The more I read, the more I learn. = Plus je lis, plus j'apprends.
If I had more time, I would read more. = Si j'avais plus de temps, je lirais davantage.
If it's nice tomorrow, we'll go to the beach. = S'il fait beau demain, nous irons à la plage.
If he had asked me, I would have helped him. = S'il me l'avait demandé, je l'aurais aidé.
I don't know whether she'll come. = Je ne sais pas si elle viendra.
You have to be patient. = Il faut que tu sois patient.
I want you to come with me. = Je veux que tu viennes avec moi.
I'm glad that you could come. = Je suis content que vous ayez pu venir.
I'm afraid that it's too late. = Je crains qu'il ne soit trop tard.
Although it's raining, they are going out. = Bien qu'il pleuve, ils sortent.
I've just arrived. = Je viens d'arriver.
She had just left. = Elle venait de partir.
There's nobody here. = Il n'y a personne ici.
I didn't see anything. = Je n'ai rien vu.
I never drink coffee in the evening. = Je ne bois jamais de café le soir.
We don't live there any more. = Nous n'y habitons plus.
I only have one sister. = Je n'ai qu'une sœur.
Neither you nor I can do it. = Ni toi ni moi ne pouvons le faire.
Give it to me. = Donne-le-moi.
Don't tell him. = Ne le lui dis pas.
I've already told them. = Je le leur ai déjà dit.
Do you want some? I have plenty. = Tu en veux ? J'en ai beaucoup.
There are none left. = Il n'y en a plus.
This is the house where I was born. = C'est la maison où je suis née.
The girl who lives next door is Spanish. = La fille qui habite à côté est espagnole.
The man I'm waiting for is late. = L'homme que j'attends est en retard.
That's exactly what I need. = C'est exactement ce dont j'ai besoin.
Whose coat is this? = À qui est ce manteau ?
It's mine. = C'est le mien.
These gloves are hers. = Ces gants sont à elle.
Which one do you prefer? = Laquelle préférez-vous ?
Who is it? = Qui est-ce ?
What are you thinking about? = À quoi penses-tu ?
Who are you waiting for? = Qui attendez-vous ?
How many people are there in your family? = Combien êtes-vous dans votre famille ?
How many times do I have to tell you? = Combien de fois faut-il que je te le dise ?
Where have you been? = Où étais-tu passée ?
When are you coming back? = Quand reviens-tu ?
Why are you laughing? = Pourquoi riez-vous ?
Doesn't he like it? = Ça ne lui plaît pas ?
Do they have children? = Ont-elles des enfants ?
Has she called back? = A-t-elle rappelé ?
Will there be enough chairs? = Y aura-t-il assez de chaises ?
Could you help us, please? = Pourriez-vous nous aider, s'il vous plaît ?
I have another question. = J'ai une autre question.
Do you mind if I smoke? = Ça vous dérange si je fume ?
Would you do me a favour? = Tu pourrais me rendre un service ?
Would you mind closing the door? = Cela vous dérangerait de fermer la porte ?
She came in without knocking. = Elle est entrée sans frapper.
They stayed at home all day. = Elles sont restées à la maison toute la journée.
We went up to the top of the tower. = Nous sommes montés en haut de la tour.
He fell off his bike. = Il est tombé de vélo.
She was born in a small village in the south of France. = Elle est née dans un petit village du sud de la France.
My grandmother died two years ago. = Ma grand-mère est morte il y a deux ans.
The guests arrived at seven o'clock. = Les invités sont arrivés à sept heures.
The letters I wrote are on the desk. = Les lettres que j'ai écrites sont sur le bureau.
The government wants to fight climate change. = Le gouvernement veut lutter contre le changement climatique.
The president announced new rules for schools. = Le président a annoncé de nouvelles règles pour les écoles.
Parliament has passed a law against noise. = Le parlement a adopté une loi contre le bruit.
The minister visited the flooded villages. = La ministre s'est rendue dans les villages inondés.
Many people took part in the demonstration. = Beaucoup de gens ont participé à la manifestation.
The police arrested two men on Thursday evening. = La police a arrêté deux hommes jeudi soir.
The mayor opened the new swimming pool. = Le maire a inauguré la nouvelle piscine.
A fire destroyed the old factory. = Un incendie a détruit l'ancienne usine.
The price of electricity is expected to rise. = Le prix de l'électricité devrait augmenter.
Researchers have developed a new vaccine. = Des chercheurs ont mis au point un nouveau vaccin.
Do you like this song? = Est-ce que cette chanson te plaît ?
I liked the film very much. = Le film m'a beaucoup plu.
I need your advice. = J'ai besoin de tes conseils.
Do you need anything else? = Vous faut-il autre chose ?
You need a visa to enter the country. = Il faut un visa pour entrer dans le pays.
It takes two hours to get there. = Il faut deux heures pour y aller.
How long does it take by train? = Combien de temps faut-il en train ?
Are you going there alone? = Vous y allez seul ?
I've been there twice. = J'y suis allée deux fois.
I can't get used to it. = Je n'arrive pas à m'y habituer.
What do you know about it? = Qu'en savez-vous ?
I've heard of her. = J'ai entendu parler d'elle.
He whistles while cooking. = Il siffle en faisant la cuisine.
She hurt herself opening a tin. = Elle s'est blessée en ouvrant une boîte de conserve.
After eating, we went for a walk. = Après avoir mangé, nous sommes allés nous promener.
Before leaving, close the shutters. = Avant de partir, ferme les volets.
I had my hair cut. = Je me suis fait couper les cheveux.
We're having the house repainted. = Nous faisons repeindre la maison.
That makes me laugh. = Ça me fait rire.
She made us wait for an hour. = Elle nous a fait attendre une heure.
Let the children sleep. = Laisse dormir les enfants.
When I was little, I wanted to be an astronaut. = Quand j'étais petite, je voulais être astronaute.
We used to spend every summer at my grandparents'. = Nous passions tous les étés chez mes grands-parents.
I was cooking when the phone rang. = Je faisais la cuisine quand le téléphone a sonné.
As soon as I arrive, I'll write to you. = Dès que j'arriverai, je t'écrirai.
He said he would come on Sunday. = Il a dit qu'il viendrait dimanche.
I would have liked to stay longer. = J'aurais aimé rester plus longtemps.
You should have told me. = Tu aurais dû me le dire.
It would be better to wait. = Il vaudrait mieux attendre.
You'd better hurry. = Tu ferais mieux de te dépêcher.
I must have left it at home. = J'ai dû le laisser à la maison.
He must be asleep. = Il doit dormir.
It may rain tomorrow. = Il se peut qu'il pleuve demain.
Come in so that we can talk. = Entre, pour que nous puissions parler.
We'll stay here until you come back. = Nous resterons ici jusqu'à ce que tu reviennes.
He left without my noticing. = Il est parti sans que je m'en aperçoive.
What would you do if you won a million euros? = Que feriez-vous si vous gagniez un million d'euros ?
That's the reason why she left. = C'est la raison pour laquelle elle est partie.
Everything you need is in the drawer. = Tout ce dont vous avez besoin est dans le tiroir.
I don't know what to do. = Je ne sais pas quoi faire.
Tell me what you see. = Dis-moi ce que tu vois.
I wonder what happened. = Je me demande ce qui s'est passé.
Some of them have already gone. = Certains d'entre eux sont déjà partis.
Each of us has a bicycle. = Chacun de nous a un vélo.
Both sisters are left-handed. = Les deux sœurs sont gauchères.
Most people live in the city. = La plupart des gens vivent en ville.
Few tourists come here in winter. = Peu de touristes viennent ici en hiver.
There's too much noise. = Il y a trop de bruit.
She has as many books as he does. = Elle a autant de livres que lui.
Flats are getting more and more expensive. = Les appartements sont de plus en plus chers.
The weather is worse than yesterday. = Le temps est pire qu'hier.
He works the least of all. = C'est lui qui travaille le moins.
I'd like another cup of tea. = Je voudrais encore une tasse de thé.
This chair is broken. = Cette chaise est cassée.
Those are beautiful flowers. = Ce sont de belles fleurs.
He's an old friend. = C'est un vieil ami.
What a beautiful tree! = Quel bel arbre !
She has long black hair and green eyes. = Elle a de longs cheveux noirs et les yeux verts.
We live opposite the baker's. = Nous habitons en face de la boulangerie.
I'm going to the hairdresser's. = Je vais chez le coiffeur.
She is at the dentist's. = Elle est chez le dentiste.
We're having dinner at Pauline's this evening. = Nous dînons chez Pauline ce soir.
Your trousers are on the bed. = Ton pantalon est sur le lit.
The news is good. = Les nouvelles sont bonnes.
My hair is still wet. = J'ai encore les cheveux mouillés.
"""
# sentences of Tatoeba's held-out English-French pairs (see README.md) that the frames would make
LEFT_OUT = """
Are you jealous?
I am furious.
Je suis furieux.
Do you like apples?
Combien coûte ce stylo ?
C'est dur ?
C'est privé ?
""".strip().splitlines()

# {e} and {a}: the English noun, and with "a"; the others: the French noun with an article, a preposition, an adjective (see `forms`)
FRAMES = {
    "institution": [
        ("Where is the {e}?", "Où se trouve {le} ?"), ("Is there {a} near here?", "Y a-t-il {un} près d'ici ?"), ("How do I get to the {e}?", "Comment puis-je aller {au} ?"),
        ("I'll wait for you in front of the {e}.", "Je t'attendrai devant {le}."), ("The {e} is closed on Sundays.", "{le} est fermé{s} le dimanche."),
        ("The {e} opens at half past nine.", "{le} ouvre à neuf heures et demie."), ("Is the {e} open today?", "Est-ce que {le} est ouvert{s} aujourd'hui ?"),
        ("The {e} is opposite the station.", "{le} est en face de la gare."), ("We met at the {e}.", "Nous nous sommes rencontrés {au}."),
        ("I've just come from the {e}.", "Je reviens {du}."), ("Excuse me, I'm looking for the {e}.", "Excusez-moi, je cherche {le}."),
        ("My aunt works at the {e}.", "Ma tante travaille {au}."), ("The {e} is not far from here.", "{le} n'est pas loin d'ici."),
        ("There's a car park behind the {e}.", "Il y a un parking derrière {le}."), ("They have built a new {e}.", "On a construit {nouveau}."),
    ],
    "spot": [
        ("Where is the {e}, please?", "Où est {le}, s'il vous plaît ?"), ("Turn left after the {e}.", "Tournez à gauche après {le}."),
        ("Let's meet near the {e}.", "Retrouvons-nous près {du}."), ("You can see the {e} from our window.", "On voit {le} de notre fenêtre."),
        ("Is the {e} far from here?", "{le}, c'est loin d'ici ?"), ("We walked as far as the {e}.", "Nous avons marché jusqu'{au}."),
        ("We live right next to the {e}.", "Nous habitons juste à côté {du}."), ("This street leads to the {e}.", "Cette rue mène {au}."),
        ("I took a photo of the {e}.", "J'ai pris une photo {du}."),
    ],
    "room": [
        ("The {e} is on the first floor.", "{le} est au premier étage."), ("I left my glasses in the {e}.", "J'ai laissé mes lunettes dans {le}."),
        ("Who is cleaning the {e}?", "Qui nettoie {le} ?"), ("The light in the {e} is still on.", "La lumière {du} est encore allumée."),
        ("There's someone in the {e}.", "Il y a quelqu'un dans {le}."), ("The {e} is small but bright.", "{le} est petit{s} mais clair{s}."),
    ],
    "carried": [
        ("I've forgotten my {e}.", "J'ai oublié {mon}."), ("Have you seen my {e}?", "As-tu vu {mon} ?"), ("Is this your {e}?", "C'est {ton} ?"),
        ("I need a new {e}.", "J'ai besoin d'{nouveau}."), ("I've lost my {e}.", "J'ai perdu {mon}."), ("She left her {e} on the train.", "Elle a laissé {son} dans le train."),
        ("Could I borrow your {e}?", "Est-ce que je peux emprunter {votre} ?"), ("How much does this {e} cost?", "Combien coûte {ce} ?"),
        ("He bought {a} for his daughter.", "Il a acheté {un} pour sa fille."), ("Where did you buy this {e}?", "Où avez-vous acheté {ce} ?"),
        ("Your {e} is on the table.", "{ton} est sur la table."), ("Don't forget your {e}!", "N'oublie pas {ton} !"), ("Someone has stolen my {e}.", "Quelqu'un a volé {mon}."),
        ("Whose {e} is this?", "À qui est {ce} ?"),
    ],
    "furniture": [
        ("We are going to buy {a}.", "Nous allons acheter {un}."), ("Our {e} is too old.", "{notre} est trop {vieux}."), ("How much did the {e} cost?", "Combien a coûté {le} ?"),
        ("The {e} is next to the window.", "{le} est à côté de la fenêtre."), ("Can you help me carry the {e}?", "Peux-tu m'aider à porter {le} ?"),
        ("The {e} was delivered this morning.", "{le} a été livré{s} ce matin."), ("I bought this {e} second-hand.", "J'ai acheté {ce} d'occasion."),
        ("I'd like to sell my {e}.", "Je voudrais vendre {mon}."), ("Where shall we put the {e}?", "Où est-ce qu'on met {le} ?"),
    ],
    "utensil": [
        ("Could you pass me the {e}?", "Peux-tu me passer {le} ?"), ("I need {a}.", "Il me faut {un}."), ("We don't have {a}.", "Nous n'avons pas {de}."),
        ("Could I have another {e}?", "Pourrais-je avoir {autre} ?"), ("This {e} is dirty.", "{ce} est sale."), ("The {e} is in the cupboard.", "{le} est dans le placard."),
        ("Who took my {e}?", "Qui a pris {mon} ?"), ("Be careful with the {e}!", "Fais attention avec {le} !"), ("Have you got {a}?", "Est-ce que vous avez {un} ?"),
    ],
    "clothes": [
        ("She's wearing {a}.", "Elle porte {un}."), ("I like your {e}.", "J'aime bien {ton}."), ("This {e} suits you.", "{ce} te va bien."),
        ("May I try on this {e}?", "Puis-je essayer {ce} ?"), ("This {e} is too tight.", "{ce} est trop serré{s}."), ("Do you have this {e} in black?", "Avez-vous {ce} en noir ?"),
        ("The {e} has to be washed.", "Il faut laver {le}."), ("I'm looking for {a} for my mother.", "Je cherche {un} pour ma mère."), ("She took off her {e}.", "Elle a enlevé {son}."),
    ],
    "garment": [
        ("These {e} are too small.", "{ce} sont trop petit{s}."), ("Where are my {e}?", "Où sont {mon} ?"), ("How much are these {e}?", "Combien coûtent {ce} ?"),
        ("I need new {e}.", "J'ai besoin {nouveau}."), ("Your {e} are very pretty.", "{votre} sont très joli{s}."), ("She got {e} for Christmas.", "Elle a reçu {un} pour Noël."),
    ],
    "food": [
        ("I don't like {e}.", "Je n'aime pas {le}."), ("Would you like some {e}?", "Voulez-vous {du} ?"), ("We still need {e}.", "Il nous faut encore {du}."),
        ("Is there any {e} left?", "Est-ce qu'il reste {du} ?"), ("There's no more {e}.", "Il n'y a plus {de}."), ("The {e} is very good.", "{le} {est} très {bon}."),
        ("I bought {e} at the market.", "J'ai acheté {du} au marché."), ("A little {e}, please.", "Un peu {de}, s'il vous plaît."),
        ("Could you pass me the {e}, please?", "Pourriez-vous me passer {le}, s'il vous plaît ?"), ("She never eats {e}.", "Elle ne mange jamais {de}."),
        ("Where can I find {e}?", "Où est-ce que je peux trouver {du} ?"), ("Children love {e}.", "Les enfants adorent {le}."),
    ],
    "drink": [
        ("I'd like some {e}, please.", "Je voudrais {du}, s'il vous plaît."), ("I don't drink {e}.", "Je ne bois pas {de}."), ("Do you prefer water or {e}?", "Tu préfères l'eau ou {le} ?"),
        ("She drinks {e} every evening.", "Elle boit {du} tous les soirs."), ("Is there still some {e} in the fridge?", "Y a-t-il encore {du} dans le frigo ?"),
        ("Would you like some more {e}?", "Veux-tu encore {du} ?"),
    ],
    "produce": [
        ("I'm allergic to {es}.", "Je suis allergique {aux}."), ("Do you like {es}?", "Tu aimes {les} ?"), ("A kilo of {es}, please.", "Un kilo {de_many}, s'il vous plaît."),
        ("How much are the {es}?", "Combien coûtent {les} ?"), ("We have to buy {es}.", "Il faut acheter {des}."), ("There are three {es} left.", "Il reste trois {many}."),
        ("I ate {a}.", "J'ai mangé {un}."), ("The {es} are expensive at the moment.", "{les} sont {chers} en ce moment."), ("Would you like {a}?", "Voulez-vous {un} ?"),
        ("How many {es} do we need?", "Combien {de_many} nous faut-il ?"),
    ],
    "animal": [
        ("She is afraid of {es}.", "Elle a peur {des}."), ("We saw {a} yesterday.", "Nous avons vu {un} hier."), ("There are a lot of {es} here.", "Il y a beaucoup {de_many} par ici."),
        ("Look, {a}!", "Regarde, {un} !"), ("My son loves {es}.", "Mon fils adore {les}."), ("How many {es} do you see?", "Combien {de_many} vois-tu ?"),
        ("What do {es} eat?", "Que mangent {les} ?"), ("I dreamt of {a}.", "J'ai rêvé d'{un}."), ("The children are drawing {a}.", "Les enfants dessinent {un}."),
    ],
    "man": [
        ("His father is {a}.", "Son père est {g}."), ("I'd like to talk to the {e}.", "Je voudrais parler {au}."), ("We are looking for {a}.", "Nous cherchons {un}."),
        ("I know a good {e}.", "Je connais un bon {g}."), ("The {e} is on holiday.", "{le} est en vacances."), ("Is there {a} here?", "Y a-t-il {un} ici ?"),
        ("I've just phoned the {e}.", "Je viens de téléphoner {au}."), ("What does {a} earn?", "Combien gagne {un} ?"),
    ],
    "woman": [
        ("My sister wants to become {a}.", "Ma sœur veut devenir {g}."), ("She works as {a}.", "Elle travaille comme {g}."), ("My neighbour is {a}.", "Ma voisine est {g}."),
        ("Anna has been {a} for ten years.", "Anna est {g} depuis dix ans."), ("The {e} was very kind; I thanked her.", "{le} était très gentille ; je l'ai remerciée."),
    ],
    "family": [
        ("My {e} lives abroad.", "{mon} vit à l'étranger."), ("I have to call my {e}.", "Je dois appeler {mon}."), ("How is your {e}?", "Comment va {votre} ?"),
        ("This is a photo of my {e}.", "Voici une photo de {mon}."), ("Her {e} is ill.", "{son} est malade."), ("I miss my {e}.", "{mon} me manque."),
        ("I'm going on holiday with my {e}.", "Je pars en vacances avec {mon}."), ("What is your {e}'s name?", "Comment s'appelle {ton} ?"),
    ],
    "body": [
        ("My {e} hurts.", "J'ai mal {au}."), ("He hurt his {e}.", "Il s'est fait mal {au}."), ("Does your {e} still hurt?", "Est-ce que tu as encore mal {au} ?"),
        ("My {e} has been hurting since yesterday.", "J'ai mal {au} depuis hier."),
    ],
    "matter": [
        ("We talked about {e}.", "Nous avons parlé {du}."), ("What do you think about {e}?", "Que pensez-vous {du} ?"), ("Everybody is talking about {e}.", "Tout le monde parle {du}."),
        ("I'm interested in {e}.", "Je m'intéresse {au}."), ("He knows nothing about {e}.", "Il ne sait rien {du}."), ("I've read an article about {e}.", "J'ai lu un article sur {le}."),
        ("She has written a book about {e}.", "Elle a écrit un livre sur {le}."), ("We need to talk about {e}.", "Il faut qu'on parle {du}."),
    ],
    "country": [
        ("She comes from {e}.", "Elle vient {from}."), ("We spent our holidays in {e}.", "Nous avons passé nos vacances {in}."),
        ("Have you ever been to {e}?", "Êtes-vous déjà allés {in} ?"), ("I'd like to visit {e}.", "J'aimerais visiter {le}."),
        ("My uncle has lived in {e} for years.", "Mon oncle vit {in} depuis des années."), ("What is the capital of {e}?", "Quelle est la capitale {du} ?"),
        ("They flew back from {e}.", "Ils sont rentrés {from} en avion."), ("{e} won the match.", "{le} {ont} gagné le match."),
    ],
    "language": [
        ("She speaks {e}.", "Elle parle {g}."), ("I'm learning {e}.", "J'apprends {le}."), ("Do you understand {e}?", "Comprenez-vous {le} ?"),
        ("How do you say that in {e}?", "Comment dit-on ça en {g} ?"), ("The book is written in {e}.", "Le livre est écrit en {g}."), ("I find {e} difficult.", "Je trouve {le} difficile."),
        ("He teaches {e} at a secondary school.", "Il enseigne {le} dans un lycée."),
    ],
    "city": [
        ("The next train to {e} is at {time}.", "Le prochain train pour {g} est à {heure}."), ("We arrive in {e} at {time}.", "Nous arrivons à {g} à {heure}."),
        ("She studied in {e}.", "Elle a fait ses études à {g}."), ("Is there a flight to {e} this evening?", "Y a-t-il un vol pour {g} ce soir ?"),
        ("My cousins come from {e}.", "Mes cousins viennent {de}."), ("The bus to {e} has already left.", "Le bus pour {g} est déjà parti."),
        ("How far is it to {e}?", "{g}, c'est à combien de kilomètres ?"), ("The flight from {e} lands at {time}.", "Le vol en provenance {de} atterrit à {heure}."),
    ],
    "name": [
        ("{e} called you yesterday.", "{g} t'a appelé hier."), ("{e}'s sister is ill.", "La sœur {de} est malade."), ("I'm going to the market with {e}.", "Je vais au marché avec {g}."),
        ("Do you know {e}?", "Connaissez-vous {g} ?"), ("{e} has forgotten the keys.", "{g} a oublié les clés."), ("That's {e}'s coat.", "C'est le manteau {de}."),
        ("{e} and I are friends.", "{g} et moi sommes amis."),
    ],
    "person is": [
        ("I am {e}.", "Je suis {m}."), ("Are you {e}?", "Êtes-vous {f} ?"), ("She was not {e}.", "Elle n'était pas {f}."), ("My parents are {e}.", "Mes parents sont {mp}."),
        ("His daughters are {e}.", "Ses filles sont {fp}."), ("Is your friend {e}?", "Est-ce que ton ami est {m} ?"),
    ],
    "person is so": [
        ("He seems {e}.", "Il a l'air {m}."), ("Why are you so {e}?", "Pourquoi es-tu si {m} ?"), ("She is very {e}.", "Elle est très {f}."), ("We were very {e}.", "Nous étions très {mp}."),
    ],
    "to do": [
        ("I have to {e}.", "Je dois {g}."), ("I don't feel like {ing} today.", "Je n'ai pas envie {de} aujourd'hui."), ("Would you like to {e}?", "Est-ce que tu voudrais {g} ?"),
        ("We are going to {e} tomorrow.", "Nous allons {g} demain."), ("She is {ing}.", "Elle est en train {de}."), ("I'm too tired to {e}.", "Je suis trop fatigué pour {g}."),
        ("I had no time to {e}.", "Je n'ai pas eu le temps {de}."), ("Who wants to {e}?", "Qui veut {g} ?"), ("We'd rather {e}.", "Nous préférons {g}."),
        ("I've decided to {e}.", "J'ai décidé {de}."), ("You don't have to {e}.", "Vous n'êtes pas obligés {de}."), ("It's too late to {e}.", "Il est trop tard pour {g}."),
        ("He promised to {e}.", "Il a promis {de}."),
    ],
    "done": [
        ("Yesterday I {past}.", "Hier, j'ai {pp}."), ("She {past} this morning.", "Elle a {pp} ce matin."), ("Have you already {done}?", "Avez-vous déjà {pp} ?"),
        ("We haven't {done} yet.", "Nous n'avons pas encore {pp_not}."), ("They {past} together.", "Ils ont {pp} ensemble."), ("Who {past}?", "Qui a {pp} ?"),
    ],
    "day": [
        ("I have a dentist's appointment on {e}.", "J'ai rendez-vous chez le dentiste {g}."), ("We are closed on {e}s.", "Nous sommes fermés le {g}."),
        ("Last {e} it rained all day.", "{g} dernier, il a plu toute la journée."), ("They are coming next {e}.", "Ils viennent {g} prochain."),
        ("Are you free on {e} evening?", "Es-tu libre {g} soir ?"), ("She goes to the market every {e} morning.", "Elle va au marché tous les {g}s matin."),
        ("I'll call you on {e}.", "Je t'appellerai {g}."),
    ],
    "month": [
        ("We're getting married in {e}.", "Nous nous marions en {g}."), ("The course begins at the end of {e}.", "Le cours commence à la fin du mois {de}."),
        ("My daughter was born in {e} {year}.", "Ma fille est née en {g} {year}."), ("My birthday is on {day} {e}.", "Mon anniversaire est le {day} {g}."),
        ("The new contract starts on 1 {e}.", "Le nouveau contrat commence le 1er {g}."), ("The invoice of {day} {e} has not been paid.", "La facture du {day} {g} n'a pas été payée."),
    ],
    "number": [
        ("She is {words}.", "Elle a {mots} ans."), ("I have {words} euros left.", "Il me reste {mots} euros."),
        ("There are {words} guests at the party.", "Il y a {mots} invités à la fête."), ("Read page {digits}.", "Lisez la page {digits}."),
        ("Take bus number {digits}.", "Prenez le bus numéro {digits}."), ("It costs €{digits}.50.", "Ça coûte {digits},50 €."), ("It weighs {digits} kilos.", "Ça pèse {digits} kilos."),
        ("The temperature will rise to {digits} degrees.", "La température atteindra {digits} degrés."),
    ],
}
# how many frames each noun gets
COUNTS = {"institution": 4, "spot": 3, "room": 3, "carried": 3, "furniture": 3, "utensil": 3, "clothes": 4, "garment": 3, "food": 3,
          "drink": 4, "produce": 3, "animal": 3, "man": 2, "woman": 2, "family": 3, "body": 2, "matter": 2, "country": 3, "language": 3, "city": 2, "name": 2, "day": 6, "month": 5}
PAPERS = "passport, driving licence, identity card, credit card"
# words of a frame, and the nouns that it does not fit
UNFIT = {
    "closed on Sundays": "hospital, airport, police station, fire station, church, mosque, hotel, youth hostel, petrol station, nightclub, castle, zoo, cinema, clinic",
    "built a new": "castle", "first floor": "cellar, attic, garage, lift, stairwell, entrance hall", "is small but bright": "stairwell, cellar, lift",
    "kilo": "egg, pineapple, artichoke, melon, cucumber, mango, biscuit", "bought": PAPERS, "buy": PAPERS, "cost?": PAPERS, "borrow": PAPERS + ", toothbrush, ticket, satchel",
    "a book about": "the exam, the project, the holidays, the budget, the weather", "I'm interested in": "the exam, the holidays",
    "carry": "bathtub, lamp, radio, clock, keyboard, fan, shelf", "Children love": "garlic, vinegar, pepper, celery, ginger, parsley, spinach, mustard, flour",
    "She drinks": "alcohol, champagne", "water or": "mineral water", "in the fridge?": "red wine, coffee, tea, herbal tea, hot chocolate", "very good": "flour, salt, sugar", "far from here": "motorway", "I took a photo of the": "car park, taxi rank, bus stop",
}
# adjectives that do not go with "very"
ABSOLUTE = {"single", "married", "divorced", "vegetarian", "injured", "exhausted", "unbearable", "furious", "drunk", "ready", "satisfied", "relieved"}
DAYS = "Monday=lundi;Tuesday=mardi;Wednesday=mercredi;Thursday=jeudi;Friday=vendredi;Saturday=samedi;Sunday=dimanche"
MONTHS = "January=janvier;February=février;March=mars;April=avril;May=mai;June=juin;July=juillet;August=août;September=septembre;October=octobre;November=novembre;December=décembre"
ONES = """zero=zéro;one=un;two=deux;three=trois;four=quatre;five=cinq;six=six;seven=sept;eight=huit;nine=neuf;ten=dix;eleven=onze;twelve=douze;thirteen=treize;fourteen=quatorze;fifteen=quinze;sixteen=seize
seventeen=dix-sept;eighteen=dix-huit;nineteen=dix-neuf"""
TENS = "=;=;twenty=vingt;thirty=trente;forty=quarante;fifty=cinquante;sixty=soixante;seventy=soixante;eighty=quatre-vingt;ninety=quatre-vingt"


def entries(text):
    for line in text.strip().splitlines():
        for entry in line.split(";"):
            yield entry.split("=")


def silent(word):
    """Does the word begin with a vowel or a mute h, so that "le" becomes "l'"?"""
    return bool(re.match("[aàâeéèêiîoôuœAEÉIOU]|h(?!ibou|aricot|érisson|amster|anche)", word))


def of(word):
    return ("d'" if silent(word) else "de ") + word


def plural(word):
    head, *rest = re.split("( de | à | vert$)", word, maxsplit=1)
    head = head if head[-1] in "sx" else head + "x" if head.endswith("eau") else head[:-2] + "aux" if head.endswith("al") else head + "s"
    return "chauves-souris" if word == "chauve-souris" else head + "".join(rest) + ("s" if rest and "vert" in rest[0] else "")


def agree(adjective, female, many):
    man, *rest = adjective.split(",")
    if female:
        endings = [("eux", "euse"), ("if", "ive"), ("ïf", "ïve"), ("er", "ère"), ("en", "enne"), ("el", "elle"), ("e", "e")]
        word = rest[0] if rest else next((man[:-len(old)] + new for old, new in endings if man.endswith(old)), man + "e")
    else:
        word = man
    return word + "s" if many and word[-1] not in "sx" and rest[:1] != [man] else word


def forms(word, gender):
    female, many, vowel = "f" in gender, "p" in gender, silent(word)
    le = "les " if many else "l'" if vowel else "la " if female else "le "
    un = "des " if many else "une " if female else "un "
    feminine = female and not vowel
    new = ("de nouvelles " if female else "de nouveaux ") if many else "une nouvelle " if female else "un nouvel " if vowel else "un nouveau "
    possessive = "es " if many else "a " if feminine else "on "
    many_word = word if many else plural(word)
    begins = {
        "le": le, "un": un, "de": "d'" if vowel else "de ", "du": {"le ": "du ", "les ": "des "}.get(le, "de " + le),
        "au": {"le ": "au ", "les ": "aux "}.get(le, "à " + le),
        "mon": "m" + possessive, "ton": "t" + possessive, "son": "s" + possessive, "notre": "nos " if many else "notre ", "votre": "vos " if many else "votre ",
        "ce": "ces " if many else "cette " if female else "cet " if vowel else "ce ", "nouveau": new, "autre": "une autre " if female else "un autre ",
        "in": "aux " if many else "en " if female or vowel else "au ", "from": "des " if many else "du " if not female and not vowel else of(word)[:-len(word)],
    }
    return {name: begin + word for name, begin in begins.items()} | {
        "g": word, "s": ("e" if female else "") + ("s" if many else ""), "vieux": "vieille" if female else "vieux",
        "bon": agree("bon,bonne", female, many), "est": "sont" if many else "est", "ont": "ont" if many else "a",
        "many": many_word, "les": "les " + many_word, "des": "des " + many_word, "aux": "aux " + many_word, "de_many": of(many_word), "chers": agree("cher", female, True),
    }


def filled(frame, **words):
    return tuple(capital(side.format(**words)) for side in frame)


def sampled(draw, kind, english, french, **more):
    frames = [frame for frame in FRAMES[kind] if not any(words in frame[0] and english in unfit.split(", ") for words, unfit in UNFIT.items())]
    for frame in draw.sample(frames, COUNTS[kind]):
        yield filled(frame, e=english, a=f"{article(english)} {english}", **french, **more)


def number(n, side):
    """An English (0) or French (1) number in words, below 100."""
    ones, tens = [entry[side] for entry in entries(ONES)], [entry[side] for entry in entries(TENS)]
    if n < 20:
        return ones[n]
    ten, one = divmod(n, 10)
    if side == 0:
        return tens[ten] + ("-" + ones[one] if one else "")
    if ten in (7, 9):
        one += 10
    if one == 0:
        return tens[ten] + ("s" if ten == 8 else "")
    return tens[ten] + (" et " if one in (1, 11) and ten < 8 else "-") + ones[one]


def ing(phrase):
    verb, *rest = phrase.split(" ")
    if verb in ("swim", "cut", "quit", "win", "wrap"):
        verb += verb[-1]
    return " ".join([verb[:-1] + "ing" if verb.endswith("e") else verb + "ing", *rest])


def times(draw, earliest=6, latest=23):
    """A clock time of the day as 18:40 and as 18 h 40."""
    hour, minute = draw.randrange(earliest, latest + 1), draw.randrange(0, 60, 5)
    return f"{hour}:{minute:02}", f"{hour} h {minute:02}" if minute else f"{hour} heures"


def clock(draw):
    hours = lambda n: "une heure" if n == 1 else f"{number(n, 1)} heures"
    for hour in range(1, 12):
        told, then = number(hour, 0), number(hour + 1, 0) if hour < 11 else "twelve"
        later = hours(hour + 1) if hour < 11 else "midi"
        yield from draw.sample([
            (f"It's {told} o'clock.", f"Il est {hours(hour)}."), (f"It's half past {told}.", f"Il est {hours(hour)} et demie."), (f"It's a quarter past {told}.", f"Il est {hours(hour)} et quart."),
            (f"It's a quarter to {then}.", f"Il est {later} moins le quart."), (f"It's ten past {told}.", f"Il est {hours(hour)} dix."), (f"It's twenty to {then}.", f"Il est {later} moins vingt."),
            (f"I'll be there at about {told}.", f"J'y serai vers {hours(hour)}."), (f"The alarm rings at five to {then}.", f"Le réveil sonne à {later} moins cinq."),
        ], 4)
    for source, target, *span in [
        ("The shop closes at {}.", "Le magasin ferme à {}.", 16, 21), ("The meeting starts at {}.", "La réunion commence à {}.", 8, 18), ("The film ends at {}.", "Le film se termine à {}.", 18, 23),
        ("My plane leaves at {}.", "Mon avion part à {}."), ("Can you come at {}?", "Peux-tu venir à {} ?", 8, 20), ("The bus comes at {}.", "Le bus passe à {}."),
    ]:
        for _ in range(6):
            time, heure = times(draw, *span)
            yield source.format(time), target.format(heure)
    for hour, minute in [(1, 15), (2, 30), (3, 45), (4, 20), (5, 10), (6, 50), (7, 40), (8, 5)]:
        yield f"The doctor can see you at {hour}:{minute:02} p.m.", f"Le médecin peut vous recevoir à {hour + 12} h {minute:02}."


def pairs():
    draw = random.Random(1)
    for kind, text in [("institution", INSTITUTIONS), ("spot", SPOTS), ("room", ROOMS), ("carried", CARRIED), ("furniture", FURNITURE), ("utensil", UTENSILS), ("clothes", CLOTHES),
                       ("food", FOODS), ("drink", DRINKS), ("family", FAMILY), ("body", BODY), ("matter", MATTERS), ("country", COUNTRIES)]:
        for english, french in entries(text):
            yield from sampled(draw, kind, english, forms(*french.rsplit(" ", 1)))
    for english, french in entries(GARMENTS):
        word, gender = french.rsplit(" ", 1)
        yield from sampled(draw, "garment", english, forms(word, gender + "p"))
    for kind, text in [("produce", PRODUCE), ("animal", ANIMALS)]:
        for english, french in entries(text):
            one, many = english.split(",")
            yield from sampled(draw, kind, one, forms(*french.rsplit(" ", 1)), es=many)
    for english, french in entries(PEOPLE):
        man, woman = french.split("/")
        yield from sampled(draw, "man", english.split("|")[0], forms(man, "m"))
        yield from sampled(draw, "woman", english.split("|")[-1], forms(woman, "f"))
    for english, french in entries(LANGUAGES):
        yield from sampled(draw, "language", english, forms(french, "m"))
    for english, french in entries(CITIES):
        time, heure = times(draw)
        yield from sampled(draw, "city", english, forms(french, "m"), time=time, heure=heure)
    for name in NAMES.split():
        yield from sampled(draw, "name", name, forms(name, "m"))
    for english, french, named in entries(ILLNESSES):
        yield f"My daughter has {english}.", f"Ma fille a {french}."
        yield f"Do you have anything for {english}?", f"Avez-vous quelque chose contre {named} ?"
    for english, french in entries(ADJECTIVES):
        words = {"m": agree(french, False, False), "f": agree(french, True, False), "mp": agree(french, False, True), "fp": agree(french, True, True)}
        for frame in draw.sample(FRAMES["person is"] + ([] if english in ABSOLUTE else FRAMES["person is so"]), 3):
            yield filled(frame, e=english, **words)
    for english, french, thing, noun in entries(QUALITIES):
        word, gender = noun.rsplit(" ", 1)
        adjective = agree(french, gender == "f", False)
        yield filled(("The {e} is {english}.", "{le} est {adjective}."), e=thing, english=english, adjective=adjective, **forms(word, gender))
        yield draw.choice([
            filled(("Is the {e} {english}?", "Est-ce que {le} est {adjective} ?"), e=thing, english=english, adjective=adjective, **forms(word, gender)),
            (f"It wasn't {english}.", f"Ce n'était pas {agree(french, False, False)}."), (f"Is it {english}?", f"C'est {agree(french, False, False)} ?"),
        ])
    clothes = list(entries(CLOTHES))
    for english, french in entries(COLOURS):
        for one, noun in draw.sample(clothes, 3):
            word, gender = noun.rsplit(" ", 1)
            yield f"I bought {article(english)} {english} {one}.", f"J'ai acheté {forms(word, gender)['un']} {agree(french, gender == 'f', False)}."
    for english, french in entries(VERBS):
        (plain, past, done), (infinitive, participle) = english.split(","), french.split(",")
        # after "pas", "une lettre" is "de lettre"
        denied = re.sub(r"^(?!joué)(\w+) (?:une?|des|du) (\w+)", lambda found: f"{found[1]} {of(found[2])}", participle)
        for kind, count in [("to do", 3), ("done", 2)]:
            for frame in draw.sample(FRAMES[kind], count):
                yield filled(frame, e=plain, ing=ing(plain), past=past, done=done, g=infinitive, de=of(infinitive), pp=participle, pp_not=denied)
    for kind, text in [("day", DAYS), ("month", MONTHS)]:
        for english, french in entries(text):
            yield from sampled(draw, kind, english, forms(french, "m"), year=draw.randrange(1950, 2024), day=draw.randrange(2, 31 if english != "February" else 29))
    for n in sorted(draw.sample(range(2, 100), 50)):
        yield filled(draw.choice([frame for frame in FRAMES["number"] if n < 39 or "degrees" not in frame[0]]), words=number(n, 0), mots=number(n, 1), digits=n)
    yield from clock(draw)
    for line in (IDIOMS + PHRASES).splitlines():
        if line:
            yield tuple(line.split(" = "))


def main():
    write(pairs(), "en-fr", {*tested("en-fr"), *map(key, LEFT_OUT)})


if __name__ == "__main__":
    main()
