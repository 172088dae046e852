// The names in src/text/language_names.rs: English and own names of CLDR, as Node.js 20 has them.
//
//     node make_language_names.js ../../src/text/language_codes.rs > ../../src/text/language_names.rs
//
// CLDR lacks some names and has no bibliographic codes, macrolanguages or second names: these stand below.

const { readFileSync } = require("node:fs");

const MORE_CODES = {
  sq: "alb sqi", hy: "arm", eu: "baq", my: "bur", zh: "chi cmn", cs: "cze", nl: "dut", fr: "fre", ka: "geo", de: "ger", el: "gre",
  is: "ice", mk: "mac", mi: "mao mi", ms: "may msa", fa: "per fas", ro: "rum", sk: "slo", bo: "tib bo", cy: "wel", ar: "ara",
  az: "aze", lv: "lav", mn: "mon", ne: "nep", or: "ori", sw: "swa", uz: "uzb", yi: "yid", mg: "mlg", om: "orm om", ay: "aym ay",
  ku: "kur ku", kr: "kau kr", no: "nor", ps: "pus", et: "ekk", ff: "ful", fy: "fry", gd: "gd", br: "bre", ak: "ak", as: "as",
  bm: "bm", dz: "dz", ee: "ee", eo: "eo", eu2: "", fj: "fj", fo: "fo", gn: "gn", ki: "ki", kg: "kg", ks: "ks", ky: "ky", li: "li",
  mt: "mt", nb: "nb", nn: "nn", ny: "ny", rn: "rn", rw: "rw", sa: "sa", sc: "sc", sg: "sg", sm: "sm", sn: "sn", st: "st", ti: "ti",
  tg: "tg", tk: "tk", ts: "ts", tt: "tt", ug: "ug", fil: "fil",
};
MORE_CODES.eu += " eu";
const MISSING = {
  acm: "Mesopotamian Arabic", acq: "Ta’izzi-Adeni Arabic", ajp: "South Levantine Arabic", apc: "North Levantine Arabic",
  azb: "South Azerbaijani", cjk: "Chokwe", fuv: "Nigerian Fulfulde", hne: "Chhattisgarhi", kbp: "Kabiyè", ns: "Northern Sotho",
  pbt: "Southern Pashto", quy: "Ayacucho Quechua", taq: "Tamasheq", twi: "Twi",
};
const SECOND = {
  bn: "Bengali", fa: "Farsi", fil: "Tagalog", my: "Myanmar", or: "Oriya", ps: "Pushto", ku: "Kurmanji", zh: "Mandarin", sl: "Slovene",
  gd: "Gaelic", ilo: "Ilocano", lb: "Letzeburgesch", nso: "Sepedi", ny: "Chichewa", si: "Sinhalese", es: "Castilian", el: "Modern Greek",
  ht: "Haitian", km: "Cambodian", ug: "Uighur", ky: "Kirghiz", mi: "Maori", rn: "Kirundi", sw: "Kiswahili", fy: "Frisian",
};

const text = readFileSync(process.argv[2], "utf8").replaceAll("\\\n", "");
const codes = [...text.matchAll(/const (?:MBART_50|M2M_100|NLLB): &str = "([^"]*)"/g)].flatMap((found) => found[1].trim().split(/\s+/));
const english = new Intl.DisplayNames(["en"], { type: "language", fallback: "none" });
const rows = new Map();
for (const code of new Set(codes.map((code) => code.split("_")[0]))) {
  const canonical = Intl.getCanonicalLocales(code)[0];
  const own = new Intl.DisplayNames([canonical], { type: "language", fallback: "none" });
  const known = own.resolvedOptions().locale.split("-")[0] === canonical.split("-")[0];
  const key = MISSING[code] ? code : canonical;
  const row = rows.get(key) ?? { codes: new Set(), names: new Set() };
  row.codes.add(code);
  (MORE_CODES[key] ?? "").split(" ").filter(Boolean).forEach((more) => row.codes.add(more));
  for (const name of [MISSING[code] ?? english.of(code), SECOND[key], known && key === canonical && own.of(canonical)]) {
    if (name) row.names.add(name);
  }
  rows.set(key, row);
}
console.log(`//! Names of the languages of multilingual models, in English and in the language itself.
//!
//! From CLDR, by \`tests/data/make_language_names.js\`. A line has codes (ISO 639-1, 639-2 and 639-3) and names.

pub(super) const NAMES: &str = "\\`);
const lines = [...rows].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, { codes, names }]) => `${[...codes].sort((a, b) => a.length - b.length).join(" ")}|${[...names].join("|")}`);
console.log(`${lines.join("\n")}";`);
