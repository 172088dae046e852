//! Names of the languages of multilingual models, in English and in the language itself.
//!
//! From CLDR, by `tests/data/make_language_names.js`. A line has codes (ISO 639-1, 639-2 and 639-3) and names.

pub(super) const NAMES: &str = "\
ace|Acehnese
acm|Mesopotamian Arabic
acq|Ta’izzi-Adeni Arabic
aeb|Tunisian Arabic
af afr|Afrikaans
ajp|South Levantine Arabic
ak aka|Akan
am amh|Amharic|አማርኛ
apc|North Levantine Arabic
ar ara arb|Arabic|العربية
ars|Najdi Arabic|اللهجة النجدية
ary|Moroccan Arabic
arz|Egyptian Arabic
as asm|Assamese|অসমীয়া
ast|Asturian|asturianu
awa|Awadhi
ay ayr aym|Aymara
az aze azj|Azerbaijani|azərbaycan
azb|South Azerbaijani
ba bak|Bashkir|башҡорт
ban|Balinese
be bel|Belarusian|беларуская
bem|Bemba|Ichibemba
bg bul|Bulgarian|български
bho|Bhojpuri|भोजपुरी
bjn|Banjar
bm bam|Bambara|bamanakan
bn ben|Bangla|Bengali|বাংলা
bo bod tib|Tibetan|བོད་སྐད་
br bre|Breton|brezhoneg
bs bos|Bosnian|bosanski
bug|Buginese
ca cat|Catalan|català
ceb|Cebuano
cjk|Chokwe
ckb|Central Kurdish|کوردیی ناوەندی
crh|Crimean Tatar
cs cze ces|Czech|čeština
cy wel cym|Welsh|Cymraeg
da dan|Danish|dansk
de ger deu|German|Deutsch
dik|Dinka
dyu|Dyula
dz dzo|Dzongkha|རྫོང་ཁ
ee ewe|Ewe|eʋegbe
el gre ell|Greek|Modern Greek|Ελληνικά
en eng|English
eo epo|Esperanto
es spa|Spanish|Castilian|español
et ekk est|Estonian|eesti
eu eus baq|Basque|euskara
fa per fas pes|Persian|Farsi|فارسی
prs|Dari|دری
ff ful|Fula|Pulaar
fi fin|Finnish|suomi
tl fil tgl|Filipino|Tagalog
fj fij|Fijian
fo fao|Faroese|føroyskt
fon|Fon
fr fre fra|French|français
fur|Friulian|furlan
fuv|Nigerian Fulfulde
fy fry|Western Frisian|Frisian|Frysk
ga gle|Irish|Gaeilge
gd gla|Scottish Gaelic|Gaelic|Gàidhlig
gl glg|Galician|galego
gn grn|Guarani
gu guj|Gujarati|ગુજરાતી
ha hau|Hausa
he heb|Hebrew|עברית
hi hin|Hindi|हिन्दी
hne|Chhattisgarhi
hr hrv|Croatian|hrvatski
ht hat|Haitian Creole|Haitian
hu hun|Hungarian|magyar
hy arm hye|Armenian|հայերեն
id ind|Indonesian|Indonesia
ig ibo|Igbo
ilo|Iloko|Ilocano
is ice isl|Icelandic|íslenska
it ita|Italian|italiano
ja jpn|Japanese|日本語
jv jav|Javanese|Jawa
ka geo kat|Georgian|ქართული
kab|Kabyle|Taqbaylit
kac|Kachin
kam|Kamba|Kikamba
kbp|Kabiyè
kea|Kabuverdianu|kabuverdianu
kg kon|Kongo
ki kik|Kikuyu|Gikuyu
kk kaz|Kazakh|қазақ тілі
km khm|Khmer|Cambodian|ខ្មែរ
kmb|Kimbundu
kn kan|Kannada|ಕನ್ನಡ
ko kor|Korean|한국어
kr knc kau|Kanuri
ks kas|Kashmiri|کٲشُر
ku kmr kur|Kurdish|Kurmanji|kurdî (kurmancî)
ky kir|Kyrgyz|Kirghiz|кыргызча
lb ltz|Luxembourgish|Letzeburgesch|Lëtzebuergesch
lg lug|Ganda|Luganda
li lim|Limburgish
lij|Ligurian|ligure
lmo|Lombard
ln lin|Lingala|lingála
lo lao|Lao|ລາວ
lt lit|Lithuanian|lietuvių
ltg|Latgalian
lua|Luba-Lulua
luo|Luo|Dholuo
lus|Mizo
lv lav lvs|Latvian|latviešu
mag|Magahi
mai|Maithili|मैथिली
mg mlg plt|Malagasy
mi mri mao|Māori|Maori
min|Minangkabau
mk mac mkd|Macedonian|македонски
ml mal|Malayalam|മലയാളം
mn mon khk|Mongolian|монгол
mni|Manipuri|মৈতৈলোন্
mos|Mossi
mr mar|Marathi|मराठी
ms may msa zsm|Malay|Melayu
mt mlt|Maltese|Malti
my bur mya|Burmese|Myanmar|မြန်မာ
nb nob|Norwegian Bokmål|norsk bokmål
ne nep npi|Nepali|नेपाली
nl dut nld|Dutch|Nederlands
nn nno|Norwegian Nynorsk|norsk nynorsk
no nor|Norwegian|norsk
ns|Northern Sotho
nso|Northern Sotho|Sepedi|Sesotho sa Leboa
nus|Nuer|Thok Nath
ny nya|Nyanja|Chichewa
oc oci|Occitan|occitan
om gaz orm|Oromo|Oromoo
or ori ory|Odia|Oriya|ଓଡ଼ିଆ
pa pan|Punjabi|ਪੰਜਾਬੀ
pag|Pangasinan
pap|Papiamento
pbt|Southern Pashto
pl pol|Polish|polski
ps pus|Pashto|Pushto|پښتو
pt por|Portuguese|português
quy|Ayacucho Quechua
rn run|Rundi|Kirundi|Ikirundi
ro rum ron|Romanian|română
ru rus|Russian|русский
rw kin|Kinyarwanda|Ikinyarwanda
sa san|Sanskrit|संस्कृत भाषा
sat|Santali|ᱥᱟᱱᱛᱟᱲᱤ
sc srd|Sardinian|sardu
scn|Sicilian|sicilianu
sd snd|Sindhi|سنڌي
sg sag|Sango|Sängö
shn|Shan|တႆး
si sin|Sinhala|Sinhalese|සිංහල
sk slo slk|Slovak|slovenčina
sl slv|Slovenian|Slovene|slovenščina
sm smo|Samoan
sn sna|Shona|chiShona
so som|Somali|Soomaali
sq alb sqi als|Albanian|shqip
sr srp|Serbian|српски
ss ssw|Swati
st sot|Southern Sotho|Sesotho
su sun|Sundanese|Basa Sunda
sv swe|Swedish|svenska
sw swa swh|Swahili|Kiswahili
szl|Silesian|ślōnski
ta tam|Tamil|தமிழ்
taq|Tamasheq
te tel|Telugu|తెలుగు
tg tgk|Tajik|тоҷикӣ
th tha|Thai|ไทย
ti tir|Tigrinya|ትግርኛ
tk tuk|Turkmen|türkmen dili
tn tsn|Tswana|Setswana
tpi|Tok Pisin
tr tur|Turkish|Türkçe
ts tso|Tsonga
tt tat|Tatar|татар
tum|Tumbuka
twi|Twi
tzm|Central Atlas Tamazight|Tamaziɣt n laṭlaṣ
ug uig|Uyghur|Uighur|ئۇيغۇرچە
uk ukr|Ukrainian|українська
umb|Umbundu
ur urd|Urdu|اردو
uz uzb uzn|Uzbek|o‘zbek
vec|Venetian|veneto
vi vie|Vietnamese|Tiếng Việt
war|Waray
wo wol|Wolof
xh xho|Xhosa|IsiXhosa
yi yid ydd|Yiddish|ייִדיש
yo yor|Yoruba|Èdè Yorùbá
yue|Cantonese|粵語
zh chi cmn zho|Chinese|Mandarin|中文
zu zul|Zulu|isiZulu";
